use std::collections::VecDeque;

use windtunnel_units::{Seq, Time};

use super::*;

const MSS: Bytes = Bytes::new(1448);
const TAU: NonZeroU32 = NonZeroU32::new(64).expect("not zero");

fn search(params: SearchParams) -> Search {
    Search {
        standard: Standard::new(params.standard(), TAU.get()),
        params,
        iw: MSS * 10,
        bins: None,
        norm: f64::NAN,
        drain: None,
    }
}

/// A bottleneck of 50 Mbit/s without a limit to its queue, 100 ms away, and a flow that is paced at twice its window
/// per round trip. Every segment of 1500 bytes is acknowledged by itself.
struct Path {
    search: Search,
    cwnd: Bytes,
    now: Time,
    srtt: Duration,
    sent: u64,
    acked: u64,
    /// When the next segment may leave.
    departure: Time,
    /// When the bottleneck has sent all that it has.
    idle: Time,
    /// When ACKs arrive, and when their segments left.
    acks: VecDeque<(Time, Time)>,
}

impl Path {
    const RTT: Duration = Duration::from_millis(100);
    /// 1500 bytes at 50 Mbit/s.
    const SERVICE: Duration = Duration::from_micros(240);
    /// The path's capacity in segments.
    const BDP: f64 = 100.0 / 0.24;

    fn new(params: SearchParams) -> Path {
        Path {
            search: search(params),
            cwnd: MSS * 10,
            now: Time::ZERO,
            srtt: Path::RTT,
            sent: 0,
            acked: 0,
            departure: Time::ZERO,
            idle: Time::ZERO,
            acks: VecDeque::new(),
        }
    }

    fn window(&self) -> f64 {
        self.cwnd.as_f64() / MSS.as_f64() / Path::BDP
    }

    fn in_flight(&self) -> Bytes {
        MSS * (self.sent - self.acked)
    }

    /// The next departure or ACK. Returns what slow start made of the ACK.
    fn step(&mut self) -> Option<SlowStartVerdict> {
        let may_send = self.in_flight() + MSS <= self.cwnd;
        let leaves = if may_send { self.departure.max(self.now) } else { Time::NEVER };
        let arrives = self.acks.front().map_or(Time::NEVER, |(arrives, _)| *arrives);
        if leaves <= arrives {
            self.now = leaves;
            self.idle = self.idle.max(leaves) + Path::SERVICE;
            self.acks.push_back((self.idle + Path::RTT, leaves));
            self.departure = leaves + self.srtt.scale(MSS.as_f64() / (2.0 * self.cwnd.as_f64()));
            self.sent += 1;
            return None;
        }
        let (arrives, left) = self.acks.pop_front().expect("in flight");
        self.now = arrives;
        self.acked += 1;
        let rtt = arrives.since(left);
        self.srtt = self.srtt.scale(7.0 / 8.0) + rtt / 8;
        let path = PathView {
            now: self.now,
            srtt: self.srtt,
            min_rtt: Path::RTT,
            in_flight: self.in_flight(),
            una: Seq::FIRST_DATA + MSS * self.acked,
            nxt: Seq::FIRST_DATA + MSS * self.sent,
            ..PathView::of_segments(0, 0)
        };
        let ack = AckSample {
            acked: MSS,
            newly_delivered: MSS,
            may_raise: true,
            rtt: Some(rtt),
            ..AckSample::default()
        };
        Some(self.search.on_ack(&mut self.cwnd, &ack, &path))
    }
}

/// spec/ccwg-2026 section D, vector 2, computed there as a fluid: with a window of 2.5 of the path's capacity the
/// deliveries fall short by 0.04, at 4.3 by 0.13, at 5.3 by 0.24; slow start ends at 0.284 with 5.7, 4.7 round trips
/// after the window passed the capacity. Segments make steps of a bin's length, 0.35 of the capacity, and of a few
/// hundredths of the norm.
#[test]
fn it_ends_where_the_fluid_does() {
    let mut path = Path::new(SearchParams { drain: 0, ..SearchParams::default() });
    let (mut norms, mut full) = (Vec::<(f64, f64)>::new(), None);
    let verdict = loop {
        let verdict = path.step();
        if path.window() >= 1.0 {
            full.get_or_insert(path.now);
        }
        if verdict == Some(SlowStartVerdict::Stay)
            && norms.last().is_none_or(|(_, last)| last.to_bits() != path.search.norm.to_bits())
        {
            norms.push((path.window(), path.search.norm));
        }
        if let Some(SlowStartVerdict::Exit(reason)) = verdict {
            break reason;
        }
    };
    assert_eq!(verdict.name(), "delivery rate");
    for (window, norm) in [(2.5, 0.04), (4.3, 0.13), (5.3, 0.24)] {
        let at = norms.iter().find(|(at, _)| (at - window).abs() < 0.175).expect("one bin is near");
        assert!((at.1 - norm).abs() < 0.02, "{} at {}, not {norm}", at.1, at.0);
    }
    assert!(
        (path.search.norm - 0.284).abs() < 0.02 && (path.window() - 5.7).abs() < 0.175,
        "{}",
        path.search.norm
    );
    let later = path.now.since(full.expect("passed")).ratio(Path::RTT);
    assert!((later - 4.7).abs() < 0.35, "{later} round trips");
}

