"""The program inside of the guest that is the network between the kernel's hosts: our simulation, by the guest's clock.

It is started as ``python -m windtunnel.twin.inside``, in a folder with ``work.json`` (``twin/ours.py`` writes it), and
makes two TUN devices, ``out`` in the namespace ``m1`` and ``in`` in ``m2``. What the kernel sends through one passes
the simulation's links and leaves by the other when it is due. It prints a line once the devices are there, and writes
the result into ``summary.json`` and ``tables.npz``.
"""

from __future__ import annotations

import json
import subprocess
import time
from ipaddress import ip_address
from pathlib import Path

from windtunnel import _core
from windtunnel.emulate.device import open_device


def main() -> None:
    """Carry packets for the time of the scenario, and write what was measured."""
    work = json.loads(Path("work.json").read_text(encoding="utf-8"))
    devices = [_device("out", "m1"), _device("in", "m2")]
    text, file, overrides, allow_read, built = work["arguments"]
    hosts = [(flow, ip_address(near), ip_address(far)) for flow, near, far in work["hosts"]]
    emulator = _core.Emulator(
        text, file, overrides, allow_read, hosts=hosts, near=devices[0], far=devices[1], built=built
    )
    print("ready", flush=True)
    emulator.start(work["zero"] - time.monotonic_ns())
    while emulator.is_running():
        time.sleep((work["end"] - time.monotonic_ns()) / 1e9 if time.monotonic_ns() < work["end"] else 0.001)
    result = emulator.finish()
    import numpy as np

    columns = {f"{table}/{name}": column for table, all in result.tables.items() for name, column in all.items()}
    np.savez("tables.npz", allow_pickle=False, **columns)
    document = {"summary": json.loads(result.summary), "toml": result.toml, "lateness": json.loads(emulator.lateness())}
    Path("summary.json").write_text(json.dumps(document), encoding="utf-8")


def _device(name: str, namespace: str) -> int:
    """The descriptor of a TUN device in a namespace."""
    descriptor, _ = open_device(name)
    subprocess.run(["ip", "link", "set", name, "netns", namespace], check=True)
    return descriptor


if __name__ == "__main__":
    main()
