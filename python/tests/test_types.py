"""The types of a scenario follow its schema, and accept what the documents show."""

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import windtunnel as wt
from windtunnel import _core

REPOSITORY = Path(__file__).parents[2]
#: What the README shows in prose and in scenario files, as Python.
SHOWN = """
import windtunnel as wt

wt.Scenario(
    duration="1 s",
    mtu="1500 B",
    bottleneck=wt.Bottleneck(
        rate="10 Mbit/s", overhead="38 B", impair={"kind": "loss", "probability": "1 %"}, queue="pie"
    ),
    flows=[
        wt.Flow(cc="cubic", rtt="20 ms", tcp={"sack": False}),
        wt.Flow(app={"kind": "cbr", "rate": "1 Mbit/s"}, rtt="20 ms"),
    ],
    record=wt.Record(interval="10 ms", state="changes"),
    windows=[{"name": "late", "from": "500 ms", "to": "1 s"}],
)
"""

#: What users write; the type checker must accept it.
ACCEPTED = """
import windtunnel as wt

result = wt.load("run")
flows = result.tables["flows"]
half = flows["cwnd_bytes"] / 2e3 * flows["throughput_mbps"]
late = flows["cwnd_bytes"][flows["time_s"] > 1.0].mean()
frame: object = flows.to_polars().filter(flows.to_polars()["flow"] == 0)
rows: int = flows.rows
picture = result.plot(["cwnd"], span=(1, 2))
picture.savefig("cwnd.pdf")
"""
#: What it must refuse, with the lines of its complaints.
REFUSED = """
import windtunnel as wt

result = wt.load("run")
result.tables["flows"].rows + "x"
result.tables["flows"].to_padnas()
result.plot(panles=["cwnd"])
wt.Scenario(duration=30, flows=[])
"""


def test_types_follow_the_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """``scenario_types.py`` equals what its generator makes from the core's schema, except for formatting."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "python" / "tools"))
    import scenario_types

    text = scenario_types.module(json.loads(_core.schema()))
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(scenario_types.TARGET), "-"]
    formatted = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    assert scenario_types.TARGET.read_text() == formatted, "run `python python/tools/scenario_types.py`"


def test_every_key_has_an_argument() -> None:
    """``Scenario`` has an argument for each key of a scenario; arrays of tables have plural names."""
    keys = set(json.loads(_core.schema())["properties"])
    plural = {"flow": "flows", "window": "windows", "claim": "claims", "link": "links", "node": "nodes"}
    arguments = set(inspect.signature(wt.Scenario.__init__).parameters)
    assert {plural.get(key, key) for key in keys} <= arguments


#: Python snippets of the README, the tutorial and the how-to pages, by the page and their number there.
SNIPPETS = {
    f"{page.parent.name}_{page.stem}_{number}".replace("-", "_"): snippet
    for page in (REPOSITORY / "README.md", *REPOSITORY.glob("docs/tutorial/*.md"), *REPOSITORY.glob("docs/how-to/*.md"))
    for number, snippet in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))
}


@pytest.fixture(scope="module")
def complaints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """The lines that a strict type checker refuses, by the file's name. It starts once for all files, with the cache of
    `make lint`.
    """
    folder = tmp_path_factory.mktemp("typed")
    texts = {**SNIPPETS, "shown": SHOWN, "accepted": ACCEPTED, "refused": REFUSED}
    files = [folder / f"{name}.py" for name in texts]
    for file, text in zip(files, texts.values(), strict=True):
        file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", *map(str, files)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    complaints: dict[str, list[int]] = {}
    for file, line in re.findall(r"^(.+)\.py:(\d+): error", done.stdout, re.MULTILINE):
        complaints.setdefault(Path(file).name, []).append(int(line))
    return complaints


def test_what_the_documents_show_is_typed(complaints: dict[str, list[int]]) -> None:
    """The type checker accepts every Python snippet of the documents, and keys that they show in scenario files."""
    assert SNIPPETS
    exec(compile(SHOWN, "shown", "exec"), {})
    assert not complaints.keys() & {"shown", *SNIPPETS}, complaints


def test_tables_are_typed(complaints: dict[str, list[int]]) -> None:
    """It knows tables and their methods, and finds nothing in the package itself."""
    assert complaints == {"refused": [5, 6, 7, 8]}
    assert (Path(wt.__file__).parent / "py.typed").exists()