/// The authors' code, version 4.0: the target is what arrived in three bins of 35 ms, so 1.05 of the capacity, which
/// leave one segment for every three that arrive. What was in flight, 5.7 of it, shrinks by two of three that arrive
/// until there: 4.65 * 3 / 2 round trips. A bin ends where the last ACK before its end came.
#[test]
fn the_window_drains_to_what_arrives_in_a_round_trip() {
    for (drain, share) in [(3, 1.5), (16, 16.0 / 15.0)] {
        let mut path = Path::new(SearchParams { drain, ..SearchParams::default() });
        while path.search.drain.is_none() {
            path.step();
        }
        let (began, before) = (path.now, path.in_flight());
        let window = path.cwnd;
        let target = path.search.drain.expect("began").target.as_f64() / MSS.as_f64() / Path::BDP;
        assert!((target - 1.05).abs() < 0.01, "{target}");
        let mut least = window;
        let verdict = loop {
            match path.step() {
                Some(SlowStartVerdict::Stay) | None => {
                    assert!(path.cwnd <= least, "{} after {least}", path.cwnd);
                    least = path.cwnd;
                }
                Some(verdict) => break verdict,
            }
        };
        assert_eq!(verdict, SlowStartVerdict::Exit(ExitReason::Other("delivery rate")));
        assert!((path.window() - target).abs() < 1e-9 && path.in_flight() <= path.cwnd, "{}", path.window());
        let excess = before.as_f64() / MSS.as_f64() / Path::BDP - target;
        let lasted = path.now.since(began).ratio(Path::RTT);
        assert!((lasted / (excess * share) - 1.0).abs() < 0.01, "{lasted} round trips for {excess}");
    }
}

/// spec/ccwg-2026 section D, vector 3, on bins of 35 ms: 60 ms without ACKs at the end of a bin skip one bin. In 400 ms
/// more than ten pass, and the next ACK begins new ones with its own round trip. Without `reset` they go on.
#[test]
fn a_long_gap_starts_anew() {
    let rtt = Duration::from_millis(100);
    let at = |ms: u64| PathView {
        now: Time::ZERO + Duration::from_millis(ms),
        ..PathView::of_segments(ms, 2 * ms)
    };
    for (reset, gap, begun, index) in [(true, 60, true, 2), (true, 400, false, 0), (false, 400, true, 12)] {
        let mut search = search(SearchParams { reset, ..SearchParams::default() });
        for ms in [1, 36, 36 + gap] {
            assert!(!search.falls_behind(rtt, &at(ms)));
        }
        assert_eq!(search.bins.as_ref().map(Bins::count), begun.then_some(f64::from(index)), "{gap} ms");
        assert!(!search.falls_behind(rtt, &at(37 + gap)));
        assert!(search.bins.is_some());
    }
}

/// spec/ccwg-2026 section D, vector 4: a round trip of six times the first is never compared, so that slow start goes
/// on although nothing arrives that was sent.
#[test]
fn round_trips_that_grew_too_long_are_not_compared() {
    for (ms, ends) in [(200, true), (600, false)] {
        let mut search = search(SearchParams::default());
        let ended = (0..200_u64).any(|n| {
            let rtt = Duration::from_millis(if n == 0 { 100 } else { ms });
            let now = Time::ZERO + Duration::from_millis(40 * n);
            search.falls_behind(rtt, &PathView { now, ..PathView::of_segments(n.min(20), 100 * n) })
        });
        assert_eq!(ended, ends, "{ms} ms");
    }
}

/// The target is at least the initial window, and never above cwnd: then slow start ends with cwnd as it is.
#[test]
fn the_target_never_raises_cwnd() {
    for (target, cwnd, ends) in [(10, 8, 8), (10, 10, 10), (10, 30, 10)] {
        let mut search = search(SearchParams::default());
        search.drain = Some(Drain { target: MSS * target, delivered: Bytes::ZERO });
        let mut window = MSS * cwnd;
        let ack = AckSample { newly_delivered: MSS, ..AckSample::default() };
        // Nothing is in flight any more.
        let verdict = search.on_ack(&mut window, &ack, &PathView::of_segments(9, 9));
        assert_eq!(verdict, SlowStartVerdict::Exit(ExitReason::Other("delivery rate")));
        assert_eq!(window, MSS * ends, "from {cwnd}");
    }
}
