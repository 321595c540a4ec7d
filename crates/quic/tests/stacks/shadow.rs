//! Shadows: a controller of windtunnel's that is told what the stack's controller is told, and decides nothing.

use windtunnel_sim::RunResult;
use windtunnel_sim::recorder::columns::Column;

use crate::runs::{flow, run, text};

const LINK: &str = "rate = \"50 Mbps\"\nqueue = { kind = \"fifo\", limit = \"250 kB\" }";
const MSS: f64 = 1_472.0;

fn shadowed(stack: &str, cc: &str) -> RunResult {
    run(&format!("record = {{ state = \"changes\" }}\n{}", text(30, LINK, &[&flow(stack, cc, 100)])))
}

/// The window of the stack and of its shadow after each change.
fn windows(result: &RunResult) -> Vec<[f64; 2]> {
    let cc = result.tables.iter().find(|table| table.name == "cc").expect("a table of controllers");
    let column = |name: &str| match cc.columns.iter().find(|(own, _)| *own == name) {
        Some((_, Column::F64(values))) => values,
        other => panic!("{name}: {other:?}"),
    };
    let (own, shadow) = (column("cwnd"), column("shadow_cwnd"));
    own.iter().zip(shadow).map(|(own, shadow)| [*own, *shadow]).collect()
}

/// A controller and its shadow of the same kind never part, because they hear the same: the shadow measures the
/// controller, and not the way in which it is told.
#[test]
fn a_controller_of_ours_and_its_shadow_never_part() {
    for stack in ["quinn", "noq"] {
        for cc in ["reno", "cubic", "bbr3"] {
            let result = shadowed(stack, &format!("{{ windtunnel = \"{cc}\", shadow = \"{cc}\" }}"));
            let windows = windows(&result);
            assert!(windows.len() > 100, "{stack} {cc}: {} changes", windows.len());
            for [own, shadow] in windows {
                assert!((own - shadow).abs() < f64::EPSILON, "{stack} {cc}: {own} and {shadow}");
            }
        }
    }
}

/// The `NewReno` of quinn and noq is that of RFC 9002 section 7.3 to a packet, until its first congestion avoidance ends;
/// one with another law parts from it at the first loss.
#[test]
fn newreno_follows_its_rfc() {
    for stack in ["quinn", "noq"] {
        let farthest = |cc: &str| {
            let result = shadowed(stack, cc);
            let apart = windows(&result).into_iter().map(|[own, shadow]| (own - shadow).abs());
            apart.fold(0.0, f64::max)
        };
        let same = farthest("{ kind = \"newreno\", shadow = \"reno\" }");
        let other = farthest("{ windtunnel = \"cubic\", shadow = \"reno\" }");
        assert!(same <= 2.0 * MSS, "{stack}: {same} B apart");
        assert!(other > 50.0 * MSS, "{stack}: {other} B apart");
    }
}

/// A shadow changes nothing: the run has the digest that it has without.
#[test]
fn a_shadow_decides_nothing() {
    for stack in ["quinn", "noq"] {
        let digest = |cc: &str| run(&text(10, LINK, &[&flow(stack, cc, 100)])).summary.digest;
        let alone = digest("\"cubic\"");
        assert_eq!(digest("{ kind = \"cubic\", shadow = \"cubic\" }"), alone, "{stack}");
        assert_ne!(digest("{ windtunnel = \"cubic\", shadow = \"cubic\" }"), alone, "{stack}");
    }
}
