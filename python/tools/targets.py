"""Check that the crates compile for other systems: ``python python/tools/targets.py``, or ``make wheels``.

Crates with C code inside (QUIC stacks, Parquet) need a C compiler for each system, which `.github/workflows/wheels.yml`
has; all others are checked here, for each system whose standard library the compiler has (``rustup target add``).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

#: The systems of the wheels, and the lab's.
TARGETS = (
    "aarch64-apple-darwin",
    "aarch64-unknown-linux-gnu",
    "x86_64-apple-darwin",
    "x86_64-pc-windows-gnu",
    "x86_64-unknown-linux-musl",
    "wasm32-unknown-unknown",
)
#: These, and what they are made of: all crates of algorithms, the simulator, scenarios and captures.
CRATES = ("windtunnel-lab", "windtunnel-trace", "windtunnel-export", "windtunnel-hosted")


def main() -> int:
    """Check each, say which were left out; returns 1 if one does not compile."""
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    failed = 0
    for target in TARGETS:
        if not (Path(sysroot) / "lib" / "rustlib" / target).is_dir():
            print(f"{target}: left out (`rustup target add {target}`)")
            continue
        packages = [word for crate in CRATES for word in ("-p", crate)]
        check = ["cargo", "check", "--quiet", "--locked", "--target", target, *packages]
        code = subprocess.run(check, check=False).returncode
        print(f"{target}: {'compiles' if code == 0 else 'does not compile'}")
        failed |= code
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
