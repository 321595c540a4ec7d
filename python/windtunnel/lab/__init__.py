"""The lab: a page in which a scenario runs while its reader watches, and changes.

The core runs in it as WebAssembly (``crates/lab``), in a worker; the page's script is in ``web/lab``. The page is one
file and needs no network: it works from a file, from any server of static files, and as a part of the documentation.

- ``live.py``: the panels, and the tables and columns that they draw
- ``examples.py``: the scenarios that the page offers
- ``page.py``: the page
- ``address.py``: a scenario in its address
- ``serve.py``: a server for this machine alone
"""
