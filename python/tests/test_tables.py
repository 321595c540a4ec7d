"""Tables of results in other libraries, and results in notebooks."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import windtunnel as wt
from windtunnel import _core, notebook
from windtunnel.contract import read_columns, read_table
from windtunnel.extras import EXTRAS, MissingExtraError
from windtunnel.table import masked, stored
from windtunnel.texts import Texts

REPOSITORY = Path(__file__).parents[2]


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


def every_kind(rows: int) -> wt.Table:
    """A table with columns of each kind, with values at the ends of their ranges, and with gaps where there can be."""
    draw = np.random.default_rng(3)
    gaps = draw.random(rows) < 0.2
    numbers = draw.standard_normal(rows) * 10.0 ** draw.integers(-30, 30, rows)
    numbers[:7] = (0.0, -0.0, 5e-324, 1e10, 9999999999.5, 1e-6, 9.99e-7)
    content = np.empty(rows, dtype=np.object_)
    content[:] = [draw.bytes(n % 5) for n in range(rows)]
    whole = {
        kind: draw.integers(np.iinfo(kind).min, np.iinfo(kind).max, rows, kind, endpoint=True)
        for kind in ("u8", "u4", "i4", "u1", "i8")
    }
    return wt.Table({
        "x": np.where(draw.random(rows) < 0.1, np.nan, numbers),
        **whole,
        "truth": draw.random(rows) < 0.5,
        "seed": masked(whole["u8"], gaps),
        "count": masked(whole["i8"], gaps),
        "maybe": masked(draw.random(rows) < 0.5, gaps),
        "text": Texts(draw.integers(-1, 5, rows, np.int32), ["a", "", 'say "b", c', "\u00e9\n", "=1+1"]),
        "content": content,
    })  # fmt: skip


def plain(table: wt.Table) -> list[dict[str, Any]]:
    """Its rows, as Python has them; all zeros are the same there, but not here."""
    return [{name: repr(value) for name, value in row.items()} for row in table.records()]


def test_files_are_read_back(tmp_path: Path) -> None:
    """What we write, pyarrow reads with the types and values that it would have written, and we read back: Parquet
    in one group or several, with and without checksums, and CSV to the byte.
    """
    table = every_kind(1000)
    arrow = table.to_arrow()
    arrow.validate(full=True)
    expected = pa.table({
        name: pa.array(column.tolist(), pa.string()) if isinstance(column, Texts)
        else pa.array(column.tolist(), pa.large_binary()) if column.dtype == np.object_
        else pa.array(column.tolist(), pa.from_numpy_dtype(column.dtype), from_pandas=True)
        for name, column in table.items()
    })  # fmt: skip
    assert arrow.equals(expected)
    _core.write_table(tmp_path / "one.parquet", stored(table))
    writer = _core.TableWriter(tmp_path / "several.parquet", ["text"])
    for first in range(0, 1000, 300):
        writer.write(stored(table.part(slice(first, first + 300))))
    writer.finish()
    in_file = expected.schema.set(len(table) - 1, pa.field("content", pa.binary()))
    coded = in_file.set(len(table) - 2, pa.field("text", pa.dictionary(pa.int32(), pa.string())))
    for name, schema in (("one", in_file), ("several", coded)):
        file = tmp_path / f"{name}.parquet"
        read = pq.read_table(file, page_checksum_verification=True)
        assert read.schema.remove_metadata() == schema
        assert read.cast(expected.schema).equals(expected)
        again = read_columns(file, {"x": "double", "text": "string", "maybe": "bool"})
        assert plain(again) == plain(table)
        assert plain(read_columns(file, {}, only=["text"])) == plain(table.part(slice(None), ["text"]))
    assert pq.ParquetFile(tmp_path / "several.parquet").num_row_groups == 4
    _core.write_csv(tmp_path / "one.csv", stored(table.part(slice(0, 600))))
    _core.write_csv(tmp_path / "one.csv", stored(table.part(slice(600, None))), append=True)
    digits = pa.array([value.hex() for value in table["content"].tolist()], pa.string())
    csv.write_csv(arrow.set_column(len(table) - 1, "content", digits), tmp_path / "other.csv")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()


def test_files_of_others_are_read(tmp_path: Path) -> None:
    """Tables that pyarrow wrote, as older versions of windtunnel did, with any of its encodings and other integers."""
    table = every_kind(500)
    arrow = table.to_arrow()
    index = arrow.column_names.index("text")
    arrow = arrow.set_column(index, "text", arrow["text"].dictionary_encode())
    for number, options in enumerate((
        {}, {"compression": "zstd", "write_page_checksum": True}, {"data_page_version": "2.0"},
        {"use_dictionary": False, "compression": "none"}, {"row_group_size": 77}, {"use_byte_stream_split": ["x"],
        "use_dictionary": ["text"]},
    )):  # fmt: skip
        file = tmp_path / f"{number}.parquet"
        pq.write_table(arrow, file, **options)
        assert plain(read_columns(file, {"text": "string", "seed": "uint64"})) == plain(table)
    small = pa.table({"i": pa.array([-3, 4], pa.int16()), "f": pa.array([0.5, 1], pa.float32())})
    pq.write_table(small, tmp_path / "small.parquet")
    assert {name: column.dtype for name, column in read_table(tmp_path / "small.parquet").items()} == {
        "i": np.int16, "f": np.float32,
    }  # fmt: skip
    odd = pa.table({"when": pa.array([1], pa.timestamp("s")), "several": [[1, 2]], "parts": [{"a": 1}]})
    pq.write_table(odd, tmp_path / "odd.parquet")
    for name, kind in (("when", "timestamp"), ("several", "list"), ("parts", "struct")):
        with pytest.raises(wt.InputError, match=f"column `{name}` holds {kind}"):
            read_columns(tmp_path / "odd.parquet", {name: "double"})


def test_tables_of_records() -> None:
    """A column has the type of its values; what is missing is None again."""
    records = [
        {"a": 1, "b": None, "c": "x", "d": True, "e": 0.5, "f": None, "g": 1 << 63},
        {"a": None, "b": 2, "c": None, "d": None, "e": 1, "f": None, "g": 0},
    ]
    table = wt.Table.from_records(records)
    assert table.records() == records
    assert [getattr(column, "dtype", "text") for column in table.values()] == [
        np.int64, np.int64, "text", np.bool_, np.float64, np.float64, np.uint64,
    ]  # fmt: skip
    assert wt.Table.from_records([], {"a": int, "c": str}).records() == []
    words = Texts.of(["b", None, "a", "b"])
    assert words.among(["a", "b", "c"]).tolist() == [1, -1, 0, 1] and words.among([]).tolist() == [-1] * 4


def test_extras_are_those_of_the_package() -> None:
    """Messages know the extras that the package has, and their versions."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {name: list(each) for name, each in EXTRAS.items()} == project["optional-dependencies"]


def test_bytes_in_arrow() -> None:
    """Bytes of any length; `pyarrow`'s own conversion is the expectation."""
    contents = [b"", b"a", bytes(range(256)), b"\0"]
    for values in (contents, []):
        column = np.empty(len(values), dtype=np.object_)
        column[:] = values
        table = wt.Table({"content": column}).to_arrow()
        table.validate(full=True)
        assert table.equals(pa.table({"content": pa.array(values, pa.large_binary())}))


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
    """Without pandas, Polars, pyarrow or Matplotlib, one message says what to install."""
    uses: dict[str, Callable[[], object]] = {
        "pandas": lambda: mixed.to_pandas("flows"), "polars": lambda: mixed.to_polars("flows"),
        "pyarrow": lambda: mixed.table("flows"), "matplotlib": mixed.plot,
    }  # fmt: skip
    for name, use in uses.items():
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(
            MissingExtraError, match=rf"needs {name}, which is not installed: pip install .*'{name}>="
        ) as e:
            use()
        assert isinstance(e.value, wt.InputError) and isinstance(e.value, ImportError)


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
