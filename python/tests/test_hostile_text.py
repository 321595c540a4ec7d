"""Every free text of a scenario through every writer: titles, names and sentences are data, whatever they look like.

Which texts are free is read from the JSON Schema, and which writers there are from the program: a new text and a new
writer fail here until they are listed. What a file must look like comes from the same scenario with harmless texts: its
structure (elements, tables, commands) is the same.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
import struct
import subprocess
import tomllib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from qlog_schema import records

from windtunnel import RunResult, Scenario, _core, escape
from windtunnel.export import FILE_FORMATS, FORMATS, export, export_file

#: A command that ran, an element that was read, or a formula that was computed leaves this word.
MARK = "PWNED"
HOSTILE = [
    f"LAN\n: > {MARK}\n# x",
    f"a\r\n: > {MARK}\r# x",
    f"'; : > {MARK}; '",
    f'"; : > {MARK}; "',
    f"`: > {MARK}`",
    f"$(: > {MARK})",
    f"a\\\n: > {MARK}",
    f"path; : > {MARK} | tc & ${{IFS}}",
    f"=cmd|' /C {MARK}'!A0",
    f"@SUM(1){MARK}",
    f"</script><script>{MARK}()</script><img src=x onerror={MARK}()>",
    f"--> <!-- ]]> <![CDATA[ {MARK} &lt; & {{{{ 7*7 }}}} {{% raw %}}",
    f"| a | b |\n|---|---|\n# {MARK} [x](javascript:{MARK}) ![y](http://{MARK}) **b** ~~c~~",
    f'"""\n[[claim]]\n{MARK} = 1',
    f"\x00\x1b[31m\x1b]0;{MARK}\x07\x9b1m\x7f \u2028\u2029 \x0b\x0c\x85",
    f"\u202e{MARK}\u2066 $5 $6_{{ \\frac{{a}}{{b}} \\input{{/etc/passwd}} %n%s",
    f"{MARK} " + "x" * 70_000,
]

#: Keys of a scenario whose value is any text, by their place in the schema, and where the scenario below has them.
FREE = {
    "title",
    "node.name",
    "link.name", "link.from", "link.to",
    "flow.name", "flow.from", "flow.to", "flow.path[]", "flow.reverse[]", "flow.sender_host", "flow.receiver_host",
    "flow.connection",
    "window.name",
    "claim.text", "claim.name", "claim.check",
}  # fmt: skip
#: Strings in the schema that are no free texts, and why.
BOUND = {
    **dict.fromkeys(
        ("link.rate.trace", "reverse.rate.trace"),
        "a file, which is opened before the run and printed as it was found (test_hostile_files)",
    ),
    **dict.fromkeys(
        (
            *(f"{link}.changes.when.column" for link in ("link", "reverse")),
            *(f"flow.active.{end}.column" for end in ("from", "to")),
        ),
        "one of the columns of the flow's state",
    ),
    "flow.iw": "a quantity",
    "flow.stack.file": "a library, which the user has named before (test_stacks)",
}


def scenario(text: str) -> Scenario:
    """A scenario with ``text`` in every free text; two of a kind are told apart at their ends. Nothing in it is random,
    because streams of random numbers have their names from links and flows.
    """
    one, two, node = f"{text}1", f"{text}2", f"{text}n"
    table: dict[str, Any] = {
        "title": text,
        "duration": "300 ms",
        "record": {"packets": True, "interval": "50 ms"},
        "node": [{"name": node}, {"name": f"{node}2"}],
        "link": [
            {"name": one, "from": node, "to": f"{node}2", "rate": "5 Mbit/s",
             "queue": {"kind": "prio", "bands": 2, "default_band": 1, "children": ["codel", "deltim"],
                       "filters": [{"flows": [0], "band": 0}]},
             "impair": [{"kind": "loss", "probability": 0, "affects": "data"}]},
            {"name": two, "from": f"{node}2", "to": node, "rate": "5 Mbit/s",
             "changes": [{"at": "100 ms", "rate": "2 Mbit/s"}]},
        ],
        "flow": [
            {"name": one, "cc": "reno", "rtt": "20 ms", "from": node, "to": f"{node}2", "sender_host": one,
             "receiver_host": two, "connection": text},
            {"name": two, "cc": "cubic", "rtt": "30 ms", "path": [one], "reverse": [two]},
        ],
        "window": [{"name": text, "from": "100 ms", "to": "200 ms"}],
        "claim": [{"name": text, "text": text, "check": "queue.utilization > 2"}],
    }  # fmt: skip
    return Scenario.from_table(table)


