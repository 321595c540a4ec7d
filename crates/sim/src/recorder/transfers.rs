//! Each transfer, and completion times by size.
//!
//! Short and long transfers are limited by different things (round trips, or the rate), so their times are separated
//! by size and also given as slowdown, which makes transfers of different sizes comparable (pFabric: Alizadeh et al.,
//! "pFabric: Minimal Near-Optimal Datacenter Transport", SIGCOMM 2013): the completion time divided by the least time
//! on an empty path,
//!
//! ```text
//! base RTT + size / bottleneck rate
//! ```
//!
//! where the size is that of the data alone, and the rate is the least one of the links on the way of the data at the
//! start of the run (for a trace, its mean). Handshake, headers and slow start are part of the slowdown.
//!
//! Memory grows with the number of transfers. All are kept, so that percentiles are exact.

use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::budget::Budget;
use super::columns::{Rows, Table, columns};
use super::frames::Frame;
use crate::application::{ApplicationConfig, Protocol};
use crate::network::{FlowSpec, Network, PathHop};
use crate::result::{Percentiles, SizeClassSummary};

columns! {
    /// One row per completed transfer, in order of completion.
    pub(super) struct TransferColumns as "transfers" {
        flow: U32(u32),
        start_s: F64(f64),
        end_s: F64(f64),
        size_bytes: U64(u64),
        time_ms: F64(f64),
        slowdown: F64(f64),
    }
}

/// The upper limits of the size classes, inclusive; the last class has no limit.
const CLASSES: [u64; 4] = [10_000, 100_000, 1_000_000, 10_000_000];

/// The transfers of a run.
#[derive(Debug)]
pub(super) struct Transfers {
    rows: TransferColumns,
    /// The ways of flows, each once where neighbours have the same.
    paths: Vec<EmptyPath>,
    /// Which of them a flow has.
    path_of: Vec<u32>,
    /// Some flow makes transfers.
    any: bool,
}

/// The duration on an empty path.
#[derive(Clone, Copy, Debug, PartialEq)]
struct EmptyPath {
    base_rtt: Duration,
    /// None if no link limits it.
    bottleneck: Option<Rate>,
}

impl EmptyPath {
    fn of(flow: &FlowSpec, network: &Network) -> EmptyPath {
        let rates = flow.forward.iter().filter_map(|hop| match hop {
            PathHop::Link(link) => Some(network.links[*link].rate.mean()),
            PathHop::Delay(_) | PathHop::Element(_) => None,
        });
        EmptyPath { base_rtt: flow.base_rtt, bottleneck: rates.min() }
    }

    fn time(&self, size: Bytes) -> Duration {
        self.base_rtt + self.bottleneck.map_or(Duration::ZERO, |rate| rate.transfer_time(size))
    }
}

impl Transfers {
    pub(super) fn new(network: &Network, budget: &Budget) -> Transfers {
        let makes_transfers = |flow: &FlowSpec| {
            let endless = matches!(flow.application, ApplicationConfig::Bulk);
            flow.application.protocol() != Protocol::Udp && !endless
        };
        let mut paths: Vec<EmptyPath> = Vec::new();
        let mut path_of = |flow: &FlowSpec| {
            let path = EmptyPath::of(flow, network);
            if paths.last() != Some(&path) {
                paths.push(path);
            }
            paths.len() as u32 - 1
        };
        Transfers {
            rows: TransferColumns::within(budget),
            path_of: network.flows.iter().map(&mut path_of).collect(),
            paths,
            any: network.flows.iter().any(makes_transfers),
        }
    }

    /// An empty record of the same flows.
    pub(super) fn twin(&self, budget: &Budget) -> Transfers {
        Transfers {
            rows: TransferColumns::within(budget),
            paths: self.paths.clone(),
            path_of: self.path_of.clone(),
            any: self.any,
        }
    }

    #[inline]
    pub(super) const fn count(&self) -> usize {
        self.rows.flow.len()
    }

    pub(super) fn rows(&mut self) -> &mut TransferColumns {
        &mut self.rows
    }

    pub(super) fn completed(&mut self, now: Time, series: usize, start: Time, size: Bytes) {
        let time = now.since(start);
        let rows = &mut self.rows;
        if !rows.has_room(1) {
            return;
        }
        rows.flow.push(series as u32);
        rows.start_s.push(start.as_secs_f64());
        rows.end_s.push(now.as_secs_f64());
        rows.size_bytes.push(size.get());
        rows.time_ms.push(time.as_millis_f64());
        rows.slowdown.push(time.ratio(self.paths[self.path_of[series] as usize].time(size)));
    }

    /// The completed transfers in `from..to`, by flow.
    pub(super) fn within(&self, from: Time, to: Time) -> BySize<'_> {
        let columns = &self.rows;
        let span = from.as_secs_f64()..to.as_secs_f64();
        let in_span = |row: &u32| span.contains(&columns.end_s[*row as usize]);
        let mut rows: Vec<u32> = (0..columns.flow.len() as u32).filter(in_span).collect();
        rows.sort_by_key(|row| columns.flow[*row as usize]);
        BySize { columns, rows }
    }

    /// The frames of each of `flows` flows, in order of arrival; none where it is no media.
    pub(super) fn frames(&self, flows: usize, is_media: impl Fn(usize) -> bool) -> Vec<Vec<Frame>> {
        Frame::by_flow(&self.rows, flows, is_media)
    }

    /// The table, if any flow makes transfers.
    pub(super) fn into_table(self) -> Option<Table> {
        self.any.then(|| self.rows.into_table())
    }
}

