"""The result folder: its contract, and that it appears complete or not at all."""

import errno
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from windtunnel import InputError, RunResult, Scenario, _core, load
from windtunnel.export import export
from windtunnel.folder import save

FILES = {
    "summary.json",
    "scenario.toml",
    "flows.parquet",
    "queues.parquet",
    "cc.parquet",
    "aqm.parquet",
    "points/throughput_points.parquet",
    "points/cwnd_points.parquet",
    "points/sojourn_points.parquet",
    "points/mark_points.parquet",
    "report.html",
}
FIGURES = {"figure.png", "figure.svg"}


def files(folder: Path) -> set[str]:
    return {str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file()}


def test_contract(result: RunResult, tmp_path: Path) -> None:
    """The folder has the files and keys that section 7 of the design promises."""
    assert save(result, tmp_path / "deep" / "run", figures=True) == tmp_path / "deep" / "run"
    assert files(tmp_path / "deep" / "run") == FILES | FIGURES
    document = json.loads((tmp_path / "deep" / "run" / "summary.json").read_text(encoding="utf-8"))
    assert list(document) == [
        "schema_version",
        "meta",
        "stalled",
        "notes",
        "flows",
        "queues",
        "fairness",
        "impairments",
        "windows",
        "changes",
        "claims",
    ]
    assert document["schema_version"] == 2
    needed = {"scenario", "version", "seed", "digest", "packets", "events", "cpu_seconds", "packets_per_second"}
    assert needed <= set(document["meta"])
    assert document["meta"]["seed"] == 7
    # Absent, not unknown, where a core was built outside of the repository or a machine does not tell.
    assert document["meta"].get("commit") == _core.commit()
    assert set(document["meta"]["host"]) >= {"python", "system", "kernel", "machine"}
    assert "unknown" not in document["meta"]["host"].values()
    assert document["meta"]["scenario"]["title"] == "Reno and Reno-MDS"
    assert [f["name"] for f in document["flows"]] == ["reno", "mds"]
    assert [w["name"] for w in document["windows"]] == ["late"]
    queues = pq.read_table(tmp_path / "deep" / "run" / "queues.parquet")
    assert {"time_s", "queue", "sojourn_mean_ms", "sojourn_min_ms", "sojourn_max_ms", "emptied"} <= set(
        queues.column_names
    )


