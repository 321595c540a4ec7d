//! Which parameters of endpoints are refused, and which the borders of their ranges are.

use windtunnel_tcp::{AckParams, LossDetection, RtoRule, TcpParams};
use windtunnel_units::{Bytes, Duration, OutOfRange, Probability};

/// The key that is refused; nothing if the parameters are accepted.
fn refused(check: Result<(), OutOfRange>) -> Option<&'static str> {
    check.err().map(|error| error.key)
}

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Each range of `TcpParams` at its borders and beyond them: 300 for `dupthresh`, the least RTO for the largest (200
/// ms, by RFC 6298 1 s), RFC 7323's 1 GiB for the window, and Linux's least send buffer of 4608 bytes. RACK needs
/// SACK, classic detection has none. A header block is a page at most.
#[test]
fn ranges_of_tcp() {
    let ok = TcpParams::default;
    let gib = 1 << 30;
    let window = |bytes| TcpParams { receive_window: Bytes::new(bytes), ..ok() };
    let buffer = |bytes| TcpParams { send_buffer: Some(Bytes::new(bytes)), ..ok() };
    let detection = |sack, loss_detection| TcpParams { sack, loss_detection, ..ok() };
    let rto_max = |rto, rto_max| TcpParams { rto, rto_max: ms(rto_max), ..ok() };
    for (params, key) in [
        (ok(), None),
        (detection(false, LossDetection::Rack), Some("sack")),
        (detection(false, LossDetection::Rfc6675), None),
        (detection(true, LossDetection::Tahoe), Some("sack")),
        (detection(false, LossDetection::Reno), None),
        (TcpParams { dupthresh: 0, ..ok() }, Some("dupthresh")),
        (TcpParams { dupthresh: 300, ..ok() }, None),
        (TcpParams { dupthresh: 301, ..ok() }, Some("dupthresh")),
        (TcpParams { dupthresh: u32::MAX, ..ok() }, Some("dupthresh")),
        (TcpParams { initial_ssthresh: Some(0), ..ok() }, Some("initial_ssthresh")),
        (TcpParams { tick: Duration::ZERO, ..ok() }, Some("tick")),
        (TcpParams { gso_max: Bytes::ZERO, ..ok() }, Some("gso_max")),
        (TcpParams { header_block: Bytes::ZERO, ..ok() }, Some("header_block")),
        (TcpParams { header_block: Bytes::new(4096), ..ok() }, None),
        (TcpParams { header_block: Bytes::new(4097), ..ok() }, Some("header_block")),
        (rto_max(RtoRule::Linux, 200), None),
        (rto_max(RtoRule::Linux, 199), Some("rto_max")),
        (rto_max(RtoRule::Rfc6298, 1000), None),
        (rto_max(RtoRule::Rfc6298, 999), Some("rto_max")),
        (window(0), Some("receive_window")),
        (window(1), None),
        (window(gib), None),
        (window(gib + 1), Some("receive_window")),
        (TcpParams { initial_send_buffer: Bytes::new(4607), ..ok() }, Some("initial_send_buffer")),
        (TcpParams { initial_send_buffer: Bytes::new(4608), ..ok() }, None),
        (buffer(0), Some("send_buffer")),
        (buffer(4607), Some("send_buffer")),
        (buffer(4608), None),
        (buffer(gib), None),
        (buffer(gib + 1), Some("send_buffer")),
    ] {
        assert_eq!(refused(params.check()), key, "{params:?}");
    }
}

/// Each range of `AckParams` at its borders and beyond them.
#[test]
fn ranges_of_ack() {
    let ok = AckParams::default;
    let division = |division| AckParams { division, ..ok() };
    let duplicates = |duplicates| AckParams { duplicates, ..ok() };
    let optimistic = |nanos| AckParams { optimistic: Duration::from_nanos(nanos), ..ok() };
    for (params, key) in [
        (ok(), None),
        (division(0), Some("division")),
        (division(65_535), None),
        (division(65_536), Some("division")),
        (duplicates(100_000), None),
        (duplicates(100_001), Some("duplicates")),
        (duplicates(u32::MAX), Some("duplicates")),
        (AckParams { duplicates_interval: Duration::ZERO, ..ok() }, Some("duplicates_interval")),
        (optimistic(1), Some("optimistic")),
        (optimistic(999), Some("optimistic")),
        (optimistic(1000), None),
        (optimistic(1001), None),
        (AckParams { optimistic_step: Bytes::ZERO, ..ok() }, Some("optimistic_step")),
    ] {
        assert_eq!(refused(params.check()), key, "{params:?}");
    }
}

/// Each of the three attacks makes a receiver an attacker; one that only conceals marks is none.
#[test]
fn attackers() {
    let ok = AckParams::default;
    for (params, attacks) in [
        (ok(), false),
        (AckParams { hide_marks: Probability::ONE, ..ok() }, false),
        (AckParams { division: 2, ..ok() }, true),
        (AckParams { duplicates: 1, ..ok() }, true),
        (AckParams { optimistic: ms(1), ..ok() }, true),
    ] {
        assert_eq!(params.attacks(), attacks, "{params:?}");
    }
}

/// Jitter, segments that are left out, and nonces are drawn at random; nothing else is.
#[test]
fn random_mechanisms() {
    let ok = TcpParams::default;
    for (params, random) in [
        (ok(), false),
        (TcpParams { jitter: ms(1), ..ok() }, true),
        (TcpParams { skip_probability: Probability::clamped(0.01), ..ok() }, true),
        (TcpParams { ecn_nonce: true, ..ok() }, true),
    ] {
        assert_eq!(params.is_random(), random, "{params:?}");
    }
}
