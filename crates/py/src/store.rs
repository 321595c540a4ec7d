//! Tables in files, for Python.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use numpy::{Element, IntoPyArray, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods, dtype};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyBytes, PyTuple};
use windtunnel_store::{
    Array, ByteArray, Keys, ParquetError, Parts, Read, Same, TableFile, TableParts, TableReader as Opened,
    Values, merge, to_io, write_head, write_rows,
};

use crate::packets::to_python;
use crate::panics::caught;

/// Writes a table as Parquet. `run` are columns that are the same in every row, before all others; `names` are, by
/// column of indices, the name of the column that names them and its names; `about` is what the file says about itself.
#[pyfunction]
#[pyo3(signature = (path, columns, run=Vec::new(), names=BTreeMap::new(), about=BTreeMap::new()))]
pub(crate) fn write_table(
    py: Python<'_>,
    path: PathBuf,
    columns: Vec<(String, Bound<'_, PyAny>)>,
    run: Vec<(String, PySame)>,
    names: BTreeMap<String, (String, Vec<String>)>,
    about: BTreeMap<String, String>,
) -> PyResult<()> {
    let keys = Keys {
        run: run.into_iter().map(|(name, same)| (name, same.into())).collect(),
        names: names.into_iter().map(|(of, (name, names))| (of, name, names)).collect(),
    };
    with_columns(py, &columns, |columns| {
        let mut file = TableFile::create(&path, columns, keys)?;
        file.write(columns)?;
        for (key, value) in &about {
            file.say(key, value);
        }
        file.finish()
    })
}

/// Writes a table group by group, with checksums. `coded` are the columns of texts that are dictionaries to Arrow.
#[pyclass(frozen, module = "windtunnel._core")]
pub(crate) struct TableWriter {
    path: PathBuf,
    coded: Vec<String>,
    file: Mutex<Option<TableFile>>,
}

#[pymethods]
impl TableWriter {
    #[new]
    #[pyo3(signature = (path, coded=Vec::new()))]
    fn new(path: PathBuf, coded: Vec<String>) -> TableWriter {
        TableWriter { path, coded, file: Mutex::new(None) }
    }

    /// Appends rows as a group.
    fn write(&self, py: Python<'_>, columns: Vec<(String, Bound<'_, PyAny>)>) -> PyResult<()> {
        with_columns(py, &columns, |columns| {
            let mut held = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            if held.is_none() {
                let mut file = TableFile::create(&self.path, columns, Keys::default())?.checked();
                if !self.coded.is_empty() {
                    file.code(columns, &self.coded.iter().map(String::as_str).collect::<Vec<_>>());
                }
                *held = Some(file);
            }
            let file = held.as_mut().expect("made above");
            file.write_group(columns)
        })
    }

    /// Ends the file.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let finish =
            || self.file.lock().unwrap_or_else(PoisonError::into_inner).take().map(TableFile::finish);
        py.detach(finish).transpose().map_err(|error| to_python(to_io(error)))?;
        Ok(())
    }
}

