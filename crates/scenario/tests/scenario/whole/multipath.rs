//! LIA (RFC 6356), OLIA, BALIA and uncoupled Reno over two paths of one connection, against the goals of RFC 6356 section 2.

use std::fmt::Write;

use super::{assert_near, run};

/// The congestion controllers of connections; Reno's subflows are uncoupled.
const COUPLED: [&str; 3] = ["lia", "olia", "balia"];

const FIFO: &str = "{ kind = \"fifo\", limit = \"50 kB\" }";
/// Its drops are random.
const PIE: &str = "\"pie\"";

/// Links with rates in Mbit/s, and flows: a link, a round-trip time in ms, and other keys. Returns what each flow has in
/// Mbit/s from 60 s on, as a mean of runs with `seeds` seeds.
fn rates(links: &[f64], queue: &str, flows: &[(usize, u64, &str)], seeds: u64) -> Vec<f64> {
    let mut text =
        "duration = \"180 s\"\nendpoints = \"linux\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n\
                    [[window]]\nname = \"late\"\nfrom = \"60 s\"\nto = \"180 s\"\n"
            .to_owned();
    for (link, rate) in links.iter().enumerate() {
        write!(
            text,
            "[[link]]\nname = \"{link}\"\nfrom = \"a\"\nto = \"b\"\nrate = \"{rate} Mbit/s\"\nqueue = {queue}\n"
        )
        .expect("a string");
    }
    for (n, (link, rtt, keys)) in flows.iter().enumerate() {
        let start = 100 * n;
        write!(text, "[[flow]]\npath = [\"{link}\"]\nrtt = \"{rtt} ms\"\nstart = \"{start} ms\"\n{keys}\n")
            .expect("a string");
    }
    let mut sums = vec![0.0; flows.len()];
    for seed in 1..=seeds {
        let result = run(&text, &[&format!("seed={seed}")]);
        for (sum, flow) in sums.iter_mut().zip(&result.summary.windows[0].flows) {
            *sum += flow.throughput_mbps / seeds as f64;
        }
    }
    sums
}

/// What a connection has on its paths, with `others[n]` Reno flows on link n; then what one of these has on each link.
fn on_two_paths(cc: &str, links: [f64; 2], queue: &str, others: [usize; 2], seeds: u64) -> [f64; 4] {
    let subflow = format!("cc = \"{cc}\"\nconnection = \"m\"");
    let mut flows = vec![(0, 40, subflow.as_str()), (1, 40, subflow.as_str())];
    for (link, count) in others.into_iter().enumerate() {
        flows.extend((0..count).map(|_| (link, 40, "cc = \"reno\"")));
    }
    let rates = rates(&links, queue, &flows, seeds);
    let (large, small) = rates[2..].split_at(others[0]);
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
    [rates[0], rates[1], mean(large), mean(small)]
}

/// With one path each of them is Reno: RFC 5681's, which adds MSS² / cwnd with each ACK, as each segment has its own. Every
/// packet and every ACK is the same.
#[test]
fn one_path_is_reno() {
    let digest = |cc: &str| {
        let text = format!(
            "duration = \"60 s\"\nendpoints = \"linux\"\n\
             [bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {FIFO}\n\
             [[flow]]\nname = \"one\"\nrtt = \"40 ms\"\nack = \"immediate\"\n{cc}\n"
        );
        run(&text, &[]).summary.digest
    };
    let reno = digest("cc = { kind = \"reno\", growth = \"per-ack\" }");
    for cc in COUPLED {
        assert_eq!(digest(&format!("cc = \"{cc}\"")), reno, "{cc}");
        assert_eq!(digest(&format!("cc = \"{cc}\"\nconnection = \"m\"")), reno, "{cc}");
    }
    assert_eq!(
        digest("cc = { kind = \"reno\", growth = \"per-ack\" }\nconnection = \"m\""),
        reno,
        "uncoupled"
    );
}

/// Goal 2: where both subflows and one Reno flow share a link, the connection has half of it. Uncoupled subflows have two
/// thirds.
#[test]
fn no_more_than_one_flow_of_a_shared_link() {
    let share = |cc: &str| {
        let subflow = format!("cc = \"{cc}\"\nconnection = \"m\"");
        let flows = [(0, 40, subflow.as_str()), (0, 40, subflow.as_str()), (0, 40, "cc = \"reno\"")];
        let rates = rates(&[10.0], PIE, &flows, 6);
        (rates[0] + rates[1]) / rates.iter().sum::<f64>()
    };
    for cc in COUPLED {
        assert_near(cc, share(cc), 0.5, 0.1);
    }
    assert_near("uncoupled", share("reno"), 2.0 / 3.0, 0.03);
}

/// Goals 1 and 3, over two links of 10 Mbit/s with one Reno flow on the first and four on the second. Windows of LIA are as
/// 1 / p, and Reno's rate R is as 1 / sqrt(p): a connection as fast as the Reno flow on the best path has R1 / (1 + r²) there
/// and r² of that on the other one, where r = R2 / R1. From R1 + x1 = 4 R2 + x2 = 10 follows r = 0.423, and x2 is 0.36 of R2.
/// OLIA leaves the congested path but for what it probes with, BALIA is between the two. Uncoupled subflows have as much as a
/// Reno flow on either. Each connection is as fast as a Reno flow in its place, 5 Mbit/s.
#[test]
fn traffic_leaves_the_congested_path() {
    let measured = |cc: &str| {
        let [first, second, _, reno] = on_two_paths(cc, [10.0, 10.0], PIE, [1, 4], 6);
        (first + second, second / reno)
    };
    let [lia, olia, balia] = COUPLED.map(measured);
    for (cc, (total, _)) in COUPLED.iter().zip([lia, olia, balia]) {
        assert!(total > 0.95 * 5.0, "{cc}: {total} Mbit/s");
    }
    assert_near("LIA", lia.1, 0.36, 0.15);
    assert_near("uncoupled", measured("reno").1, 1.0, 0.1);
    assert!(olia.1 < 0.6 * balia.1 && balia.1 < 0.8 * lia.1, "{} {} {}", olia.1, balia.1, lia.1);
}

/// Resource pooling: links of 12 and 8 Mbit/s with two Reno flows on each. Uncoupled subflows leave what they find, and r is
/// 2/3. With LIA 2 R1 + R1 / (1 + r²) = 12 and 2 R2 + r² R1 / (1 + r²) = 8: r = 0.72. OLIA and BALIA pool more; in one pool r
/// would be 1.
#[test]
fn links_pool() {
    let ratio = |cc: &str| {
        let [_, _, large, small] = on_two_paths(cc, [12.0, 8.0], PIE, [2, 2], 12);
        small / large
    };
    let [lia, olia, balia] = COUPLED.map(ratio);
    let uncoupled = ratio("reno");
    assert_near("uncoupled", uncoupled, 2.0 / 3.0, 0.04);
    assert_near("LIA", lia, 0.72, 0.04);
    assert!(olia > lia && balia > lia && lia > uncoupled, "{olia} {balia} {lia} {uncoupled}");
}
