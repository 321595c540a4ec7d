//! The controllers alone, driven with the ACKs of an independent implementation's runs: cwnd and phase
//! must be equal after every ACK, to the byte. `data/README.md` says where the ACKs come from.

use std::sync::Arc;

use crate::parts::plain_response;
use windtunnel_cc::{
    AckSample, AvoidanceParams, CongestionControl, CongestionEvent, ControllerParams, CubicParams,
    EcnFeedback, EsspParams, FlowInit, HystartPpParams, LimiterWindow, Marked, MdsParams, PathView, Phase,
    RenoParams, ResponseParams, ScalableParams, StandardParams, Trigger, WindowedConfig,
};
use windtunnel_units::{Bytes, Duration, Seq, Time};

const MSS: Bytes = Bytes::new(1448);

/// One line of a trace.
struct Line {
    now: Time,
    rtt: Duration,
    mark: Option<Mark>,
    cwnd: Bytes,
    in_flight: Bytes,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq)]
enum Mark {
    Sce,
    Ce,
}

fn lines(text: &str) -> Vec<Line> {
    let (mut now, mut step, mut rtt, mut cwnd, mut flight) = (0, 0, 0, 0, 0);
    let mut phase = Phase::SlowStart;
    let number = |field: &str| (!field.is_empty()).then(|| field.parse::<i64>().expect("a number"));
    text.lines()
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            step = number(fields[0]).unwrap_or(step);
            now += step;
            rtt += number(fields[1]).unwrap_or(0);
            cwnd += number(fields[3]).unwrap_or(0);
            flight = number(fields[4]).unwrap_or(flight);
            if fields.get(5) == Some(&"CA") {
                phase = Phase::CongestionAvoidance;
            }
            Line {
                now: Time::from_nanos(now as u64),
                rtt: Duration::from_nanos(rtt as u64),
                mark: match fields[2] {
                    "s" => Some(Mark::Sce),
                    "c" => Some(Mark::Ce),
                    _ => None,
                },
                cwnd: Bytes::new(cwnd as u64),
                in_flight: MSS * flight as u64,
                phase,
            }
        })
        .collect()
}

/// Replays a trace, and returns the first line at which the controller differs from it.
fn first_difference(config: &WindowedConfig, text: &str, paced: bool) -> Result<usize, String> {
    let init = FlowInit { paced, ..FlowInit::new(MSS) };
    let mut cc = config.build(init);
    let trace = lines(text);
    assert!(trace.len() > 800, "the trace is cut short");
    let mut srtt = Duration::ZERO;
    let mut min_rtt = Duration::MAX;
    for (n, line) in trace.iter().enumerate() {
        srtt = if n == 0 { line.rtt } else { (line.rtt + srtt * 7) / 8 };
        min_rtt = min_rtt.min(line.rtt);
        let una = Seq::FIRST_DATA + MSS * n as u64;
        let path = PathView {
            now: line.now,
            mss: MSS,
            srtt,
            min_rtt,
            in_flight: line.in_flight,
            una,
            nxt: una + line.in_flight,
        };
        if n == 0 {
            cc.on_established(&path);
        } else {
            acknowledge(cc.as_mut(), line, &path);
        }
        let control = cc.control();
        if (control.cwnd, control.phase) != (line.cwnd, line.phase) {
            return Err(format!(
                "line {}: {} and {:?}, but the trace has {} and {:?}",
                n + 1,
                control.cwnd,
                control.phase,
                line.cwnd,
                line.phase
            ));
        }
    }
    Ok(trace.len())
}

fn acknowledge(cc: &mut dyn CongestionControl, line: &Line, path: &PathView) {
    let marked = |kind| {
        let packets = u32::from(line.mark == Some(kind));
        Marked { bytes: MSS * u64::from(packets), packets }
    };
    let ecn = EcnFeedback { ce: marked(Mark::Ce), sce: marked(Mark::Sce), ..EcnFeedback::default() };
    if ecn.ce.any() {
        let window = cc.cwnd();
        let event = CongestionEvent { trigger: Trigger::Ce, window, lost: Bytes::ZERO, rtt: Some(line.rtt) };
        cc.on_congestion(&event, path);
    }
    let ack =
        AckSample { acked: MSS, newly_delivered: MSS, rtt: Some(line.rtt), ecn, ..AckSample::default() };
    cc.on_ack(&ack, path);
}

