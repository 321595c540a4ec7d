"""The unmodified Linux kernel in virtual time, built on this machine: its source, its configuration, its cache, a boot.

- ``options.toml``, ``options.py``: the configuration with the reason for each part, and what a kernel lacks of it.
- ``source.py``: the source, from Debian's package or from a tree that the user has.
- ``tools.py``: the programs that building needs, run so that nothing of them survives a signal.
- ``build.py``: from the source to a kernel in the cache.
- ``kept.py``: the kernels of the cache, and the message where there is none.
- ``programs/``, ``programs.py``: our own programs that run inside the guest.
- ``guest.py``: a boot: a script goes in, files come out.
- ``trial.py``: what a kernel must do before its numbers are worth anything.

The kernel runs as a process of the user (User-Mode Linux) with ``time-travel=inf-cpu``: its clock moves only when
nothing in it can run. Linux is under the GPL and no part of what windtunnel ships: the user's machine compiles it.
"""
