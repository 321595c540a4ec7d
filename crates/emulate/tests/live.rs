//! A path between two devices, by a real clock. Pairs of datagram sockets take the place of devices: whole packets go in and
//! come out, as they do with TUN. Nothing here depends on how fast the machine is.

use std::io::ErrorKind;
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use etherparse::PacketBuilder;
use windtunnel_emulate::{Emulation, Live, Traffic};
use windtunnel_scenario::{Registry, Scenario};

const TEXT: &str = r#"
    duration = "1 s"
    [bottleneck]
    rate = "100 Mbit/s"
    queue = "fifo"
    [[flow]]
    cc = "cubic"
    rtt = "10 ms"
"#;

fn packet(from: u8, to: u8) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, from], [10, 0, 0, to], 64).udp(7, 7);
    builder.write(&mut packet, &[1; 100]).expect("a packet");
    packet
}

/// A device, and what the host sees of it.
fn device() -> (UnixDatagram, UnixDatagram) {
    let (device, host) = UnixDatagram::pair().expect("sockets");
    device.set_nonblocking(true).expect("a socket");
    host.set_read_timeout(Some(Duration::from_secs(20))).expect("a socket");
    (device, host)
}

fn start(near: UnixDatagram, far: UnixDatagram) -> Live {
    let scenario = Scenario::parse(TEXT, None, &[], &Registry::default()).expect("a scenario");
    let path = Emulation::new(&scenario, &Traffic::default()).expect("a path");
    #[expect(clippy::disallowed_methods, reason = "the path's clock is real")]
    Live::start(path, [near.into(), far.into()], Instant::now(), None).expect("a thread")
}

/// A packet passes forwards and its answer backwards, as they were; both took their time, and the result counts the one
/// that went forwards.
#[test]
fn packets_pass_both_ways() {
    let ((near, client), (far, server)) = (device(), device());
    let mut live = start(near, far);
    let mut read = [0; 2000];
    client.send(&packet(1, 2)).expect("room");
    let length = server.recv(&mut read).expect("the packet");
    assert_eq!(read[..length], packet(1, 2));
    server.send(&packet(2, 1)).expect("room");
    let length = client.recv(&mut read).expect("the answer");
    assert_eq!(read[..length], packet(2, 1));
    assert!(live.is_running());
    let (path, end) = live.stop().expect("the path");
    assert!(live.stop().is_none(), "it stops once");
    let seen = live.snapshot();
    assert_eq!((seen.packets, seen.flows, seen.lateness.packets()), (2, 1, 2));
    assert!(end.since_start() >= windtunnel_units::Duration::from_millis(10), "a round trip has passed");
    let (result, _) = path.finish(end).expect("memory");
    assert_eq!(result.summary.flows[0].received_bytes, 128);
}

/// A device that goes away ends the path, which says which one it was.
#[test]
fn a_broken_device_ends_it() {
    let ((near, client), (far, server)) = (device(), device());
    let live = start(near, far);
    drop(server);
    client.send(&packet(1, 2)).expect("room");
    #[expect(clippy::disallowed_methods, reason = "a real clock ends a test that hangs")]
    let started = Instant::now();
    while live.is_running() && started.elapsed() < Duration::from_secs(20) {
        std::thread::yield_now();
    }
    let broken = live.snapshot().broken.expect("a device broke");
    assert!(broken.starts_with("the far device: "), "{broken}");
    assert_eq!(client.send(&packet(1, 2)).map_err(|e| e.kind()), Err(ErrorKind::ConnectionRefused));
}
