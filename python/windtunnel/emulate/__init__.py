"""A path of a scenario in real time, between two network namespaces, for real programs and the machine's own TCP.

- ``end.py``: the process of one end, which makes the device and starts the command there; ``namespaces.py`` and
  ``device.py`` are what it does. They import nothing that takes long to load.
- ``ends.py``: both ends, seen from the command that started them.
- ``session.py``: an emulation from its start to its result.
- ``lateness.py``: whether packets left when they were due.

The packets themselves never pass Python: ``_core.Emulator`` moves them between the two devices.
"""