@pytest.fixture(scope="module")
def harmless() -> RunResult:
    """The run whose files have the structure that those of hostile ones must have."""
    return scenario("harmless").run()


@pytest.fixture(scope="module", params=HOSTILE, ids=range(len(HOSTILE)))
def hostile(request: pytest.FixtureRequest) -> RunResult:
    """A run with a hostile text everywhere."""
    return scenario(request.param).run()


def texts_of(node: dict[str, Any], schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """The places at which a schema allows any string."""
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rpartition("/")[2]]
    kinds = node.get("type", ())
    is_text = "string" in ([kinds] if isinstance(kinds, str) else kinds)
    if is_text and not {"enum", "const", "format", "examples", "pattern"} & set(node):
        yield path
    for key, value in node.get("properties", {}).items():
        yield from texts_of(value, schema, f"{path}.{key}".strip("."))
    if isinstance(node.get("items"), dict):
        inner = node["items"]
        is_table = "$ref" in inner
        yield from texts_of(inner, schema, path if is_table else f"{path}[]")
    for key in ("anyOf", "oneOf", "allOf"):
        for value in node.get(key, ()):
            yield from texts_of(value, schema, path)


#: Algorithms and mechanisms: their own keys are quantities and names from lists.
ALGORITHMS = {"Queue", "Controller", "Impairment", "Application", "Ack", "TcpParams", "RecordParams", "BottleneckTable"}


def test_every_free_text_is_here() -> None:
    """The schema has no text that these tests do not know."""
    schema = json.loads(_core.schema())
    assert set(schema["$defs"]) >= ALGORITHMS
    schema["$defs"] |= {key: {} for key in ALGORITHMS}
    assert set(texts_of(schema, schema)) == FREE | set(BOUND)


def test_every_writer_is_here() -> None:
    """No format can be exported that is not examined below."""
    assert {*FORMATS, *FILE_FORMATS} == {
        *("csv", "parquet", "xplot", "qlog", "wireshark_profile", "pcapng", "ss", "flowgrind", "flent", "tc")
    }


def exported(result: RunResult, kind: str, folder: Path) -> Path:
    """The file or folder of a format."""
    path = folder / ("run.flent.gz" if kind == "flent" else kind)
    (export_file if kind in FILE_FORMATS else export)(result, kind, path)
    return path


#: Programs that note what they were called with; the shell has no others.
STUB = '#!/bin/sh\nprintf "%s\\n" "${0##*/} $*" >> "$LOG"\n'


