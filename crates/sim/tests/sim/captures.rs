//! Captures: each packet at each point of its path.

use std::collections::BTreeMap;
use std::sync::Arc;

use windtunnel_sim::application::{ApplicationConfig, PoissonParams, ProbeParams};
use windtunnel_sim::element::*;
use windtunnel_sim::recorder::columns::{Column, Table};
use windtunnel_sim::{DequeuePoint, RunResult, SizeDistribution, Transport};
use windtunnel_units::{Bytes, Probability, Rate};

use crate::fixtures::{PlainQueue, link, path, reno, run};

/// The columns of a table as numbers.
struct Rows<'a>(&'a Table);

impl Rows<'_> {
    fn len(&self) -> usize {
        self.0.columns[0].1.len()
    }

    fn get(&self, column: &str, row: usize) -> u64 {
        match &self.0.columns.iter().find(|(name, _)| *name == column).expect(column).1 {
            Column::U64(values) => values[row],
            Column::U32(values) => u64::from(values[row]),
            Column::U8(values) => u64::from(values[row]),
            Column::Bool(values) => u64::from(values[row]),
            Column::F64(_) | Column::I64(_) | Column::I32(_) | Column::Binary(_) => {
                panic!("{column} is not a count")
            }
        }
    }
}

fn captured() -> RunResult {
    let p = |p| Probability::new(p).expect("a probability");
    let forward: Vec<Arc<dyn ElementParams>> = vec![
        Arc::new(LossParams { probability: p(0.005), affects: Affects::All }),
        Arc::new(CorruptionParams { probability: p(0.005), affects: Affects::All }),
        Arc::new(DuplicationParams { probability: p(0.01), affects: Affects::All }),
    ];
    let traffic = vec![
        (reno(), ApplicationConfig::Bulk),
        (Transport::Udp, ApplicationConfig::Probe(ProbeParams::default())),
    ];
    let mut network = path(traffic, 20, forward, vec![], 5);
    network.record.packets = true;
    run(network)
}

fn packets(result: &RunResult) -> Rows<'_> {
    rows(result, "packets")
}

fn rows<'a>(result: &'a RunResult, name: &str) -> Rows<'a> {
    Rows(result.tables.iter().find(|table| table.name == name).expect(name))
}

/// The rows of each packet, by its number.
fn ways(rows: &Rows<'_>) -> BTreeMap<u64, Vec<usize>> {
    let mut ways: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for row in 0..rows.len() {
        ways.entry(rows.get("id", row)).or_default().push(row);
    }
    ways
}

/// Each packet is recorded at its points in order of time: once at the sender, then before the queue, after it, and at
/// the receiver, unless it is lost. A loss is recorded at the packet's last point, with its reason. Copies start where
/// a medium made them, and name their original. The counts are those of the summary.
#[test]
fn each_packet_has_its_way() {
    let result = captured();
    let rows = packets(&result);
    let ways = ways(&rows);
    let mut drops = [0_u64; 4];
    let mut copies = 0;
    for (id, rows_of_one) in &ways {
        let first = rows_of_one[0];
        let taps: Vec<u64> = rows_of_one.iter().map(|row| rows.get("tap", *row)).collect();
        let reply = rows.get("dir", first) == 1;
        let way: &[u64] = if reply { &[3, 0] } else { &[0, 1, 2, 3] };
        assert_eq!(rows.get("dir", first), id & 1);
        let original = rows.get("copy_of", first);
        // The media are behind the queue.
        let way = if original == 0 { way } else { &[3] };
        assert!(taps.iter().zip(way).all(|(a, b)| a == b) && taps.len() <= way.len(), "{taps:?}");
        if original != 0 {
            copies += 1;
            for column in ["flow", "dir", "seq", "payload", "retransmission"] {
                assert_eq!(rows.get(column, first), rows.get(column, ways[&original][0]), "{column}");
            }
        }
        assert!(rows_of_one.windows(2).all(|w| rows.get("t_ns", w[0]) <= rows.get("t_ns", w[1])));
        assert_eq!(rows.get("flow", first), rows.get("flow", rows_of_one[taps.len() - 1]));
        let again = |row: &usize| rows.get("retransmission", *row);
        assert!(rows_of_one.iter().all(|row| again(row) == again(&first)));
        for (n, row) in rows_of_one.iter().enumerate() {
            let drop = rows.get("drop", *row);
            assert!(drop == 0 || n + 1 == rows_of_one.len(), "{taps:?}: lost before its last point");
            drops[drop as usize] += 1;
        }
    }
    let flows = &result.summary.flows;
    let sum = |count: fn(&windtunnel_sim::FlowSummary) -> u64| flows.iter().map(count).sum::<u64>();
    assert_eq!(drops[1], sum(|flow| flow.drops.full));
    let wire = sum(|flow| flow.drops.wire + flow.corrupted);
    // No medium loses a copy before it is seen: the medium that makes copies is the last one.
    assert!(drops[3] == wire && wire > 10, "{drops:?} {wire}");
    let made = result.summary.elements.iter().map(|i| i.duplicated).sum::<u64>();
    assert!(
        (copies..=copies + 1).contains(&made),
        "{made} copies, {copies} seen: one may be under way at the end"
    );
    assert!(copies > 10);
}