/// Writes a table as CSV, or appends its rows to a file that has its head.
#[pyfunction]
#[pyo3(signature = (path, columns, append=false))]
pub(crate) fn write_csv(
    py: Python<'_>,
    path: PathBuf,
    columns: Vec<(String, Bound<'_, PyAny>)>,
    append: bool,
) -> PyResult<()> {
    with_columns(py, &columns, |columns| {
        let file = if append { File::options().append(true).open(&path) } else { File::create(&path) };
        let mut to = BufWriter::new(file?);
        if !append {
            write_head(&mut to, columns)?;
        }
        write_rows(&mut to, columns)?;
        Ok(to.flush()?)
    })
}

/// A Parquet file that is read.
#[pyclass(frozen, module = "windtunnel._core")]
pub(crate) struct TableReader {
    path: PathBuf,
    rows: usize,
    columns: Vec<(String, String)>,
}

#[pymethods]
impl TableReader {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<TableReader> {
        read(py, || {
            let reader = Opened::open(&path)?;
            let columns = reader.columns().map(|(name, kind)| (name.to_owned(), kind.name())).collect();
            Ok(TableReader { rows: reader.rows(), columns, path: path.clone() })
        })
    }

    /// How many rows the file has.
    #[getter]
    fn rows(&self) -> usize {
        self.rows
    }

    /// The names of its columns and their types, as Arrow calls them.
    #[getter]
    fn columns(&self) -> Vec<(String, String)> {
        self.columns.clone()
    }

    /// Its rows in their order, at most `rows` at a time, with the columns of these names.
    fn parts(&self, py: Python<'_>, names: Vec<String>, rows: usize) -> PyResult<PyTableParts> {
        let parts = read(py, || Opened::open(&self.path)?.parts(&names))?;
        Ok(PyTableParts { parts: Mutex::new(parts), rows, first: AtomicBool::new(true) })
    }
}

/// The parts of a table: of each the columns in the order in which they were asked for. There is always a first one.
#[pyclass(frozen, name = "TableParts", module = "windtunnel._core")]
pub(crate) struct PyTableParts {
    parts: Mutex<TableParts>,
    rows: usize,
    first: AtomicBool,
}

#[pymethods]
impl PyTableParts {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Vec<Py<PyAny>>>> {
        let part = read(py, || self.parts.lock().unwrap_or_else(PoisonError::into_inner).next(self.rows))?;
        let first = self.first.swap(false, Ordering::Relaxed);
        if !first && part.first().is_none_or(|column| column.array.is_empty()) {
            return Ok(None);
        }
        part.into_iter().map(|column| to_array(py, column)).collect::<PyResult<_>>().map(Some)
    }
}

/// What reads files, while the interpreter is free for others. Raises `OSError` or, for a damaged file, `ValueError`.
fn read<T: Send>(py: Python<'_>, read: impl FnOnce() -> Result<T, ParquetError> + Send) -> PyResult<T> {
    let done = py.detach(|| caught(read));
    let damaged = || Err(ParquetError::General("its pages and its metadata do not fit together".to_owned()));
    done.unwrap_or_else(damaged).map_err(|error| to_python(to_io(error)))
}

/// A column for Python: an array; an array and which of its values are missing; or places and words.
fn to_array(py: Python<'_>, column: Read) -> PyResult<Py<PyAny>> {
    let array = match column.array {
        Array::F64(v) => v.into_pyarray(py).into_any(),
        Array::F32(v) => v.into_pyarray(py).into_any(),
        Array::U64(v) => v.into_pyarray(py).into_any(),
        Array::I64(v) => v.into_pyarray(py).into_any(),
        Array::U32(v) => v.into_pyarray(py).into_any(),
        Array::I32(v) => v.into_pyarray(py).into_any(),
        Array::U16(v) => v.into_pyarray(py).into_any(),
        Array::I16(v) => v.into_pyarray(py).into_any(),
        Array::U8(v) => v.into_pyarray(py).into_any(),
        Array::I8(v) => v.into_pyarray(py).into_any(),
        Array::Bool(v) => v.into_pyarray(py).into_any(),
        Array::Binary(v) => {
            let bytes = |value: ByteArray| PyBytes::new(py, value.data()).into_any().unbind();
            v.into_iter().map(bytes).collect::<Vec<_>>().into_pyarray(py).into_any()
        }
        Array::Text(at, words) => {
            return Ok((at.into_pyarray(py), words.list).into_pyobject(py)?.into_any().unbind());
        }
    };
    if column.missing.is_empty() {
        return Ok(array.unbind());
    }
    Ok((array, column.missing.into_pyarray(py)).into_pyobject(py)?.into_any().unbind())
}

/// Calls `write` with the columns, while the interpreter is free for others.
fn with_columns(
    py: Python<'_>,
    columns: &[(String, Bound<'_, PyAny>)],
    write: impl FnOnce(&[(&str, Values<'_>)]) -> Result<(), ParquetError> + Send,
) -> PyResult<()> {
    let held = columns.iter().map(|(name, column)| Ok((name.as_str(), Held::new(py, name, column)?)));
    let held: Vec<(&str, Held<'_>)> = held.collect::<PyResult<_>>()?;
    let lent: Vec<Lent<'_>> = held.iter().map(|(_, column)| column.lend()).collect();
    let columns = held.iter().zip(&lent).map(|((name, column), lent)| Ok((*name, column.values(lent)?)));
    let columns: Vec<(&str, Values<'_>)> = columns.collect::<PyResult<_>>()?;
    py.detach(|| write(&columns)).map_err(|error| to_python(to_io(error)))
}

/// Writes the rows that leave a run. `make` returns the folder for them, which it makes; it is told the flows, by name
/// and controller, and the names of the queues. `columns` are those that name flows and queues, by the columns of their
/// indices.
pub(crate) fn parts(
    make: Py<PyAny>,
    columns: &BTreeMap<String, String>,
    flows: Vec<(String, String)>,
    queues: Vec<String>,
) -> Parts<impl FnMut() -> io::Result<PathBuf> + Send + use<>> {
    let names = columns.iter().map(|(of, column)| {
        let names = match of.as_str() {
            "flow" => flows.iter().map(|(name, _)| name.clone()).collect(),
            _ => queues.clone(),
        };
        (of.clone(), column.clone(), names)
    });
    let names = names.collect();
    let make =
        move || Python::attach(|py| Ok(make.call1(py, (flows.clone(), queues.clone()))?.extract(py)?));
    Parts::new(make, names)
}

/// Makes one Parquet file of the parts of a table, which are in their order; `run` and `about` as of [`write_table`].
#[pyfunction]
#[pyo3(signature = (path, parts, run, about=BTreeMap::new()))]
pub(crate) fn merge_parts(
    py: Python<'_>,
    path: PathBuf,
    parts: Vec<PathBuf>,
    run: Vec<(String, PySame)>,
    about: BTreeMap<String, String>,
) -> PyResult<()> {
    let run = run.into_iter().map(|(name, same)| (name, same.into())).collect();
    py.detach(|| merge(&parts, &path, run, &about)).map_err(|error| to_python(to_io(error)))
}

/// A text or a number that is the same in every row.
#[derive(FromPyObject)]
pub(crate) enum PySame {
    Text(String),
    Number(Option<u64>),
}

impl From<PySame> for Same {
    fn from(same: PySame) -> Same {
        match same {
            PySame::Text(text) => Same::Text(text),
            PySame::Number(number) => Same::Number(number),
        }
    }
}

/// A column of Python, which stays as it is while it is written.
enum Held<'py> {
    F64(PyReadonlyArray1<'py, f64>),
    U64(PyReadonlyArray1<'py, u64>),
    I64(PyReadonlyArray1<'py, i64>),
    U32(PyReadonlyArray1<'py, u32>),
    I32(PyReadonlyArray1<'py, i32>),
    U8(PyReadonlyArray1<'py, u8>),
    Bool(PyReadonlyArray1<'py, bool>),
    Binary(Vec<PyBackedBytes>),
    /// A column, and which of its values are missing.
    Gaps(Box<Held<'py>>, PyReadonlyArray1<'py, bool>),
    /// Places, and the words that are there.
    Text(PyReadonlyArray1<'py, i32>, Vec<PyBackedStr>),
}

/// What a column lends in lists of its own.
#[derive(Default)]
struct Lent<'a> {
    bytes: Vec<&'a [u8]>,
    words: Vec<&'a str>,
}

impl<'py> Held<'py> {
    fn new(py: Python<'py>, name: &str, column: &Bound<'py, PyAny>) -> PyResult<Held<'py>> {
        fn is<T: Element>(py: Python<'_>, array: &Bound<'_, PyUntypedArray>) -> bool {
            array.dtype().is_equiv_to(&dtype::<T>(py))
        }
        use numpy::PyArrayDescrMethods;
        if let Ok(pair) = column.cast::<PyTuple>() {
            let (of, with) = (pair.get_item(0)?, pair.get_item(1)?);
            return Ok(match with.extract() {
                Ok(missing) => Held::Gaps(Box::new(Held::new(py, name, &of)?), missing),
                Err(_) => Held::Text(of.extract()?, with.extract()?),
            });
        }
        let array = column.cast::<PyUntypedArray>()?;
        Ok(match () {
            () if is::<f64>(py, array) => Held::F64(column.extract()?),
            () if is::<u64>(py, array) => Held::U64(column.extract()?),
            () if is::<i64>(py, array) => Held::I64(column.extract()?),
            () if is::<u32>(py, array) => Held::U32(column.extract()?),
            () if is::<i32>(py, array) => Held::I32(column.extract()?),
            () if is::<u8>(py, array) => Held::U8(column.extract()?),
            () if is::<bool>(py, array) => Held::Bool(column.extract()?),
            () if is::<Py<PyAny>>(py, array) => Held::Binary(column.extract()?),
            () => {
                return Err(PyTypeError::new_err(format!("column {name}: no table holds {}", array.dtype())));
            }
        })
    }

    fn lend(&self) -> Lent<'_> {
        match self {
            Held::Binary(values) => {
                Lent { bytes: values.iter().map(|value| &**value).collect(), ..Lent::default() }
            }
            Held::Text(_, words) => {
                Lent { words: words.iter().map(|word| &**word).collect(), ..Lent::default() }
            }
            _ => Lent::default(),
        }
    }

    /// `lent` is what it lends.
    fn values<'a>(&'a self, lent: &'a Lent<'a>) -> PyResult<Values<'a>> {
        Ok(match self {
            Held::F64(v) => Values::F64(v.as_slice()?),
            Held::U64(v) => Values::U64(v.as_slice()?),
            Held::I64(v) => Values::I64(v.as_slice()?),
            Held::U32(v) => Values::U32(v.as_slice()?),
            Held::I32(v) => Values::I32(v.as_slice()?),
            Held::U8(v) => Values::U8(v.as_slice()?),
            Held::Bool(v) => Values::Bool(v.as_slice()?),
            Held::Binary(_) => Values::Binary(&lent.bytes),
            Held::Text(at, _) => Values::Text(at.as_slice()?, &lent.words),
            Held::Gaps(column, missing) => {
                let gaps = missing.as_slice()?;
                match column.values(lent)? {
                    Values::U64(v) if v.len() == gaps.len() => Values::GapsU64(v, gaps),
                    Values::I64(v) if v.len() == gaps.len() => Values::GapsI64(v, gaps),
                    Values::Bool(v) if v.len() == gaps.len() => Values::GapsBool(v, gaps),
                    _ => return Err(PyTypeError::new_err("no table has such gaps")),
                }
            }
        })
    }
}
