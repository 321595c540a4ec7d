//! One of windtunnel's controllers in a real QUIC stack, with real TLS, over real UDP sockets on loopback:
//!
//! ```text
//! cargo run --release -p windtunnel-hosted --features quinn,noq --example loopback -- quinn cubic 5
//! ```
//!
//! Each end has a thread, a socket and nothing else; one system call moves one datagram.

#![expect(clippy::disallowed_methods, reason = "the time is real")]

mod end;
#[path = "../../../quic/src/tls.rs"]
mod tls;

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, UdpSocket};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use windtunnel_cc::{ControllerParams, Style, catalogue};

use crate::end::{End, Stats, noq, quinn};

/// The largest datagram.
const LARGEST: usize = 1 << 16;

/// How many datagrams an end takes before it sends.
const BATCH: usize = 64;

/// For how long a socket waits if there is no timer.
const PATIENCE: Duration = Duration::from_millis(10);

/// Takes what has arrived. Waits for the first datagram if `may_wait`, until the end's timer. Returns whether there was
/// any.
fn receive(socket: &UdpSocket, end: &mut dyn End, buffer: &mut [u8], may_wait: bool) -> io::Result<bool> {
    let wait = end.timer().map_or(PATIENCE, |timer| timer.saturating_duration_since(Instant::now()));
    let mut waits = may_wait && !wait.is_zero();
    if waits {
        socket.set_nonblocking(false)?;
        socket.set_read_timeout(Some(wait.min(PATIENCE)))?;
    }
    for n in 0..BATCH {
        match socket.recv(buffer) {
            Ok(length) => end.receive(&buffer[..length], Instant::now()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                socket.set_nonblocking(true)?;
                return Ok(n > 0);
            }
            Err(error) => return Err(error),
        }
        if std::mem::take(&mut waits) {
            socket.set_nonblocking(true)?;
        }
    }
    Ok(true)
}

/// Sends what the stack lets go. Returns whether there was any. What the socket does not take is lost.
fn send(socket: &UdpSocket, end: &mut dyn End, datagram: &mut Vec<u8>) -> io::Result<bool> {
    let mut sent = false;
    for _ in 0..BATCH {
        datagram.clear();
        if !end.transmit(datagram, Instant::now()) {
            break;
        }
        sent = true;
        match socket.send(datagram) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
    }
    Ok(sent)
}

/// Runs one end until `stop`. `work` reads or writes.
fn run(
    socket: &UdpSocket,
    end: &mut dyn End,
    stop: &AtomicBool,
    mut work: impl FnMut(&mut dyn End),
) -> io::Result<()> {
    let (mut buffer, mut datagram) = (vec![0; LARGEST], Vec::new());
    socket.set_nonblocking(true)?;
    let mut is_idle = false;
    while !stop.load(Ordering::Relaxed) {
        let received = receive(socket, end, &mut buffer, is_idle)?;
        let now = Instant::now();
        if end.timer().is_some_and(|timer| timer <= now) {
            end.expire(now);
        }
        work(end);
        let sent = send(socket, end, &mut datagram)?;
        is_idle = !received && !sent;
    }
    Ok(())
}

/// Moves data for `seconds`. Returns how many bytes arrived, and what the sender knows.
fn transfer(stack: &str, params: Arc<dyn ControllerParams>, seconds: u64) -> io::Result<(u64, Stats)> {
    let [client, server] =
        [UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?];
    client.connect(server.local_addr()?)?;
    server.connect(client.local_addr()?)?;
    let start = Instant::now();
    let peers = (server.local_addr()?, client.local_addr()?);
    let (mut sender, mut receiver) = match stack {
        "quinn" => (
            quinn::client(peers.0, Arc::new(windtunnel_hosted::quinn::Factory::new(params, 1)), start),
            quinn::server(peers.1),
        ),
        _ => (
            noq::client(peers.0, Arc::new(windtunnel_hosted::noq::Factory::new(params, 1)), start),
            noq::server(peers.1),
        ),
    };
    let stop = AtomicBool::new(false);
    let mut read = 0;
    thread::scope(|scope| {
        let receiving = scope.spawn(|| run(&server, &mut *receiver, &stop, |end| read += end.read()));
        let sent = run(&client, &mut *sender, &stop, |end| {
            end.write();
            if start.elapsed() >= Duration::from_secs(seconds) {
                stop.store(true, Ordering::Relaxed);
            }
        });
        stop.store(true, Ordering::Relaxed);
        sent.and(receiving.join().expect("the receiver does not panic"))
    })?;
    Ok((read, sender.stats()))
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let controllers = catalogue(Style::Linux);
    let names: Vec<&str> = controllers.iter().map(|params| params.name()).collect();
    let [stack, name, seconds] = &args[..] else {
        eprintln!("usage: loopback quinn|noq CONTROLLER SECONDS\ncontrollers: {}", names.join(", "));
        return ExitCode::from(2);
    };
    let params = controllers.iter().find(|params| params.name() == name);
    let (Some(params), Ok(seconds), "quinn" | "noq") = (params, seconds.parse::<u64>(), stack.as_str())
    else {
        eprintln!("no such stack, controller or time; controllers: {}", names.join(", "));
        return ExitCode::from(2);
    };
    match transfer(stack, Arc::clone(params), seconds) {
        Ok((read, Stats { window, sent, lost, rtt })) => {
            let mbps = read as f64 * 8e-6 / seconds as f64;
            println!(
                "{name} in {stack}: {mbps:.0} Mbit/s; {lost} of {sent} packets lost; cwnd {window} B; RTT {rtt:?}"
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
