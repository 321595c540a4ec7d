"""The schema for editors: it allows what the program reads, loses nothing that the core's schema says, and says where a
fault is. With taplo (what Even Better TOML is made of) and with a validator of Python's.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import Cli

from windtunnel import Scenario, ScenarioError, _core
from windtunnel.editor_schema import ID, PATTERNS, editor_schema

REPOSITORY = Path(__file__).parents[2]
SCENARIOS = sorted(
    file
    for folder in ("scenarios", "docs/gallery", "docs/course")
    for file in (REPOSITORY / folder).rglob("*.toml")
    if file.parent.name not in ("campaigns", "hunts")
)
#: About its size; the core's schema has five times as much. The goal is 200 kB: descriptions alone are 80 of them.
LARGEST = 208_000

#: Faults, each in a scenario that is right otherwise: the line, the place as keys, and a word of the message.
FAULTS: list[tuple[str, list[str | int], str]] = [
    ('durration = "1 s"', ["durration"], "not"),
    ('mtu = "1500"', ["mtu"], "does not match"),
    ('reverse = { rate = "1 Mbyte/s" }', ["reverse", "rate"], "does not match"),
    ('reverse = { rate = 40 }', ["reverse", "rate"], "type"),
    ('reverse = { queue = "fq_codell" }', ["reverse", "queue"], "fq_codel"),
    ('reverse = { queue = { kind = "fq_codell" } }', ["reverse", "queue", "kind"], "fq_codel"),
    ('reverse = { queue = { limit = "1 bdp" } }', ["reverse", "queue"], "kind"),
    ('reverse = { queue = { kind = "codel", targt = "5 ms" } }', ["reverse", "queue", "targt"], "not"),
    ('reverse = { queue = { kind = "codel", target = "5 mss" } }', ["reverse", "queue", "target"], "does not match"),
    ('reverse = { queue = { kind = "pie", interval = "5 ms" } }', ["reverse", "queue", "interval"], "not"),
    (
        'reverse = { queue = { kind = "fq_codel", aqm = { kind = "pie", limit = "1 packet" } } }',
        ["reverse", "queue", "aqm", "limit"],
        "not",
    ),
    ('reverse = { impair = { kind = "loss", probability = "x %" } }', ["reverse", "impair", "probability"], "match"),
    ('reverse = { impair = ["los"] }', ["reverse", "impair", 0], "loss"),
    ('tcp = { sack = "yes" }', ["tcp", "sack"], "boolean"),
    ('tcp = { sak = true }', ["tcp", "sak"], "not"),
    ('flow = [{ cc = "renno", rtt = "20 ms" }]', ["flow", 0, "cc"], "reno"),
    ('flow = [{ cc = { kind = "cubic", d = 1 }, rtt = "20 ms" }]', ["flow", 0, "cc", "d"], "not"),
    ('flow = [{ cc = { kind = "vegas", c = 1 }, rtt = "20 ms" }]', ["flow", 0, "cc", "c"], "not"),
    ('flow = [{ cc = "reno", app = { kind = "probe", interval = "1 sec" } }]', ["flow", 0, "app", "interval"], "match"),
    ('flow = [{ cc = "reno", ack = { polcy = "immediate" } }]', ["flow", 0, "ack", "polcy"], "not"),
]  # fmt: skip


@pytest.fixture(scope="module")
def text() -> str:
    """The schema as `windtunnel schema` prints it."""
    return editor_schema()


@pytest.fixture(scope="module")
def schema(text: str) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(text)
    return whole


def validator(schema: dict[str, Any], draft: int) -> Any:
    """By the draft that the schema names, and by the one that taplo knows."""
    made = jsonschema.Draft7Validator if draft == 7 else jsonschema.Draft202012Validator
    made.check_schema(schema)
    return made(schema)


def scenario(line: str) -> str:
    """A whole scenario with this line."""
    base = {
        "duration": 'duration = "1 s"',
        "bottleneck": 'bottleneck = { rate = "1 Mbit/s" }',
        "flow": 'flow = [{ cc = "reno", rtt = "20 ms" }]',
    }
    base.pop(line.split(" ")[0], None)
    return "\n".join([*base.values(), line, ""])


def test_size() -> None:
    """Without what other tests have registered, so in a process of its own."""
    code = "from windtunnel.editor_schema import editor_schema; print(len(editor_schema().encode()))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= LARGEST < len(_core.schema()) / 4


def test_head(schema: dict[str, Any]) -> None:
    assert (schema["$id"], schema["$schema"]) == (ID, "https://json-schema.org/draft/2020-12/schema")
    assert schema["title"] and schema["$defs"]
    for reference in said(schema, "$ref"):
        node: Any = schema
        for step in reference.removeprefix("#/").split("/"):
            node = node[int(step) if isinstance(node, list) else step]
        assert isinstance(node, dict)


@pytest.mark.parametrize("draft", [7, 2020])
def test_it_allows_what_is_valid(schema: dict[str, Any], draft: int) -> None:
    """All scenarios of the repository, and what the program itself writes of each, with every default."""
    check = validator(schema, draft)
    assert len(SCENARIOS) > 50
    for file in SCENARIOS:
        assert not [error.message for error in check.iter_errors(tomllib.loads(file.read_text(encoding="utf-8")))], file
    resolved = tomllib.loads(Scenario.from_file(REPOSITORY / "scenarios" / "tail-drop.toml").to_toml())
    assert not list(check.iter_errors(resolved))


@pytest.mark.parametrize("draft", [7, 2020])
@pytest.mark.parametrize(("line", "path", "word"), FAULTS, ids=[line for line, _, _ in FAULTS])
def test_a_fault_is_where_it_is(
    schema: dict[str, Any], draft: int, line: str, path: list[str | int], word: str
) -> None:
    """One message, at the key or the value that is wrong; the program refuses it as well."""
    source = scenario(line)
    errors = list(validator(schema, draft).iter_errors(tomllib.loads(source)))
    assert [list(error.absolute_path) for error in errors] == [path]
    assert word in errors[0].message
    with pytest.raises(ScenarioError):
        Scenario.from_toml(source).check()


def test_controllers_of_stacks(schema: dict[str, Any]) -> None:
    """The tables that have no `kind` of ours: one of our controllers inside a stack, and shadows."""
    check = validator(schema, 2020)
    for cc in (
        '{ windtunnel = "cubic" }',
        '{ windtunnel = { kind = "bbr3" }, shadow = "reno" }',
        '{ kind = "cubic", shadow = "reno" }',
    ):
        assert check.is_valid(tomllib.loads(scenario(f'flow = [{{ cc = {cc}, stack = "quinn", rtt = "20 ms" }}]'))), cc
    for cc in ('{ windtunnel = "cubicc" }', '{ windtunnel = "cubic", c = 1 }', '{ kind = "cubicc", shadow = "reno" }'):
        assert not check.is_valid(tomllib.loads(scenario(f'flow = [{{ cc = {cc}, rtt = "20 ms" }}]'))), cc


#: A line with each kind of quantity.
QUANTITIES: dict[str, Callable[[str], str]] = {
    "time": lambda text: f'duration = "{text}"',
    "bytes": lambda text: f'mtu = "{text}"',
    "rate": lambda text: f'bottleneck = {{ rate = "{text}" }}',
    "probability": lambda text: f'reverse = {{ impair = {{ kind = "loss", probability = "{text}" }} }}',
}


def units(quantity: str) -> list[str]:
    """The units that the program's message lists."""
    with pytest.raises(ScenarioError) as error:
        Scenario.from_toml(scenario(QUANTITIES[quantity]("1 unit"))).check()
    listed = re.search(r"\(units: (.*?)\)", str(error.value))
    assert listed, error.value
    return listed[1].split(", ")


