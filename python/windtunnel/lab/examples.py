"""The scenarios that the lab offers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from windtunnel.errors import InputError, reason
from windtunnel.scenario import Scenario

_FOLDER = Path(__file__).parent / "examples"
#: The examples in the order of their list, and whether the page starts with packets in motion.
_EXAMPLES = (
    ("two-flows", False),
    ("deep-buffer", False),
    ("self-clocking", True),
    ("chirps", True),
    ("l4s", False),
    ("mds", False),
)


@dataclass(frozen=True)
class Example:
    """A scenario for the lab: its text as it was written, and the contents of the files that it names."""

    name: str
    text: str
    files: Mapping[str, str] = field(default_factory=dict)
    #: Whether the page starts with packets in motion.
    animated: bool = False

    def described(self) -> dict[str, Any]:
        """As the page's script reads it."""
        return {"name": self.name, "text": self.text, "files": dict(self.files), "animated": self.animated}


def examples() -> list[Example]:
    """The page's own."""
    texts = [((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"), animated) for name, animated in _EXAMPLES]
    return [Example(_title(text), text, animated=animated) for text, animated in texts]


def of_file(file: Path) -> Example:
    """A user's scenario, with the traces that it names. Raises InputError if it is wrong."""
    # A run's result has its scenario with it.
    file = file / "scenario.toml" if file.is_dir() else file
    scenario = Scenario.from_file(file)
    resolved = scenario.resolve()
    links = [resolved[name] for name in ("bottleneck", "return") if name in resolved] + list(resolved.get("link", ()))
    names = {link["rate"]["trace"] for link in links if isinstance(link.get("rate"), Mapping)}
    try:
        text = file.read_text(encoding="utf-8")
        files = {name: (file.parent / name).read_text(encoding="utf-8") for name in sorted(names)}
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {reason(error)}") from None
    return Example(resolved.get("title") or file.name, text, files)


def _title(text: str) -> str:
    import tomllib

    return str(tomllib.loads(text)["title"])
