//! The send buffer. Recordings cover what the sender transmits with one (`linux_buffer.py` of the validation); these
//! tests cover what the application writes, and what no recording of transmissions shows.

use windtunnel_tcp::{Limited, TcpParams};
use windtunnel_units::Bytes;

use super::harness::{Lab, MSS, Script, Setup, Told, at, lost};

fn buffered(size: u64, autotuned: bool) -> Lab {
    buffered_with(size, autotuned, Script::default())
}

fn buffered_with(size: u64, autotuned: bool, script: Script) -> Lab {
    let params = TcpParams {
        send_buffer: Some(Bytes::new(size)),
        send_autotuning: autotuned,
        ..crate::fixed_window()
    };
    Lab::new(Setup { params, ..Setup::default() }, script)
}

/// Segments acknowledged and written, whenever the application has written more.
fn writes(lab: &mut Lab, until_ms: u64) -> Vec<(u64, u64)> {
    let mut seen: Vec<(u64, u64)> = Vec::new();
    // Segments leave the bottleneck 10 us apart, so that each ACK is seen.
    for step in 0..until_ms * 200 {
        lab.run_exactly_until(at(0) + windtunnel_units::Duration::from_micros(5 * step));
        let written = lab.sender.written() / MSS;
        if seen.last().is_none_or(|last| last.1 < written) {
            seen.push(((lab.sender.snd_una().get() - 1) / MSS.get(), written));
        }
    }
    seen
}

/// As Linux 6.18 did it with segments of 1448 bytes, Reno, and an ACK for each segment (`SO_MEMINFO` and the return values
/// of send(2), read when the socket became writable): 21 segments fit into two windows of ten 2304 bytes; the buffer
/// follows cwnd, and the application writes when a third of it is free.
#[test]
fn writes_as_linux() {
    let mut lab = buffered(4 << 20, true);
    lab.spacing = windtunnel_units::Duration::from_micros(10);
    lab.write_endless();
    let linux = [
        (0, 21),
        (4, 33),
        (9, 48),
        (15, 66),
        (23, 90),
        (33, 120),
        (46, 160),
        (63, 211),
        (85, 277),
        (113, 362),
        (149, 471),
    ];
    assert_eq!(writes(&mut lab, 300)[..linux.len()], linux);
}

/// `tcp_sndbuf_expand`: what counts for a segment of 1448 bytes follows the longest headers that the kernel was built for
/// (`MAX_TCP_HEADER`, 192, 256 and 320 bytes; 384 less than the block of headers): 1460 bytes with 192 or 256, and 320 for
/// fragments, fit into 2048 bytes, with 320 not. So 20 segments of the initial window are 46,080 or 87,040 bytes, and the
/// application writes until that, or `tcp_wmem[1]`, is reached with 1448 bytes, the block and 256 each.
#[test]
fn starts_by_the_kernels_build() {
    for (header_block, initial, segments) in [
        (576, 16 << 10, 21), // 46,080 / 2280
        (640, 16 << 10, 20), // 46,080 / 2344
        (704, 16 << 10, 37), // 87,040 / 2408
        (576, 64 << 10, 29), // 65,536 / 2280
        (640, 64 << 10, 28), // 65,536 / 2344
        (704, 64 << 10, 37),
    ] {
        let params = TcpParams {
            send_buffer: Some(Bytes::new(64 << 20)),
            initial_send_buffer: Bytes::new(initial),
            header_block: Bytes::new(header_block),
            ..crate::fixed_window()
        };
        let mut lab = Lab::new(Setup { params, ..Setup::default() }, Script::default());
        lab.write_endless();
        lab.run_exactly_until(at(0));
        assert_eq!(
            lab.sender.written() / MSS,
            segments,
            "{header_block} bytes for headers, {initial} at first"
        );
    }
}

/// 64 KiB hold 29 segments of 2280 bytes, and the application always writes ten at a time; cwnd stops at twice what is
/// used (the growth gate), and the buffer is the limit.
#[test]
fn a_full_buffer_limits() {
    let mut lab = buffered(65_536, true);
    lab.spacing = windtunnel_units::Duration::from_micros(10);
    lab.write_endless();
    let seen = writes(&mut lab, 400);
    let steps: Vec<u64> = seen[2..].windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    assert!(steps.len() > 10 && steps.iter().all(|step| *step == 10), "{seen:?}");
    assert_eq!(lab.cwnd(), 58);
    assert_eq!(lab.sender.limited_by(), Limited::SendBuffer);
    let limited = lab.sender.stats().limited[Limited::SendBuffer as usize];
    assert!(limited > windtunnel_units::Duration::from_millis(200), "{limited}");
}

/// Recorded from Linux 6.18, segment 60 lost: at the ACK of 54 the application has written 83 segments, and it writes
/// ten more when 15 of the 24 outstanding are SACKed. Merged into one packet buffer, they free 14 times 832 bytes; 13
/// would not be enough, and without them the application would sleep until the retransmission is acknowledged.
#[test]
fn sacked_segments_share_memory() {
    let mut lab = buffered_with(65_536, true, lost([59]));
    lab.spacing = windtunnel_units::Duration::from_micros(10);
    lab.write_endless();
    let seen = writes(&mut lab, 600);
    let from = seen.iter().position(|&(_, written)| written == 83);
    assert_eq!(
        from.map(|from| &seen[from..from + 3]),
        Some(&[(54, 83), (59, 93), (83, 112)][..]),
        "{seen:?}"
    );
}

/// Recorded from Linux 6.18: the part of cwnd that the buffer leaves unused does not decay (RFC 2861 means the
/// application's limit).
#[test]
fn the_buffer_is_not_the_application() {
    for autotuned in [true, false] {
        let mut lab = buffered(65_536, autotuned);
        lab.spacing = windtunnel_units::Duration::from_micros(10);
        lab.write_endless();
        lab.run_until(at(3_000));
        assert!(!lab.told().iter().any(|told| matches!(told, Told::Validation(_))), "{:?}", lab.told());
        assert_eq!(lab.cwnd(), 58);
    }
}

/// `SO_SNDBUF`: all of it from the start, and no more.
#[test]
fn a_fixed_buffer() {
    let mut lab = buffered(65_536, false);
    lab.write_endless();
    assert_eq!(lab.sender.written() / MSS, 29);
    lab.run_until(at(2_000));
    assert!(lab.sender.written() - (Bytes::new(lab.sender.snd_una().get() - 1)) <= MSS * 29);
}

/// A buffer of any size delivers everything, and the application closes when the last byte is in it.
#[test]
fn everything_is_delivered() {
    for size in [4608, 5000, 16_384, 65_536, 1 << 20] {
        let mut lab = buffered(size, true);
        lab.write(100);
        while lab.sender.is_writing() {
            lab.run_until(lab.now + windtunnel_units::Duration::from_millis(1));
        }
        lab.sender.close();
        lab.run_to_the_end();
        assert_eq!(lab.received(), MSS * 100 + Bytes::new(1), "{size}");
    }
}

/// An application that stops while it waits for room writes no more: unsent data are dropped, what is in the
/// network is still delivered.
#[test]
fn a_stopped_application_writes_no_more() {
    let mut lab = buffered(64 << 10, false);
    lab.write_endless();
    lab.run_until(at(100));
    let sent = lab.sender.stats().segments_sent;
    lab.sender.stop();
    lab.run_until(at(1000));
    assert!(sent > 0);
    assert_eq!(lab.sender.stats().segments_sent, sent);
    assert!(lab.sender.is_drained());
}
