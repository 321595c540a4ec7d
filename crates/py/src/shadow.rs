//! Shadows of a connection's controller, for Python.

use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use windtunnel_trace::shadow::{Adopts, Heard, HeardAcks, HeardSends, Story};

use crate::trace::column;

#[pyfunction]
#[pyo3(signature = (sends, acks, connection, unused, scenario, each_loss = true))]
pub(crate) fn follow<'py>(
    py: Python<'py>,
    sends: &Bound<'py, PyDict>,
    acks: &Bound<'py, PyDict>,
    connection: (u64, Option<u64>, bool),
    unused: PyReadonlyArray1<'py, bool>,
    scenario: &str,
    each_loss: bool,
) -> PyResult<Bound<'py, PyDict>> {
    macro_rules! borrow {
        ($table:ident: $($name:ident: $kind:ty),*) => { $(let $name = column::<$kind>($table, stringify!($name))?;)* };
    }
    let (mss, handshake_ns, answers_at_once) = connection;
    let story = {
        borrow!(sends: t_ns: u64, seq: u64, payload: u32, kind: u8, in_flight: u64, round: u32, back_ns: u64);
        let sent = HeardSends {
            t_ns: t_ns.as_slice()?,
            seq: seq.as_slice()?,
            payload: payload.as_slice()?,
            kind: kind.as_slice()?,
            in_flight: in_flight.as_slice()?,
            round: round.as_slice()?,
            back_ns: back_ns.as_slice()?,
        };
        borrow!(acks: t_ns: u64, ack: u64, acked: u64, delivered: u64, rtt_ns: u64, in_flight: u64, round: u32, kind: u8, marked: bool);
        let heard = HeardAcks {
            t_ns: t_ns.as_slice()?,
            ack: ack.as_slice()?,
            acked: acked.as_slice()?,
            delivered: delivered.as_slice()?,
            rtt_ns: rtt_ns.as_slice()?,
            in_flight: in_flight.as_slice()?,
            round: round.as_slice()?,
            kind: kind.as_slice()?,
            marked: marked.as_slice()?,
        };
        Story::new(&Heard {
            mss,
            handshake_ns,
            answers_at_once,
            sends: sent,
            acks: heard,
            unused: unused.as_slice()?,
        })
    };
    let scenario = crate::parse(py, scenario, None, &[], &[], true)?;
    let shadows = scenario.flows.iter().filter_map(|flow| Some((flow.name.as_str(), flow.controller()?)));
    let adopts = if each_loss { Adopts::EachLoss } else { Adopts::FirstLoss };
    let followed: Vec<_> =
        shadows.map(|(name, params)| (name, py.detach(|| story.follow(params, adopts)))).collect();
    let (out, windows, after) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
    for (name, followed) in followed {
        windows.set_item(name, followed.window.into_pyarray(py))?;
        after.set_item(name, followed.after.into_pyarray(py))?;
    }
    out.set_item("window", windows)?;
    out.set_item("after", after)?;
    out.set_item("flight", story.flight.into_pyarray(py))?;
    out.set_item("stretches", story.stretches)?;
    let episodes =
        story.episodes.iter().map(|e| (e.round, e.before, e.after, e.cause as u8)).collect::<Vec<_>>();
    out.set_item("episodes", episodes)?;
    Ok(out)
}