def test_units_are_the_programs() -> None:
    """The pattern of a quantity has the units that the program reads, and none of those of other quantities."""
    allowed = {quantity: units(quantity) for quantity in QUANTITIES}
    assert allowed["time"] and "kbit/s" in allowed["rate"]
    for quantity, pattern in PATTERNS.items():
        for unit in {unit for some in allowed.values() for unit in some} | {"unit", "mss", "Mbyte/s", "bps"}:
            for form in (f"20 {unit}", f"0.5{unit}", f"1e3 {unit} "):
                assert bool(re.search(pattern, form)) == (unit in allowed[quantity]), (quantity, form)
        assert bool(re.search(pattern, "20")) == (quantity == "probability")


def said(node: Any, key: str) -> Iterator[Any]:
    """All values of a keyword."""
    if isinstance(node, dict):
        if key in node and not isinstance(node[key], dict):
            yield node[key]
        for value in node.values():
            yield from said(value, key)
    elif isinstance(node, list):
        for value in node:
            yield from said(value, key)


def keyed(node: Any, keyword: str) -> Iterator[tuple[str, Any]]:
    """The value of a keyword, with the key of the scenario that it is about."""
    if isinstance(node, dict):
        for key, value in node.get("properties", {}).items():
            if isinstance(value, dict) and keyword in value:
                yield key, json.dumps(value[keyword])
        for value in node.values():
            yield from keyed(value, keyword)
    elif isinstance(node, list):
        for value in node:
            yield from keyed(value, keyword)


