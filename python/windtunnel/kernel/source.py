"""The source of a kernel, unpacked where it may be changed: Debian's package, or a tarball or tree of the user's.

The package is fetched and unpacked, not installed, so neither step needs the rights of an administrator. apt checks its
signature. One thing is changed in the copy: User-Mode Linux fixes HZ at 100 (``arch/um/Kconfig``), where kernels of
distributions have 250 or 1000, and TCP's clocks tick with it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import InputError, RunFailedError
from windtunnel.kernel.kept import digest
from windtunnel.kernel.tools import DEBIAN, path, require, run

#: Bytes that a source takes unpacked, with what is compiled from it: 1.6 GB of files and 0.4 GB of objects.
NEEDED = 3 << 30

_PACKAGE = re.compile(r"linux-source-\d+(\.\d+)*")
_HZ = re.compile(r"^(config HZ\n\s+int\n\s+default )\d+$", re.MULTILINE)
_VERSION = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)[ \t]*=[ \t]*(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """A source that is not unpacked yet: in words, where it is (a tarball or a folder), and a hash of it; that is empty
    for a folder, which may change.
    """

    words: str
    path: Path
    sha256: str


def from_package(name: str | None, into: Path, say: Callable[[str], None]) -> Source:
    """Fetch a package of Debian into the new folder ``into``; without a name the newest. Raises InputError."""
    require(DEBIAN, "fetching Debian's package (--source TREE needs none)")
    into.mkdir()
    name = name or _newest(into)
    if not _PACKAGE.fullmatch(name):
        raise InputError(f"--package: `{name}` is not a package of Linux's source, such as linux-source-6.12")
    say(f"fetching {name}")
    # Root's downloads are done by a user of apt's own, who cannot write into folders of root's.
    sandbox = ["-o", "APT::Sandbox::User=root"] if os.geteuid() == 0 else []
    try:
        run(["apt-get", "download", *sandbox, name], folder=into, environment=_environment())
    except RunFailedError as error:
        offered = ", ".join(_offered(into)) or "none; `apt-get update` fetches its list"
        raise InputError(f"{name} cannot be fetched ({error}); apt offers: {offered}") from None
    [package] = into.glob("*.deb")
    run(["dpkg-deb", "-x", package, into / "files"], folder=into)
    [tarball] = into.glob("files/usr/src/linux-source-*.tar.*")
    package.unlink()
    return Source(" ".join(package.name.split("_")[:2]), tarball, digest(tarball))


def from_user(own: Path) -> Source:
    """A tree or a tarball of the user's. Raises InputError."""
    if own.is_file():
        return Source(own.name, own.resolve(), digest(own))
    _check_tree(own, f"--source {own}")
    return Source(str(own.resolve()), own.resolve(), "")


def unpack(source: Source, tree: Path, say: Callable[[str], None]) -> None:
    """Unpack a source into the new folder ``tree``, or copy it there. Raises InputError."""
    say(f"unpacking {source.words}" if source.sha256 else f"copying {source.words}")
    if not source.sha256:
        shutil.copytree(source.path, tree, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        run(["make", "ARCH=um", "mrproper"], folder=tree)
        return
    tree.mkdir()
    # The files of a tarball are all in one folder.
    try:
        run(["tar", "-xf", source.path, "--no-same-owner", "--strip-components=1"], folder=tree)
    except RunFailedError as error:
        raise InputError(f"{source.path}: cannot be unpacked: {error}") from None


def prepare(tree: Path, hz: int) -> str:
    """Give a source its HZ; returns its version. Raises InputError."""
    _check_tree(tree, "this source")
    file = tree / "arch/um/Kconfig"
    text, count = _HZ.subn(rf"\g<1>{hz}", file.read_text(encoding="utf-8"))
    if count != 1:
        raise InputError("arch/um/Kconfig of this source does not set HZ in the way that is known")
    file.write_text(text, encoding="utf-8")
    parts = dict(_VERSION.findall((tree / "Makefile").read_text(encoding="utf-8")))
    version = "{VERSION}.{PATCHLEVEL}.{SUBLEVEL}{EXTRAVERSION}".format(**parts)
    if not re.fullmatch(r"\d+\.\d+\.\d+[A-Za-z0-9.+-]*", version):
        raise InputError(f"this source has no version that is one: {version}")
    return version


def _check_tree(tree: Path, what: str) -> None:
    if not (tree / "arch/um/Kconfig").is_file() or not (tree / "Makefile").is_file():
        raise InputError(f"{what}: is not a source of Linux: no arch/um/Kconfig in it")


def _newest(folder: Path) -> str:
    offered = _offered(folder)
    if not offered:
        raise InputError(
            "apt knows no package linux-source-VERSION; `apt-get update` fetches its list (or --source TREE)"
        )
    return offered[-1]


def _offered(folder: Path) -> list[str]:
    """The packages with a kernel's source that apt knows, the newest last."""
    search = ["apt-cache", "search", "--names-only", r"^linux-source-[0-9.]+$"]
    names = [line.split()[0] for line in run(search, folder=folder, environment=_environment()).splitlines() if line]
    names = [name for name in names if _PACKAGE.fullmatch(name)]
    return sorted(names, key=lambda name: [int(part) for part in name.rpartition("-")[2].split(".")])


def _environment() -> dict[str, str]:
    return {"PATH": path(), "LC_ALL": "C"} | {key: os.environ[key] for key in ("APT_CONFIG",) if key in os.environ}
