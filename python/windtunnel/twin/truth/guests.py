"""What guests wrote, kept by all that decides its bytes: the kernel, our programs in it, the script and the seed.

How it is read and what it is compared with may change: a list is then judged again without a boot. The file is
SQLite's, as that of the cache; what a guest wrote is in it as soon as the guest has ended.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path

from windtunnel.engine.cache import Store, key_of
from windtunnel.kernel.guest import Outcome
from windtunnel.kernel.kept import Kernel
from windtunnel.kernel.programs import sources


class Guests:
    """Outcomes of boots in a folder. For one thread. Raises OSError where it cannot be used."""

    def __init__(self, folder: Path, kernel: Kernel) -> None:
        self._store = Store(folder / "guests.sqlite", alone=True)
        self._kernel = kernel

    def recall(self, script: str, seed: int) -> Outcome | None:
        """What a boot wrote before."""
        value = self._store.get(self._key(script, seed))
        if value is None:
            return None
        document = json.loads(zlib.decompress(value))
        return Outcome({name: text.encode("latin-1") for name, text in document["files"].items()}, document["seconds"])

    def keep(self, script: str, seed: int, outcome: Outcome) -> None:
        """Keep what a boot wrote."""
        document = {
            "files": {name: content.decode("latin-1") for name, content in outcome.files.items()},
            "seconds": outcome.seconds,
        }
        self._store.put(self._key(script, seed), zlib.compress(json.dumps(document).encode()))
        self._store.flush()

    def close(self) -> None:
        """Close the file."""
        self._store.close()

    def _key(self, script: str, seed: int) -> bytes:
        used = [each for name, each in sources().items() if name in script or name in _ALWAYS]
        return key_of([self._kernel.sha256.encode(), *used, script.encode(), str(seed).encode()])


#: Those that run in each guest, though no script names them.
_ALWAYS = ("guest-init", "guest-random.so")
