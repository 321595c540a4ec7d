//! The xplot exporter for Python.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use windtunnel_export::xplot::{Colour, Series, Symbol, plot};

type PySeries<'py> = (String, String, PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>);

#[pyfunction]
pub(crate) fn xplot(
    title: &str,
    x_label: &str,
    y_label: &str,
    series: Vec<PySeries<'_>>,
) -> PyResult<String> {
    let mut points = Vec::with_capacity(series.len());
    for (colour, symbol, x, y) in &series {
        let colour = Colour::named(colour)
            .ok_or_else(|| PyValueError::new_err(format!("`{colour}` is not a colour of xplot")))?;
        let symbol = match symbol.as_str() {
            "dot" => Symbol::Dot,
            "x" => Symbol::X,
            other => return Err(PyValueError::new_err(format!("`{other}` is not a symbol: dot or x"))),
        };
        points.push(Series { colour, symbol, x: x.as_slice()?, y: y.as_slice()? });
    }
    Ok(plot(title, x_label, y_label, &points))
}