@pytest.mark.parametrize("piece", [1, 1000])
def test_the_summary_is_json_with_an_indent(result: RunResult, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    """`summary.json` is what Python's own encoder writes: numbers, texts in any language, what is empty."""
    monkeypatch.setattr("windtunnel.result._PIECE", piece)
    strange = {
        "text": 'a "quoted" \\ {text}, [2]:\n\t\u2028\U0001f600',
        "": [[], {}, [{}]],
        "n": [1e-07, 1e22, -0.0, True],
    }
    # This is not a scenario, so it has no windows that notes could be about.
    summary = {**result.summary, "windows": []}
    run = RunResult(summary, result.tables, {**result.meta, "scenario": strange})
    assert run.to_json() == json.dumps(run.document(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    with pytest.raises(ValueError, match="JSON"):
        RunResult(result.summary, result.tables, {**result.meta, "x": float("nan")}).to_json()
    without = RunResult({**summary, "flows": []}, result.tables, {**result.meta, "scenario": strange})
    assert without.to_json() == json.dumps(without.document(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def test_tables_have_dictionaries_where_values_repeat(result: RunResult, tmp_path: Path) -> None:
    """Texts and small numbers have; numbers of 64 bits, which are hardly ever the same, would make the file larger."""
    folder = save(result, tmp_path / "run")
    group = pq.ParquetFile(folder / "flows.parquet").metadata.row_group(0)
    columns = {one.path_in_schema: one.encodings for one in map(group.column, range(group.num_columns))}
    having = {name for name, encodings in columns.items() if "RLE_DICTIONARY" in encodings}
    assert {"scenario", "digest", "flow", "flow_name"} <= having
    assert not having & {"time_s", "throughput_mbps", "srtt_ms"}


def test_read_back(result: RunResult, tmp_path: Path) -> None:
    """A folder reads back as it was written, tables to the bit, and can be saved again."""
    again = load(save(result, tmp_path / "run"))
    assert files(tmp_path / "run") == FILES
    assert again.document() == result.document()
    assert again.meta == result.meta
    assert set(again.tables) == set(result.tables)
    for name, columns in result.tables.items():
        for column, values in columns.items():
            np.testing.assert_array_equal(again.tables[name][column], values, strict=True)
    save(again, tmp_path / "copy")
    assert (tmp_path / "copy" / "summary.json").read_bytes() == (tmp_path / "run" / "summary.json").read_bytes()


def test_scenario_in_the_folder_gives_the_same_run(result: RunResult, tmp_path: Path) -> None:
    """The resolved scenario is a scenario: it runs to the same digest."""
    save(result, tmp_path / "run")
    assert Scenario.from_file(tmp_path / "run" / "scenario.toml").run().digest == result.digest


def test_never_overwrites_without_force(result: RunResult, tmp_path: Path) -> None:
    """An existing folder stays as it is; with force, only a result folder is replaced, and it is replaced
    completely.
    """
    target = save(result, tmp_path / "run")
    (target / "mine.txt").write_text("notes", encoding="utf-8")
    with pytest.raises(InputError, match=r"exists already.*--force"):
        save(result, target)
    assert (target / "mine.txt").exists()
    save(result, target, force=True)
    assert files(target) == FILES
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("what", ["file", "folder", "link"])
def test_force_replaces_only_results(result: RunResult, tmp_path: Path, what: str) -> None:
    """Force applies to result folders only: a file, a link or any other folder is not replaced."""
    target, home = tmp_path / "place", tmp_path / "home"
    home.mkdir()
    (home / "thesis.tex").write_text("years of work", encoding="utf-8")
    if what == "file":
        target.write_text("x", encoding="utf-8")
    elif what == "link":
        target.symlink_to(home)
    else:
        target = home
    with pytest.raises(InputError, match="not replaced"):
        save(result, target, force=True)
    assert (home / "thesis.tex").read_text(encoding="utf-8") == "years of work"
    assert target.exists()


@pytest.mark.parametrize(
    ("error", "raised", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), InputError, "the disk is full"),
        (OSError(errno.EACCES, "Permission denied"), InputError, "permission denied"),
        (KeyboardInterrupt("stop"), KeyboardInterrupt, "stop"),
        (SystemExit(143), SystemExit, "143"),
    ],
)
@pytest.mark.parametrize("existing", [False, True])
def test_nothing_half_written(
    result: RunResult, tmp_path: Path, monkeypatch: Any, error: Any, raised: Any, message: str, existing: bool
) -> None:
    """A full disk or an interrupt at the last file leaves nothing behind; a folder to be replaced stays as it was."""
    target = tmp_path / "made" / "too" / "run"
    if existing:
        save(result, target)
    before = files(tmp_path)

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr("windtunnel.report.write_report", fail)
    with pytest.raises(raised, match=message):
        save(result, target, force=existing)
    assert files(tmp_path) == before
    assert list(tmp_path.iterdir()) == ([tmp_path / "made"] if existing else [])


def test_a_disk_that_fills_up(result: RunResult, tmp_path: Path) -> None:
    """The operating system itself refuses: no file may grow beyond 4 kB. The message names the place."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(InputError, match=r"run: cannot be written: .*[Ll]arge"):
            save(result, tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_result_folder(result: RunResult, tmp_path: Path) -> None:
    """Each fault has its own message: no folder, another folder, broken JSON, another JSON, a newer version, a missing
    table.
    """

    def message(folder: Path) -> str:
        with pytest.raises(InputError) as caught:
            load(folder)
        return str(caught.value)

    assert "no such folder" in message(tmp_path / "none")
    assert "no summary.json" in message(tmp_path)
    target = save(result, tmp_path / "run")
    summary = target / "summary.json"
    text = summary.read_text(encoding="utf-8")
    for wrong, expected in [
        (text[:-20], "is not JSON"),
        ("[]", "no schema_version"),
        ('{"schema_version": 1}', "meta, flows, queues, windows missing"),
        (text.replace('"schema_version": 2', '"schema_version": 99'), "reads up to 2"),
    ]:
        summary.write_text(wrong, encoding="utf-8")
        assert expected in message(target)
    summary.write_text(text, encoding="utf-8")
    (target / "flows.parquet").write_bytes(b"not parquet at all")
    assert "flows.parquet: is not a Parquet file" in message(target)


def test_csv(result: RunResult, tmp_path: Path) -> None:
    """Every table becomes a file that numpy reads back to the bit; a missing sample is an empty field."""
    export(result, "csv", tmp_path / "csv")
    assert {f.stem for f in (tmp_path / "csv").iterdir()} == set(result.tables)
    back = np.genfromtxt(tmp_path / "csv" / "flows.csv", delimiter=",", names=True)
    for name, values in result.tables["flows"].items():
        np.testing.assert_array_equal(back[name], values)
    assert "nan" not in (tmp_path / "csv" / "flows.csv").read_text(encoding="utf-8").lower()


def test_parquet(result: RunResult, tmp_path: Path) -> None:
    """Every table becomes a file that names the run it belongs to."""
    export(result, "parquet", tmp_path / "out")
    table = pq.read_table(tmp_path / "out" / "cwnd_points.parquet")
    assert table.num_rows == len(result.tables["cwnd_points"]["time_s"])
    assert table.schema.metadata[b"windtunnel.digest"].decode() == result.digest


def test_xplot(result: RunResult, tmp_path: Path) -> None:
    """There are four plots in the document's colours: flow 0 is white, flow 1 green, their sum a red cross; no point is
    missing.
    """
    export(result, "xplot", tmp_path / "xpl")
    assert files(tmp_path / "xpl") == {"throughput.xpl", "sojourn.xpl", "cwnd.xpl", "mark.xpl"}
    lines = (tmp_path / "xpl" / "throughput.xpl").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "double double"
    assert lines[-1] == "go"
    assert lines[lines.index("title") + 1] == "IP Throughput"
    assert [c for c in lines if c in ("white", "green", "red")] == ["red", "white", "green"]
    points = result.tables["throughput_points"]
    assert len([c for c in lines if c.startswith(("dot ", "x "))]) == len(points["time_s"])
    assert len([c for c in lines if c.startswith("x ")]) == np.count_nonzero(points["flow"] == -1)
    sojourn = (tmp_path / "xpl" / "sojourn.xpl").read_text(encoding="utf-8").splitlines()
    red = sojourn[sojourn.index("red") + 1 : -1]
    assert len(red) == np.count_nonzero(result.tables["sojourn_points"]["empty"])


def test_exports_are_not_overwritten(result: RunResult, tmp_path: Path) -> None:
    """An existing folder is not replaced without force; one of another format is not even with it."""
    export(result, "csv", tmp_path / "out")
    with pytest.raises(InputError, match="exists already"):
        export(result, "csv", tmp_path / "out")
    export(result, "csv", tmp_path / "out", force=True)
    with pytest.raises(InputError, match="holds other files"):
        export(result, "xplot", tmp_path / "out", force=True)