fn conventional() -> Arc<dyn ResponseParams> {
    plain_response()
}

fn mds(limiter: LimiterWindow) -> Arc<dyn ResponseParams> {
    Arc::new(MdsParams { limiter, ..MdsParams::default() })
}

/// The limiter of the published runs.
fn published() -> Arc<dyn ResponseParams> {
    mds(LimiterWindow::EmptiedAfterSrtt)
}

fn essp(avoidance: Arc<dyn AvoidanceParams>, response: Arc<dyn ResponseParams>) -> WindowedConfig {
    WindowedConfig { avoidance, slow_start: Arc::new(EsspParams::default()), response }
}

fn reno() -> Arc<dyn AvoidanceParams> {
    Arc::new(RenoParams::default())
}

fn cubic() -> Arc<dyn AvoidanceParams> {
    Arc::new(CubicParams::default())
}

fn scalable() -> Arc<dyn AvoidanceParams> {
    Arc::new(ScalableParams::default())
}

fn hystart_pp(avoidance: Arc<dyn AvoidanceParams>) -> WindowedConfig {
    let slow_start = Arc::new(HystartPpParams::default());
    WindowedConfig { avoidance, slow_start, response: conventional() }
}

macro_rules! replays {
    ($($test:ident: $file:literal, $config:expr;)*) => {$(
        #[test]
        fn $test() {
            let trace = include_str!(concat!("../data/", $file, ".csv"));
            let paced = !$file.starts_with("trace11");
            if let Err(difference) = first_difference(&$config, trace, paced) {
                panic!("{}: {difference}", $file);
            }
        }
    )*};
}

replays! {
    trace01_reno_mds: "trace01-flow0", essp(reno(), published());
    trace02_reno: "trace02-flow0", essp(reno(), conventional());
    trace02_reno_mds: "trace02-flow1", essp(reno(), published());
    trace03_cubic: "trace03-flow0", essp(cubic(), conventional());
    trace03_scalable_mds: "trace03-flow1", essp(scalable(), published());
    trace04_cubic_mds: "trace04-flow0", essp(cubic(), published());
    trace05_reno_mds: "trace05-flow0", essp(reno(), published());
    trace05_reno: "trace05-flow1", essp(reno(), conventional());
    trace06_cubic_hystart_pp: "trace06-flow0", hystart_pp(cubic());
    trace07_reno_mds_standard: "trace07-flow0", WindowedConfig {
        avoidance: reno(),
        slow_start: Arc::new(StandardParams {
            base_reduction: true,
            ..StandardParams::default()
        }),
        response: published(),
    };
    trace08_reno: "trace08-flow0", essp(reno(), conventional());
    trace08_scalable_mds: "trace08-flow1", essp(scalable(), published());
    trace09_scalable_mds_lwnd: "trace09-flow0", essp(
        Arc::new(ScalableParams { lwnd: Some(Bytes::new(100_000)), ..ScalableParams::default() }),
        published(),
    );
    trace10_reno_mds: "trace10-flow0", essp(reno(), published());
    trace10_cubic_mds: "trace10-flow1", essp(cubic(), published());
    trace11_reno_mds_unpaced: "trace11-flow0", essp(reno(), published());
    // The sliding window where it allows the same responses.
    trace03_scalable_mds_sliding: "trace03-flow1", essp(scalable(), mds(LimiterWindow::Sliding));
    trace04_cubic_mds_sliding: "trace04-flow0", essp(cubic(), mds(LimiterWindow::Sliding));
    trace08_scalable_mds_sliding: "trace08-flow1", essp(scalable(), mds(LimiterWindow::Sliding));
    trace10_cubic_mds_sliding: "trace10-flow1", essp(cubic(), mds(LimiterWindow::Sliding));
    trace12_reno_hystart_pp: "trace12-flow0", hystart_pp(reno());
}
