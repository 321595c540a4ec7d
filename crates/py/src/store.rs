//! Tables in files, for Python.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use numpy::{Element, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods, dtype};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use windtunnel_store::{Keys, Parts, Same, TableFile, Values, merge, to_io};

use crate::packets::to_python;

/// Writes a table as Parquet. `run` are columns that are the same in every row, before all others; `names` are, by
/// column of indices, the name of the column that names them and its names; `about` is what the file says about itself.
#[pyfunction]
#[pyo3(signature = (path, columns, run, names, about=BTreeMap::new()))]
pub(crate) fn write_table(
    py: Python<'_>,
    path: PathBuf,
    columns: Vec<(String, Bound<'_, PyAny>)>,
    run: Vec<(String, PySame)>,
    names: BTreeMap<String, (String, Vec<String>)>,
    about: BTreeMap<String, String>,
) -> PyResult<()> {
    let held = columns.iter().map(|(name, column)| Ok((name.as_str(), Held::new(py, name, column)?)));
    let held: Vec<(&str, Held<'_>)> = held.collect::<PyResult<_>>()?;
    let bytes: Vec<Vec<&[u8]>> = held.iter().map(|(_, column)| column.bytes()).collect();
    let columns = held.iter().zip(&bytes).map(|((name, column), bytes)| Ok((*name, column.values(bytes)?)));
    let columns: Vec<(&str, Values<'_>)> = columns.collect::<PyResult<_>>()?;
    let keys = Keys {
        run: run.into_iter().map(|(name, same)| (name, same.into())).collect(),
        names: names.into_iter().map(|(of, (name, names))| (of, name, names)).collect(),
    };
    let write = || {
        let mut file = TableFile::create(&path, &columns, keys)?;
        file.write(&columns)?;
        for (key, value) in &about {
            file.say(key, value);
        }
        file.finish()
    };
    py.detach(write).map_err(|error| to_python(to_io(error)))
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
}

impl<'py> Held<'py> {
    fn new(py: Python<'py>, name: &str, column: &Bound<'py, PyAny>) -> PyResult<Held<'py>> {
        fn is<T: Element>(py: Python<'_>, array: &Bound<'_, PyUntypedArray>) -> bool {
            array.dtype().is_equiv_to(&dtype::<T>(py))
        }
        use numpy::PyArrayDescrMethods;
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

    fn bytes(&self) -> Vec<&[u8]> {
        match self {
            Held::Binary(values) => values.iter().map(|value| &**value).collect(),
            _ => Vec::new(),
        }
    }

    /// `bytes` are its [`Held::bytes`].
    fn values<'a>(&'a self, bytes: &'a [&'a [u8]]) -> PyResult<Values<'a>> {
        Ok(match self {
            Held::F64(v) => Values::F64(v.as_slice()?),
            Held::U64(v) => Values::U64(v.as_slice()?),
            Held::I64(v) => Values::I64(v.as_slice()?),
            Held::U32(v) => Values::U32(v.as_slice()?),
            Held::I32(v) => Values::I32(v.as_slice()?),
            Held::U8(v) => Values::U8(v.as_slice()?),
            Held::Bool(v) => Values::Bool(v.as_slice()?),
            Held::Binary(_) => Values::Binary(bytes),
        })
    }
}