/// Completed transfers.
pub(super) struct BySize<'t> {
    columns: &'t TransferColumns,
    /// By flow, and in order of completion.
    rows: Vec<u32>,
}

impl BySize<'_> {
    /// Those of `flow`, by size; empty classes are left out.
    pub(super) fn of(&self, flow: usize) -> Vec<SizeClassSummary> {
        let columns = self.columns;
        let start = self.rows.partition_point(|row| (columns.flow[*row as usize] as usize) < flow);
        let its = self.rows[start..].iter().map(|row| *row as usize);
        let mut classes = vec![(Vec::new(), Vec::new()); CLASSES.len() + 1];
        for row in its.take_while(|row| columns.flow[*row] as usize == flow) {
            let class = CLASSES.partition_point(|most| *most < columns.size_bytes[row]);
            let (times, slowdowns) = &mut classes[class];
            times.push(columns.time_ms[row]);
            slowdowns.push(columns.slowdown[row]);
        }
        let summary = |(class, (times, slowdowns)): (usize, &mut (Vec<f64>, Vec<f64>))| {
            Some(SizeClassSummary {
                above_bytes: class.checked_sub(1).map_or(0, |below| CLASSES[below]),
                up_to_bytes: CLASSES.get(class).copied(),
                completed: times.len() as u64,
                time_ms: distribution(times)?,
                slowdown: distribution(slowdowns)?,
            })
        };
        let mut summaries: Vec<_> = classes.iter_mut().enumerate().filter_map(summary).collect();
        summaries.shrink_to_fit();
        summaries
    }
}

/// Exact percentiles by nearest rank; none without a value.
pub(super) fn distribution(values: &mut [f64]) -> Option<Percentiles> {
    values.sort_unstable_by(f64::total_cmp);
    let (min, max) = (*values.first()?, *values.last()?);
    let n = values.len();
    let quantile = |share: f64| values[((share * n as f64).ceil() as usize).clamp(1, n) - 1];
    Some(Percentiles {
        min,
        mean: values.iter().sum::<f64>() / n as f64,
        p50: quantile(0.50),
        p95: quantile(0.95),
        p99: quantile(0.99),
        max,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nearest rank of 200 values 1..=200: the 100th, the 190th, the 198th. For a single value all are that value.
    #[test]
    fn percentiles_are_exact() {
        let halves =
            |p: Percentiles| [p.min, p.mean, p.p50, p.p95, p.p99, p.max].map(|value| (value * 2.0) as u64);
        let mut values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        assert_eq!(halves(distribution(&mut values).unwrap()), [2, 201, 200, 380, 396, 400]);
        assert_eq!(halves(distribution(&mut [3.0]).unwrap()), [6; 6]);
        assert!(distribution(&mut []).is_none());
    }

    /// 100 kB over 20 ms and 10 Mbit/s take 20 + 80 ms: 200 ms are a slowdown of 2. A class ends with its limit; windows are
    /// half open; flows are told apart.
    #[test]
    fn slowdown_and_classes_by_hand() {
        let path = EmptyPath { base_rtt: Duration::from_millis(20), bottleneck: Some(Rate::from_mbps(10)) };
        let fast = EmptyPath { bottleneck: None, ..path };
        let rows = TransferColumns::within(&Budget::default());
        let mut transfers = Transfers { rows, paths: vec![path, fast], path_of: vec![0, 1], any: true };
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        transfers.completed(at(200), 0, at(0), Bytes::new(100_000));
        transfers.completed(at(300), 0, at(200), Bytes::new(100_001));
        transfers.completed(at(400), 1, at(360), Bytes::new(20_000_000));
        transfers.completed(at(1000), 0, at(0), Bytes::new(100_000));
        let all = transfers.within(at(0), at(1000));
        let (slow, fast) = (all.of(0), all.of(1));
        let limits: Vec<_> = slow.iter().map(|c| (c.above_bytes, c.up_to_bytes, c.completed)).collect();
        assert_eq!(limits, [(10_000, Some(100_000), 1), (100_000, Some(1_000_000), 1)]);
        assert!((slow[0].slowdown.mean - 2.0).abs() < 1e-9 && (slow[0].time_ms.p50 - 200.0).abs() < 1e-9);
        assert_eq!((fast[0].above_bytes, fast[0].up_to_bytes), (10_000_000, None));
        assert!((fast[0].slowdown.p99 - 2.0).abs() < 1e-9, "nothing limits it but the round trip");
        let later = transfers.within(at(200), at(1001)).of(0);
        assert_eq!(later.iter().map(|c| c.completed).collect::<Vec<_>>(), [2, 1]);
        assert!((later[0].slowdown.max - 10.0).abs() < 1e-9);
    }
}