/// If a queue loses a copy whose original has already gone on, the loss belongs to the copy. Every packet is duplicated
/// in front of a queue of three packets; if a pair finds room for one, the first is stored.
#[test]
fn the_loss_of_a_copy_is_not_that_of_its_original() {
    let p = |p| Probability::new(p).expect("a probability");
    let doubled = DuplicationParams { probability: p(1.0), affects: Affects::Data };
    let forward: Vec<Arc<dyn ElementParams>> = vec![Arc::new(doubled)];
    let mut network = path(vec![(reno(), ApplicationConfig::Bulk)], 2, forward, vec![], 2);
    network.links = vec![link(10, 0, PlainQueue::new(3, 0), DequeuePoint::End)];
    network.flows[0].forward.swap(0, 1);
    network.record.packets = true;
    let result = run(network);
    let rows = packets(&result);
    let ways = ways(&rows);
    let end = |way: &[usize]| (rows.get("tap", way[way.len() - 1]), rows.get("drop", way[way.len() - 1]));
    let mut only_the_copy = 0;
    for way in ways.values().filter(|way| rows.get("copy_of", way[0]) != 0) {
        let original = &ways[&rows.get("copy_of", way[0])];
        only_the_copy += u64::from(end(way) == (1, 1) && end(original) == (3, 0));
    }
    assert!(only_the_copy > 100, "{only_the_copy}");
    let dropped = (0..rows.len()).filter(|row| rows.get("drop", *row) == 1).count() as u64;
    assert_eq!(dropped, result.summary.flows[0].drops.full);
    let lost_at_the_end =
        (0..rows.len()).filter(|row| rows.get("tap", *row) == 3 && rows.get("drop", *row) > 0);
    assert_eq!(lost_at_the_end.count(), 0, "nothing is damaged here");
}

/// At the sender, a row has the sender's state after sending, marks retransmissions, and has the protocol of the flow;
/// after losses there are SACK blocks.
#[test]
fn senders_show_their_state() {
    let result = captured();
    let rows = packets(&result);
    let mut again = 0;
    let mut most_blocks = 0;
    for row in 0..rows.len() {
        let (flow, tap, dir) = (rows.get("flow", row), rows.get("tap", row), rows.get("dir", row));
        assert_eq!(rows.get("proto", row), if flow == 0 { 6 } else { 17 });
        if (flow, tap, dir) == (0, 0, 0) {
            again += rows.get("retransmission", row);
            assert!(rows.get("cwnd", row) >= 2 * 1448, "row {row}");
            assert!(rows.get("state", row) <= 4);
            if rows.get("payload", row) > 0 {
                assert!(rows.get("in_flight", row) >= rows.get("payload", row));
            }
        }
        if tap != 0 {
            assert_eq!(rows.get("cwnd", row), 0);
        }
        if flow == 0 && dir == 1 && tap == 3 {
            let blocks = rows.get("sack_n", row);
            most_blocks = most_blocks.max(blocks);
            let option = if blocks > 0 { 4 + 8 * blocks } else { 0 };
            let syn = rows.get("flags", row) & 2 != 0;
            assert_eq!(rows.get("size", row), if syn { 60 } else { 52 + option });
            assert!(blocks == 0 || rows.get("sack1_end", row) > rows.get("sack1_start", row));
        }
    }
    assert!(most_blocks > 0);
    assert_eq!(Some(again), result.summary.flows[0].sender.retransmits);
}

/// Capturing does not change the run.
#[test]
fn captures_do_not_disturb() {
    let digest = |capture| {
        let mut network = path(vec![(reno(), ApplicationConfig::Bulk)], 20, vec![], vec![], 5);
        network.record.packets = capture;
        run(network).summary.digest
    };
    assert_eq!(digest(true), digest(false));
}

/// Where connections arrive during the run, single events tell the flow of the network that they belong to, and a number
/// that no other connection has: each starts with one SYN, in the order of the numbers, and there are as many as were
/// admitted, although later ones take the places of earlier ones.
#[test]
fn connections_that_arrive_are_told_apart() {
    let size = SizeDistribution::Exponential { mean: Bytes::new(20_000) };
    let web = PoissonParams { load: Some(Rate::from_mbps(2)), size, ..PoissonParams::default() };
    let traffic = vec![(reno(), ApplicationConfig::Poisson(web)), (reno(), ApplicationConfig::Bulk)];
    let mut network = path(traffic, 20, vec![], vec![], 5);
    network.record.packets = true;
    network.record.events = true;
    let result = run(network);
    let seen = packets(&result);
    let syns: Vec<u64> = (0..seen.len())
        .filter(|row| {
            seen.get("tap", *row) == 0 && seen.get("dir", *row) == 0 && seen.get("retransmission", *row) == 0
        })
        .filter(|row| seen.get("flow", *row) == 0 && seen.get("flags", *row) & 2 != 0)
        .map(|row| seen.get("connection", row))
        .collect();
    let transfers = result.summary.flows[0].transfers.as_ref().expect("transfers");
    assert!(transfers.arrived > 50 && transfers.rejected == 0, "{transfers:?}");
    assert_eq!(syns, (2..2 + transfers.arrived).collect::<Vec<_>>());
    for table in [seen, rows(&result, "dequeue_events")] {
        for row in 0..table.len() {
            match (table.get("flow", row), table.get("connection", row)) {
                (0, connection) => assert!(syns.contains(&connection), "{connection}"),
                of_the_other => assert_eq!(of_the_other, (1, 1)),
            }
        }
    }
}

/// A run in which no connection arrives has no such column.
#[test]
fn a_flow_is_its_connection() {
    assert!(packets(&captured()).0.columns.iter().all(|(name, _)| *name != "connection"));
}
