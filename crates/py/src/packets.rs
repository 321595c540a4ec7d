//! A part of the table `packets` as columns that exporters read.

use std::io;

use numpy::{Element, PyReadonlyArray1};
use pyo3::exceptions::{PyKeyError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use windtunnel_export::pcapng::Packets;

/// Calls `write` with a part of the table, while the interpreter is free for others.
pub(crate) fn with_packets(
    py: Python<'_>,
    part: &Bound<'_, PyDict>,
    write: impl FnOnce(&Packets<'_>) -> io::Result<()> + Send,
) -> PyResult<()> {
    /// Borrows the columns of the arrays as a table, and keeps the arrays alive.
    macro_rules! borrow {
        ($table:ident: $($name:ident),* $(,)?) => {
            $(let $name = column(part, stringify!($name))?;)*
            let $table = Packets { $($name: $name.as_slice()?),* };
        };
    }
    #[rustfmt::skip]
    borrow!(
        table: t_ns, tap, queue, flow, connection, dir, proto, id, copy_of, size, payload, seq, ack, flags, ecn, dscp, ts_val_ns,
        ts_ecr_ns, window, window_scale, sack_n, sack1_start, sack1_end, sack2_start, sack2_end, sack3_start, sack3_end, sack4_start, sack4_end,
        mds, ack_rate, accecn_kind, accecn_n, accecn1, accecn2, accecn3,
        drop, retransmission, cwnd, ssthresh, srtt_ns, state, limit, in_flight,
    );
    py.detach(|| write(&table)).map_err(to_python)
}

/// What an exporter could not write.
pub(crate) fn to_python(error: io::Error) -> PyErr {
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::InvalidData, _) => PyValueError::new_err(error.to_string()),
        // Includes the error number, from which Python chooses the exception class.
        (_, Some(number)) => PyOSError::new_err((number, error.to_string())),
        _ => error.into(),
    }
}

fn column<'py, T: Element>(part: &Bound<'py, PyDict>, name: &str) -> PyResult<PyReadonlyArray1<'py, T>> {
    let column =
        part.get_item(name)?.ok_or_else(|| PyKeyError::new_err(format!("packets has no column {name}")))?;
    column.extract().map_err(|e: PyErr| PyValueError::new_err(format!("column {name}: {e}")))
}
