"""Prints libFuzzer's dictionary of scenario files: the pieces in ``scenario.dict``, and every key and name of the
JSON Schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from windtunnel import _core


def words(schema: Any) -> Iterator[str]:
    """Keys and names within a schema."""
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        yield from (name for name in [schema.get("const"), *schema.get("enum", [])] if isinstance(name, str))
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    for part in parts:
        yield from words(part)


def main() -> None:
    """Print it."""
    print(Path(__file__).with_name("scenario.dict").read_text(encoding="utf-8"))
    print("\n".join(sorted({json.dumps(word) for word in words(json.loads(_core.schema()))})))


if __name__ == "__main__":
    main()
