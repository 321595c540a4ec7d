//! The record of a TCP sender besides its flow's: its hidden state at the end of each interval.
//!
//! The recorder reads it at its tick, so that it costs nothing per packet. Loss-free endpoints, datagrams and flows
//! that stand for many connections have no such state.

use windtunnel_tcp::TcpInfo;
use windtunnel_units::{Bytes, Duration, Rate};

use super::columns::{Column, Rows, Table, columns};
use super::flow_series::FlowColumns;
use super::outlet::Outlet;

columns! {
    /// Further columns of the flows' rows; NaN where a value does not exist.
    pub(crate) struct TcpColumns as "flows" {
        delivery_rate_mbps: F64(f64),
        pacing_rate_mbps: F64(f64),
        ssthresh_bytes: F64(f64),
        rttvar_ms: F64(f64),
        rto_ms: F64(f64),
        backoff: F64(f64),
        consecutive_rtos: F64(f64),
        state: F64(f64),
        unacked_bytes: F64(f64),
        sacked_bytes: F64(f64),
        lost_bytes: F64(f64),
        retrans_out_bytes: F64(f64),
        reordering: F64(f64),
    }
}

impl TcpColumns {
    /// The row of a flow: the state that its sender reports, or none.
    pub(super) fn push(&mut self, info: Option<&TcpInfo>) {
        if !self.has_room(1) {
            return;
        }
        let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let of = |get: fn(&TcpInfo) -> f64| or_nan(info.map(get));
        let mbps = |get: fn(&TcpInfo) -> Option<Rate>| or_nan(info.and_then(get).map(Rate::as_mbps));
        self.delivery_rate_mbps.push(mbps(|info| info.delivery_rate));
        self.pacing_rate_mbps.push(mbps(|info| info.pacing_rate));
        self.ssthresh_bytes.push(or_nan(info.and_then(|info| info.ssthresh).map(Bytes::as_f64)));
        self.rttvar_ms.push(or_nan(info.and_then(|info| info.rttvar).map(Duration::as_millis_f64)));
        self.rto_ms.push(of(|info| info.rto.as_millis_f64()));
        self.backoff.push(of(|info| f64::from(info.backoff)));
        self.consecutive_rtos.push(of(|info| f64::from(info.consecutive_rtos)));
        self.state.push(of(|info| f64::from(info.state as u8)));
        self.unacked_bytes.push(of(|info| info.unacked.as_f64()));
        self.sacked_bytes.push(of(|info| info.sacked.as_f64()));
        self.lost_bytes.push(of(|info| info.lost.as_f64()));
        self.retrans_out_bytes.push(of(|info| info.retrans_out.as_f64()));
        self.reordering.push(or_nan(info.and_then(|info| info.reordering).map(f64::from)));
    }
}

/// The rows of all flows. In a run with only loss-free endpoints nothing was pushed into `tcp`.
pub(super) fn flow_table(mut flows: FlowColumns, mut tcp: TcpColumns) -> Table {
    table(&mut flows, &mut tcp)
}

/// Hands over the rows of all flows, if they are many.
pub(super) fn hand_over(flows: &mut FlowColumns, tcp: &mut TcpColumns, outlet: &mut Outlet) {
    if outlet.takes(flows.count()) {
        let table = table(flows, tcp);
        outlet.give(&table);
        let gone = table.rows();
        let mut columns = table.columns.into_iter().map(|(_, column)| column);
        flows.take_back(&mut columns, gone);
        tcp.take_back(&mut columns, gone);
    }
}

fn table(flows: &mut FlowColumns, tcp: &mut TcpColumns) -> Table {
    let mut table = flows.lend();
    let rows = table.rows();
    let mut more = tcp.lend().columns;
    for (_, column) in &mut more {
        if let Column::F64(values) = column {
            values.resize(rows, f64::NAN);
        }
    }
    table.columns.extend(more);
    table
}
