"""The rule of `python/tools/prose.py` on names of variables and parameters."""

from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[1] / "tools"

PYTHON = """\
found = 1
def f(place, *, known=2):
    for given, _ in f(found, place=known).place: pass
    match place:
        case {"known": known}: pass
found_rows = [place for place in {"given": given.known}]
"""
RUST = """\
let found = 1; // let place
let (mut place, x): (u8, u8) = known(found);
if let Some(known) = given { f(Place { place: 1 }) }
for (i, given) in known.found() { }
x.map(|found| found + 1).fold(0, |x, (place, y)| x); let y = a | known | b;
let placed = x.place; let y: given::Type = known;
"""
TYPESCRIPT = """\
const found = 1;
let [place, x] = known;
const placed = f(given).found;
"""


@pytest.fixture
def prose(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool as a module."""
    monkeypatch.syspath_prepend(str(TOOLS))
    import prose

    return prose


@pytest.mark.parametrize(
    ("path", "text", "hits"),
    [
        ("a.py", PYTHON, ["1 found", "2 place", "2 known", "3 given", "5 known", "6 place"]),
        ("a.rs", RUST, ["1 found", "2 place", "3 known", "4 given", "5 found", "5 place"]),
        ("a.ts", TYPESCRIPT, ["1 found", "2 place"]),
        ("later/a.py", PYTHON, []),
        ("a.md", "found = 1", []),
    ],
)
def test_names_that_say_nothing(path: str, text: str, hits: list[str], prose: ModuleType) -> None:
    """Where a name is bound it is refused, not where it is used, an attribute, a keyword, a key or part of a name."""
    names = prose.Names(("found", "place", "known", "given"), "a noun", "it says nothing", {"later/*": ""})
    expected = [f"{path}:{hit.replace(' ', ': ')}: write a noun (it says nothing)" for hit in hits]
    assert sorted(names.hits(path, text.splitlines())) == sorted(expected)
