//! The registry of this process: windtunnel's own algorithms, and the controllers that Python adds.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString, PyType};
use windtunnel_scenario::{ForeignAlgorithm, ForeignParameter, ForeignValue, Registry};
use windtunnel_units::Bytes;

use crate::controller::PyControllerParams;

/// Readers copy the handle and release the lock, so that reading may call Python code that registers more algorithms.
static REGISTRY: LazyLock<Mutex<Arc<Registry>>> = LazyLock::new(|| Mutex::new(Arc::new(built_in())));

/// The algorithms and stacks that are compiled in.
fn built_in() -> Registry {
    let mut registry = Registry::default();
    #[cfg(feature = "quic")]
    windtunnel_quic::visit(&mut registry);
    windtunnel_emulate::visit(&mut registry);
    registry
}

fn locked() -> MutexGuard<'static, Arc<Registry>> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The registry as it is now.
pub(crate) fn current() -> Arc<Registry> {
    Arc::clone(&locked())
}

/// `(name, default, description)`.
type PyParameter<'py> = (String, Bound<'py, PyAny>, String);

#[pyfunction]
#[pyo3(signature = (name, class, summary, source, parameters, replace=false))]
pub(crate) fn register_controller(
    name: String,
    class: Bound<'_, PyType>,
    summary: String,
    source: String,
    parameters: Vec<PyParameter<'_>>,
    replace: bool,
) -> PyResult<()> {
    let parameters = parameters
        .into_iter()
        .map(|(name, default, description)| {
            Ok(ForeignParameter { default: value(&name, &default)?, name, description })
        })
        .collect::<PyResult<Vec<_>>>()?;
    let names: Arc<[String]> = parameters.iter().map(|parameter| parameter.name.clone()).collect();
    let (kind, origin, class) = (name.clone(), source.clone(), class.unbind());
    let algorithm = ForeignAlgorithm {
        name,
        summary,
        source,
        parameters,
        read: Box::new(move |values| {
            let values = names.iter().cloned().zip(values).collect();
            Python::attach(|py| PyControllerParams::read(py, &kind, &origin, &class, values))
        }),
    };
    let mut registry = locked();
    let mut changed = Registry::clone(&registry);
    changed
        .register_foreign_controller(algorithm, replace)
        .map_err(|e| PyValueError::new_err(e.to_string()))?;
    *registry = Arc::new(changed);
    Ok(())
}

#[pyfunction]
pub(crate) fn allow_library(path: PathBuf) -> PyResult<()> {
    let mut registry = locked();
    let mut changed = Registry::clone(&registry);
    changed.allow_library(&path)?;
    *registry = Arc::new(changed);
    Ok(())
}

/// A default of Python as a value of a scenario; a quantity is given as its text in a tuple: `("5 ms",)`.
fn value(name: &str, default: &Bound<'_, PyAny>) -> PyResult<ForeignValue> {
    // In Python, True and False are also integers.
    if default.is_instance_of::<PyBool>() {
        return Ok(ForeignValue::Boolean(default.extract()?));
    }
    if default.is_instance_of::<PyInt>() {
        return Ok(ForeignValue::Integer(default.extract()?));
    }
    if default.is_instance_of::<PyFloat>() {
        return Ok(ForeignValue::Number(default.extract()?));
    }
    if default.is_instance_of::<PyString>() {
        return Ok(ForeignValue::Text(default.extract()?));
    }
    if let Ok((text,)) = default.extract::<(String,)>() {
        return quantity_of(&text);
    }
    let what = default.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "parameter `{name}`: a default is True or False, a number, a text or a quantity(), not {what}"
    )))
}

fn quantity_of(text: &str) -> PyResult<ForeignValue> {
    ForeignValue::quantity(text).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{text:?} is not a quantity: write a time, an amount of data or a rate with its unit, such as \"5 ms\""
        ))
    })
}

#[pyfunction]
pub(crate) fn size(text: &str) -> PyResult<u64> {
    text.parse::<Bytes>().map(Bytes::get).map_err(|error| PyValueError::new_err(error.to_string()))
}

#[pyfunction]
pub(crate) fn quantity(text: &str) -> PyResult<f64> {
    Ok(match quantity_of(text)? {
        ForeignValue::Time(time) => time.as_secs_f64(),
        ForeignValue::Bytes(bytes) => bytes.get() as f64,
        ForeignValue::Rate(rate) => rate.bits_per_sec() as f64,
        _ => unreachable!("quantities are times, amounts of data and rates"),
    })
}
