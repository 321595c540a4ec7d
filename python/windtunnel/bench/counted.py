"""A run to be counted: ``python -I counted.py CORE FILE [key=value]...`` prints ``N packets``.

It loads the core from its file, and none of the package around it, so that there is little to wait for.
"""

import sys
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def main(core: str, file: str, *overrides: str) -> None:
    """Run the scenario."""
    spec = spec_from_file_location("windtunnel._core", core, loader=ExtensionFileLoader("windtunnel._core", core))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    text = Path(file).read_text(encoding="utf-8")
    print(module.run(text, file, overrides).packets, "packets")


if __name__ == "__main__":
    main(*sys.argv[1:])
