"""Every controller of the real kernel over its queues, next to the simulator: ``make twin`` and ``make twin-quick``.

- ``cells.toml``, ``cells.py``: the list.
- ``guests.py``: what guests wrote is kept, so that a list goes on where it ended.
- ``carry_out.py``: the cells with their measures.
- ``causes.toml``, ``causes.py``: why measures are outside.
- ``page.py``: the page ``docs/validation-kernel.md``.
- ``__main__.py``: the command.
"""