def called(script: Path, folder: Path) -> list[str]:
    """Runs a script in an empty folder with nothing but stubs in reach; returns what it called."""
    programs, empty, log = folder / "programs", folder / "empty", folder / "log"
    for directory in (programs, empty):
        directory.mkdir()
    for name in ("tc", "ip", "touch", "rm", "cmd", "path"):
        (programs / name).write_text(STUB, encoding="utf-8")
        (programs / name).chmod(0o755)
    syntax = subprocess.run(["sh", "-n", script], capture_output=True, text=True, check=False)
    assert (syntax.returncode, syntax.stderr) == (0, "")
    devices = {name: name.lower() for name in ("LINK_", "RECEIVERS", "SENDERS")}
    devices |= {word: "dev" for line in script.read_text().split("\n") for word in line.split('"$')[1:2]}
    devices = {name.partition('"')[0]: device for name, device in devices.items()}
    run = subprocess.run(
        ["/bin/sh", script], cwd=empty, env={**devices, "PATH": str(programs), "LOG": str(log)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert not list(empty.iterdir())
    return log.read_text(encoding="utf-8").splitlines()


def test_shell(hostile: RunResult, harmless: RunResult, tmp_path: Path) -> None:
    """The script for tc runs what it runs for the harmless scenario, and nothing else: each line is tc or a comment."""
    calls = {}
    for name, result in (("hostile", hostile), ("harmless", harmless)):
        folder = tmp_path / name
        folder.mkdir()
        script = exported(result, "tc", folder)
        calls[name] = called(script, folder)
        lines = script.read_text(encoding="utf-8").splitlines()
        own = ("", "set -eu", "fi", *(f'if [ -n "${{{name}:-}}" ]; then' for name in ("RECEIVERS", "SENDERS")))
        assert all(line.strip().startswith(("tc ", "#")) or line in own for line in lines)
    plain = [" ".join(call.split()) for call in calls["hostile"]]
    assert plain == calls["harmless"]
    assert len(plain) > 10


class Structure(HTMLParser):
    """The elements of a page with the names of their attributes, and its scripts."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, tuple(name for name, _ in attrs)))

    def handle_comment(self, data: str) -> None:
        """Note a comment."""
        self.elements.append(("comment", (data,)))


def test_folder(hostile: RunResult, harmless: RunResult, tmp_path: Path) -> None:
    """The result folder: the page has the same elements, the TOML and the JSON say the same as the run."""
    for name, result in (("hostile", hostile), ("harmless", harmless)):
        result.save(tmp_path / name)
    page, plain = (Structure((tmp_path / n / "report.html").read_text()) for n in ("hostile", "harmless"))
    assert page.elements == plain.elements
    title = hostile.title
    toml = (tmp_path / "hostile" / "scenario.toml").read_text(encoding="utf-8")
    assert tomllib.loads(toml)["title"] == title
    assert tomllib.loads(toml)["claim"][0]["text"] == title and set(tomllib.loads(toml)) == set(
        tomllib.loads((tmp_path / "harmless" / "scenario.toml").read_text())
    )
    summary = json.loads((tmp_path / "hostile" / "summary.json").read_text(encoding="utf-8"))
    assert [flow["name"] for flow in summary["flows"]] == [f"{title}1", f"{title}2"]
    assert MARK not in {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")}


def test_flent(hostile: RunResult, tmp_path: Path) -> None:
    """Flent's file is JSON, and the file name that it proposes is one."""
    document = json.loads(gzip.decompress(exported(hostile, "flent", tmp_path).read_bytes()))
    assert document["metadata"]["TITLE"] == hostile.title
    name = document["metadata"]["DATA_FILENAME"]
    assert len(name) <= 250 and name.isascii() and name.replace("-", "").replace("_", "").replace(".", "").isalnum()


@pytest.mark.parametrize("kind", ["csv", "xplot", "ss", "flowgrind"])
def test_formats_without_texts(kind: str, hostile: RunResult, harmless: RunResult, tmp_path: Path) -> None:
    """Other formats have numbers and their own words alone: no text of the scenario is in them."""
    for name, result in (("hostile", hostile), ("harmless", harmless)):
        (tmp_path / name).mkdir()
        exported(result, kind, tmp_path / name)
    files = {
        name: {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("hostile", "harmless")
    }
    assert files["hostile"] == files["harmless"]


def test_captures(hostile: RunResult, harmless: RunResult, tmp_path: Path) -> None:
    """Captures have the same blocks, and texts within the lengths of their options, as UTF-8."""
    kinds = {}
    for name, result in (("hostile", hostile), ("harmless", harmless)):
        (tmp_path / name).mkdir()
        kinds[name] = [kind for kind, _ in blocks(exported(result, "pcapng", tmp_path / name).read_bytes())]
    assert kinds["hostile"] == kinds["harmless"]


def test_logs(hostile: RunResult, harmless: RunResult, tmp_path: Path) -> None:
    """Logs have the same events, in as many files inside of their folder; a title is what it is."""
    names = {}
    for name, result in (("hostile", hostile), ("harmless", harmless)):
        (tmp_path / name).mkdir()
        logs = [list(records(file)) for file in exported(result, "qlog", tmp_path / name).iterdir()]
        assert all(head["title"].startswith(result.title) for head, *_ in logs)
        names[name] = sorted([event["name"] for event in events] for _, *events in logs)
    assert names["hostile"] == names["harmless"]


def blocks(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The types and bodies of a pcapng file's blocks, whose lengths are at both ends."""
    position = 0
    while position < len(data):
        kind, length = struct.unpack_from("<II", data, position)
        assert length % 4 == 0 and struct.unpack_from("<I", data, position + length - 4) == (length,)
        yield kind, data[position + 8 : position + length - 4]
        position += length


def test_parquet(hostile: RunResult, tmp_path: Path) -> None:
    """The title is metadata, as it is."""
    import pyarrow.parquet as pq

    file = next(exported(hostile, "parquet", tmp_path).iterdir())
    metadata = pq.read_schema(file).metadata
    assert metadata[b"windtunnel.title"].decode("utf-8") == hostile.title


def test_junit(hostile: RunResult, harmless: RunResult, tmp_path: Path) -> None:
    """The report for continuous integration is XML with the same elements."""
    from windtunnel.claims import decide, junit

    elements = {}
    for result in (hostile, harmless):
        path = tmp_path / "claims.xml"
        cases = junit.cases_of(decide.decided_run(result))
        junit.write(path, [(result.title, cases)], undecided=False)
        elements[result.title] = [(element.tag, list(element.attrib)) for element in ET.parse(path).iter()]
    assert elements[hostile.title] == elements["harmless"]


@pytest.mark.parametrize("text", [text for text in HOSTILE if "<" in text or "$5" in text])
def test_pictures(text: str, tmp_path: Path) -> None:
    """Matplotlib writes SVG in which every text is text; it tries neither formulas nor TeX."""
    from windtunnel.figures.files import write_figure

    write_figure(scenario(text).run().plot(panels=["throughput"]), tmp_path / "run.svg")
    elements = list(ET.parse(tmp_path / "run.svg").iter())
    assert not [e for e in elements if e.tag.rpartition("}")[2] in ("script", "img", "foreignObject", "a", "image")]
    assert not [name for e in elements for name in e.attrib if name.lower().startswith("on")]
    assert any(MARK in (e.text or "") for e in elements)


def test_markdown(hostile: RunResult) -> None:
    """A comment on a pull request and the report of a search: the same blocks, no links, no HTML."""
    from markdown_it import MarkdownIt

    from windtunnel.compare.differences import Difference
    from windtunnel.compare.markdown import document
    from windtunnel.search.tables import table

    def structure(text: str) -> list[str]:
        row = Difference(cell=text, what=text, baseline=1.0, candidate=2.0, difference=1.0)
        lines = [document(text, [(text, [row])], [text], [], 1), *table((text, "b"), [(text, "1")])]
        lines += ["", f"- {escape.markdown_code(text)}", f"[{escape.markdown(text)}](x.png)"]
        tokens = MarkdownIt("commonmark").enable("table").enable("strikethrough").parse("\n".join(lines))
        # Escapes and parts of text are still text.
        kinds = [child.type for token in tokens for child in (token, *(token.children or ()))]
        return [kind for kind in kinds if kind not in ("text", "text_special")]

    assert structure(hostile.title) == structure("harmless")


def test_search(hostile: RunResult) -> None:
    """The scenario file that a search writes has its comment in comments alone."""
    from windtunnel.search.written import text_of

    text = text_of(scenario("harmless"), hostile.title, hostile.title)
    table = tomllib.loads(text)
    assert table["title"] == hostile.title
    assert {**table, "title": ""} == {**tomllib.loads(text_of(scenario("harmless"), "", "")), "title": ""}


def test_cells(tmp_path: Path) -> None:
    """A campaign's CSV: what a spreadsheet would compute begins with an apostrophe; numbers with units stay."""
    from windtunnel import Campaign, grid

    names = [f"=1+1|{MARK}", f"+{MARK}", f"@{MARK}", f"\t={MARK}"]
    campaign = Campaign(
        scenario("harmless"), axes=[grid({"flow.0.name": names})], metrics={"u": "queues.harmless1.utilization"}
    )
    campaign.run(tmp_path / "out", jobs=1)
    with (tmp_path / "out" / "cells.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    cells = [cell for row in rows for cell in row if MARK in cell]
    assert len(cells) > 2
    assert all(cell.startswith("'") for cell in cells)
    assert [escape.csv_cell(x) for x in ("-5 ms", "+1.5e3", "-1 Mbit/s", -5.0, "a=b")] == [
        "-5 ms", "+1.5e3", "-1 Mbit/s", -5.0, "a=b",
    ]  # fmt: skip


def test_shell_words() -> None:
    """Words of a command are words, and variables of different links are different and no one else's."""
    from windtunnel.export.tc.words import Variables, tc

    words = [f"$(: > {MARK})", "a b", "'"]
    run = subprocess.run(
        ["/bin/sh", "-c", 'tc() { printf "%s\\n" "$@"; }; ' + tc("qdisc add", "X", words)],
        env={"X": "eth0; id"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.splitlines() == ["qdisc", "add", "dev", "eth0; id", *words]
    variables = Variables()
    names = [variables.of(link, only=False) for link in ("path", "a b", "a_b", "", "\u00e9", "1")]
    assert len(set(names)) == len(names) and not set(names) & set(os.environ)
    assert all(name.startswith("LINK_") and name.replace("_", "a").isalnum() for name in names)