def test_nothing_is_lost(text: str, schema: dict[str, Any]) -> None:
    """Every description, default, name and bound of the core's schema is in it."""
    core = json.loads(_core.schema())
    for description in {" ".join(each.split("\n")) for each in said(core, "description")}:
        assert json.dumps(description, ensure_ascii=False) in text
    names = {name for each in said(core, "enum") for name in each} | set(said(core, "const"))
    assert names - {None} <= {name for each in said(schema, "enum") for name in each} | set(said(schema, "const"))
    # What several keys share is a definition with the key's name.
    shared = {"properties": {}, "more": []}
    for name, value in schema["$defs"].items():
        shared["more"].append({"properties": {re.sub(r"-\d+$", "", name): value}})
    for keyword in ("default", "minimum", "maximum"):
        wanted = {(key, json.loads(value)) for key, value in keyed(core, keyword) if value[0] not in "n[{"}
        kept = {(key, json.loads(value)) for key, value in keyed([schema, shared], keyword) if value[0] not in "n[{"}
        assert wanted and wanted <= kept, (keyword, sorted(map(str, wanted - kept))[:5])


def test_out(cli: Cli, tmp_path: Path, text: str) -> None:
    """`--out` writes what is printed otherwise; a place that cannot be written is refused in one line."""
    done = cli("schema", "--out", "scenario.schema.json", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "scenario.schema.json\n", "")
    assert (tmp_path / "scenario.schema.json").read_text(encoding="utf-8") == text == cli("schema").stdout
    (tmp_path / "folder").mkdir()
    for arguments, word in (
        (["--out", "scenario.schema.json"], "--force"),
        (["--out", "folder", "--force"], "is a folder"),
        (["--out", "nowhere/x.json"], "no such folder"),
        (["--out", "scenario.schema.json/x.json"], "not a folder"),
        (["--force"], "--out"),
    ):
        done = cli("schema", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1 and word in done.stderr
    assert cli("schema", "--out", "scenario.schema.json", "--force", cwd=tmp_path).returncode == 0
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folder", "scenario.schema.json"]


@pytest.mark.skipif(shutil.which("taplo") is None, reason="needs taplo (`pip install taplo`)")
def test_taplo(tmp_path: Path, text: str) -> None:
    """The same by taplo: all scenarios are valid, and a fault is marked at its line and column."""
    file = tmp_path / "scenario.schema.json"
    file.write_text(text, encoding="utf-8")
    taplo = ["taplo", "check", "--no-auto-config", "--colors", "never", "--schema", file.as_uri()]
    done = subprocess.run([*taplo, *map(str, SCENARIOS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for line, path, _ in FAULTS:
        wrong = tmp_path / "wrong.toml"
        wrong.write_text(scenario(line), encoding="utf-8")
        done = subprocess.run([*taplo, str(wrong)], capture_output=True, text=True, check=False)
        assert done.returncode != 0
        marked = re.findall(r"wrong\.toml:(\d+):(\d+)", done.stderr)
        # A table that lacks a key is marked with all that is in it.
        assert len(marked) == 1 or path[-1] == "queue", (line, done.stderr)
        source, column = wrong.read_text(encoding="utf-8").splitlines()[int(marked[0][0]) - 1], int(marked[0][1])
        # taplo marks the value; the key, or a list that holds it, is just before.
        key = next(part for part in reversed(path) if isinstance(part, str))
        assert re.search(rf"\b{key} = \[?$", source[: column - 1]), (line, source[: column - 1])
