"""Tables of results in other libraries, and results in notebooks."""

from __future__ import annotations

import re
import sys
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import windtunnel as wt
from windtunnel import arrow, notebook


@pytest.fixture(scope="module")
def mixed() -> wt.RunResult:
    """A run with all kinds of columns: a datagram flow has no window, which is NaN."""
    flows = [{"name": "tcp", "cc": "cubic", "rtt": "20 ms"}, {"name": "probe", "rtt": "20 ms", "app": "probe"}]
    return wt.Scenario(duration="2 s", bottleneck={"rate": "10 Mbit/s"}, flows=flows).run()


def test_arrow_has_nulls_and_truths(mixed: wt.RunResult) -> None:
    """NaN becomes null, truth values keep their values; `pyarrow`'s own conversion is the expectation."""
    for name, columns in mixed.tables.items():
        expected = pa.table({column: pa.array(values, from_pandas=True) for column, values in columns.items()})
        table = mixed.table(name)
        table.validate(full=True)
        assert table.equals(expected)
    assert mixed.table("flows")["cwnd_bytes"].null_count == np.isnan(mixed.tables["flows"]["cwnd_bytes"]).sum() > 0
    truths = wt.Table({"t": np.array([True, False, True] * 5)[::2]})
    assert truths.to_arrow()["t"].to_pylist() == [True, True, False, True, True, False, True, True]
    empty = wt.Table({"t": np.array([], dtype=np.bool_), "x": np.array([])})
    assert (empty.rows, empty.to_arrow().num_rows) == (0, 0)


def test_columns_from_arrow(mixed: wt.RunResult) -> None:
    """Columns come back from Arrow as they were, whole and in parts; `pyarrow`'s own conversion is the expectation."""
    for name, columns in mixed.tables.items():
        for table in (mixed.table(name), mixed.table(name).slice(3, 8), mixed.table(name).slice(0, 0)):
            for column in columns:
                values, expected = arrow.column(table[column]), table[column].to_numpy()
                assert (values.dtype, len(values)) == (expected.dtype, table.num_rows)
                np.testing.assert_array_equal(values, expected)
    parts = pa.chunked_array([[True, False], [], [False, True, True]])
    assert arrow.column(parts).tolist() == parts.to_pylist()
    gaps = pa.chunked_array([[1.5, None], [None, 2.5]])
    np.testing.assert_array_equal(arrow.column(gaps), [1.5, np.nan, np.nan, 2.5])
    # Of whole numbers with gaps, which are in no table of ours, the others are kept.
    np.testing.assert_array_equal(arrow.column(pa.array([1, None])), [1.0, np.nan])


def test_bytes_in_arrow_and_back() -> None:
    """Bytes of any length, whole and in parts; `pyarrow`'s own conversion is the expectation."""
    contents = [b"", b"a", bytes(range(256)), b"\0"]
    for values in (contents, []):
        column = np.empty(len(values), dtype=np.object_)
        column[:] = values
        table = wt.Table({"content": column}).to_arrow()
        table.validate(full=True)
        assert table.equals(pa.table({"content": pa.array(values, pa.large_binary())}))
        for part in (table, table.slice(1, 2)):
            back = arrow.column(part["content"])
            assert back.dtype == np.object_ and back.tolist() == part["content"].to_pylist()


def test_tables_are_arrow_streams(mixed: wt.RunResult) -> None:
    """A table is an Arrow stream as the PyCapsule interface defines it: any reader of Arrow takes it as it is."""
    table = mixed.tables["queues"]
    stream = pa.RecordBatchReader.from_stream(table)
    assert stream.read_all().equals(mixed.table("queues"))
    assert type(table.__arrow_c_stream__()).__name__ == "PyCapsule"


def test_pandas_and_polars(mixed: wt.RunResult) -> None:
    """Frames have the columns and values of the table; a missing value is NaN in pandas and null in Polars."""
    columns = mixed.tables["flows"]
    pandas, polars = mixed.to_pandas("flows"), mixed.to_polars("flows")
    assert list(pandas.columns) == polars.columns == list(columns)
    for name, values in columns.items():
        np.testing.assert_array_equal(pandas[name].to_numpy(), values)
        np.testing.assert_array_equal(polars[name].to_numpy(), values)
    assert polars["cwnd_bytes"].null_count() == pandas["cwnd_bytes"].isna().sum() > 0
    with pytest.raises(KeyError, match="no table 'nope'"):
        mixed.to_pandas("nope")


def test_a_missing_library_has_a_message(mixed: wt.RunResult, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pandas or Polars, one message says what to install."""
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=rf"to_{name} needs {name}.*pip install {name}"):
            getattr(mixed, f"to_{name}")("flows")


def test_plot(mixed: wt.RunResult) -> None:
    """A figure of the chosen panels, which a notebook shows as PNG."""
    figure = mixed.plot(["cwnd"], span=(0.5, 1.5), title="A window")
    (axes,) = figure.axes
    assert axes.get_xlim() == (0.5, 1.5)
    assert figure._repr_png_().startswith(b"\x89PNG\r\n\x1a\n")  # type: ignore[attr-defined]
    assert len(mixed.plot().axes) == 4
    assert len(mixed.plot(flent=True).axes) > 1
    with pytest.raises(wt.InputError, match="no panel 'cwn'"):
        mixed.plot(["cwn"])
    with pytest.raises(wt.InputError, match="flent"):
        mixed.plot(["cwnd"], flent=True)


def test_a_page_in_a_notebook(mixed: wt.RunResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of the folder is in a frame of its own, in a sandbox; one that is too large is not shown."""
    html = mixed._repr_html_()
    match = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="([^"]*)" style="[^"]*"></iframe>', html)
    assert match is not None
    assert "allow-same-origin" not in match[2]
    mixed.save(tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    # The title is that of the folder, since the scenario has none.
    assert unescape(match[1]) == page
    monkeypatch.setattr(notebook, "LARGEST_PAGE", 1000)
    assert "too much for a notebook" in mixed._repr_html_()
