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


def test_what_the_documents_show_is_typed(tmp_path: Path) -> None:
    """The type checker accepts every Python snippet of the README, the tutorial and the how-to pages, and keys that
    documents show in scenario files.
    """
    pages = [REPOSITORY / "README.md", *REPOSITORY.glob("docs/tutorial/*.md"), *REPOSITORY.glob("docs/how-to/*.md")]
    snippets = [s for page in sorted(pages) for s in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)]
    assert snippets
    files = [tmp_path / f"snippet_{i}.py" for i in range(len(snippets) + 1)]
    for file, text in zip(files, [*snippets, SHOWN], strict=True):
        file.write_text(text)
    exec(compile(SHOWN, "shown", "exec"), {})
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *map(str, files)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
