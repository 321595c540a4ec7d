"""Build the core for browsers: ``python python/tools/lab.py``, or ``make lab``.

It needs the compiler's standard library for WebAssembly, which rustup installs. Where that is not to be had, nothing is
built, and everything but the lab works all the same.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from pathlib import Path

_TARGET = "wasm32-unknown-unknown"
_OUT = Path("python/windtunnel/lab/assets/lab.wasm.gz")


def has_target() -> bool:
    """Whether the compiler can make WebAssembly; rustup is asked to install what is missing."""
    asked = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True)
    library = Path(asked.stdout.strip()) / "lib" / "rustlib" / _TARGET
    if not library.is_dir() and shutil.which("rustup") is not None:
        subprocess.run(["rustup", "target", "add", _TARGET], capture_output=True, check=False)
    return library.is_dir()


def main() -> int:
    """Build it, or say why not."""
    if not has_target():
        print(f"lab: skipped; the compiler has no {_TARGET} (`rustup target add {_TARGET}`)")
        return 0
    build = [
        "cargo",
        "build",
        "--quiet",
        "--locked",
        "--profile",
        "web",
        "--target",
        _TARGET,
        "-p",
        "windtunnel-lab",
        "--lib",
    ]
    if code := subprocess.run(build, check=False).returncode:
        return code
    code = (Path("target") / _TARGET / "web" / "windtunnel_lab.wasm").read_bytes()
    # No time of packing in it: the same code is the same file.
    _OUT.write_bytes(gzip.compress(code, mtime=0))
    print(f"{_OUT}: {_OUT.stat().st_size / 2**20:.1f} MiB, unpacked {len(code) / 2**20:.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
