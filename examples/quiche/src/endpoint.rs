//! One UDP socket, one clock, and one loop: packets in, packets out when quiche says so, and its timers.
//!
//! quiche gives each packet a time of departure (`SendInfo::at`), until which it is held. With BBR that is pacing; quiche
//! 0.30 does not pace Reno and CUBIC: all that their window allows departs at once. It neither sends ECT nor counts CE.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use quiche::{Config, Connection, ConnectionId, Error, Header, MAX_CONN_ID_LEN, RecvInfo, Type};

use crate::Result;

/// The most bytes of a datagram: with IPv6 and UDP in front of them they fill 1500 bytes.
pub const PAYLOAD: usize = 1452;
const LARGEST: usize = 1 << 16;

/// What is done with the streams of a connection.
pub trait Application {
    /// Read and write what is possible now.
    fn step(&mut self, connection: &mut Connection) -> quiche::Result<()>;

    /// When it wants to do something, whatever the network does.
    fn until(&self) -> Option<Instant> {
        None
    }
}

/// A connection, and packets that wait for their departure.
struct Peer<A> {
    connection: Connection,
    application: A,
    address: SocketAddr,
    waiting: VecDeque<(Instant, Vec<u8>)>,
}

impl<A: Application> Peer<A> {
    fn new(connection: Connection, application: A, address: SocketAddr) -> Peer<A> {
        Peer { connection, application, address, waiting: VecDeque::new() }
    }

    /// Do what is due; returns when there is more to do.
    fn step(&mut self, socket: &UdpSocket) -> Result<Next> {
        self.connection.on_timeout();
        if self.connection.is_established() && !self.connection.is_closed() {
            self.application.step(&mut self.connection)?;
        }
        let now = Instant::now();
        let more = self.ask(now)?;
        let blocked = self.send(socket, now)?;
        let first = self.waiting.front().map(|(at, _)| *at).filter(|_| !blocked);
        let timers = [first, more, self.connection.timeout_instant(), self.application.until()];
        Ok(Next { at: timers.into_iter().flatten().min(), blocked })
    }

    /// Ask quiche for packets up to the time that it advises, so that waking up late does not add up; returns when to ask
    /// for the next one.
    fn ask(&mut self, now: Instant) -> Result<Option<Instant>> {
        let ahead = self.connection.max_release_into_future();
        let mut packet = [0; PAYLOAD];
        loop {
            let release = self.connection.get_next_release_time().and_then(|decision| decision.time(now));
            if let Some(release) = release.filter(|release| *release > now + ahead) {
                return Ok(Some(release - ahead));
            }
            match self.connection.send(&mut packet) {
                Ok((length, info)) => self.waiting.push_back((info.at, packet[..length].to_vec())),
                Err(Error::Done) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Send the packets whose time has come; returns whether the socket takes no more.
    fn send(&mut self, socket: &UdpSocket, now: Instant) -> Result<bool> {
        while let Some((_, packet)) = self.waiting.front().filter(|(at, _)| *at <= now) {
            match socket.send_to(packet, self.address) {
                Ok(_) => self.waiting.pop_front(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error.into()),
            };
        }
        Ok(false)
    }
}

/// When there is more to do, and whether a packet waits for room in the socket.
#[derive(Default)]
struct Next {
    at: Option<Instant>,
    blocked: bool,
}

impl Next {
    fn or(self, other: Next) -> Next {
        let at = [self.at, other.at].into_iter().flatten().min();
        Next { at, blocked: self.blocked || other.blocked }
    }
}

/// A socket.
pub struct Endpoint {
    socket: UdpSocket,
    local: SocketAddr,
    buffer: Box<[u8]>,
}

impl Endpoint {
    pub fn bind(address: SocketAddr) -> io::Result<Endpoint> {
        let socket = UdpSocket::bind(address)?;
        socket.set_nonblocking(true)?;
        Ok(Endpoint { local: socket.local_addr()?, socket, buffer: vec![0; LARGEST].into_boxed_slice() })
    }

    /// Serve everyone, without end. A connection that fails is forgotten.
    pub fn serve<A: Application>(&mut self, config: &mut Config, application: impl Fn() -> A) -> Result<()> {
        let mut peers: HashMap<SocketAddr, Peer<A>> = HashMap::new();
        loop {
            let mut next = Next::default();
            peers.retain(|_, peer| match peer.step(&self.socket) {
                Ok(more) => {
                    next = std::mem::take(&mut next).or(more);
                    !peer.connection.is_closed()
                }
                Err(error) => {
                    eprintln!("{}: {error}", peer.address);
                    false
                }
            });
            wait(&self.socket, &next)?;
            while let Some((length, from)) = self.receive()? {
                let packet = &mut self.buffer[..length];
                if !peers.contains_key(&from) && is_initial(packet) {
                    let connection = quiche::accept(&random_id()?, None, self.local, from, config)?;
                    peers.insert(from, Peer::new(connection, application(), from));
                }
                if let Some(peer) = peers.get_mut(&from) {
                    // What is wrong with a packet is the connection's to tell.
                    let _ = peer.connection.recv(packet, RecvInfo { from, to: self.local });
                }
            }
        }
    }

    /// One connection from its start to its end.
    pub fn connect<A: Application>(
        &mut self,
        server: SocketAddr,
        config: &mut Config,
        application: A,
    ) -> Result<(Connection, A)> {
        let connection = quiche::connect(Some("windtunnel"), &random_id()?, self.local, server, config)?;
        let mut peer = Peer::new(connection, application, server);
        loop {
            let next = peer.step(&self.socket)?;
            // It stays for a while after the last packet, for what is on its way (RFC 9000 section 10.2).
            if peer.connection.is_closed() {
                return Ok((peer.connection, peer.application));
            }
            wait(&self.socket, &next)?;
            while let Some((length, from)) = self.receive()? {
                let _ = peer.connection.recv(&mut self.buffer[..length], RecvInfo { from, to: self.local });
            }
        }
    }

    fn receive(&mut self) -> io::Result<Option<(usize, SocketAddr)>> {
        match self.socket.recv_from(&mut self.buffer) {
            Ok(received) => Ok(Some(received)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::ConnectionRefused) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn is_initial(packet: &mut [u8]) -> bool {
    Header::from_slice(packet, MAX_CONN_ID_LEN).is_ok_and(|header| header.ty == Type::Initial)
}

fn random_id() -> Result<ConnectionId<'static>> {
    let mut id = vec![0; MAX_CONN_ID_LEN];
    boring::rand::rand_bytes(&mut id)?;
    Ok(ConnectionId::from_vec(id))
}

/// Wait until a packet comes, until there is room for one that waits, or until it is time. Timeouts of sockets are too
/// coarse to pace by.
fn wait(socket: &UdpSocket, next: &Next) -> io::Result<()> {
    let events = libc::POLLIN | if next.blocked { libc::POLLOUT } else { 0 };
    let mut watched = libc::pollfd { fd: socket.as_raw_fd(), events, revents: 0 };
    let left = next.at.map(|at| at.saturating_duration_since(Instant::now()));
    let left = left.map(|left: Duration| libc::timespec {
        tv_sec: left.as_secs() as libc::time_t,
        tv_nsec: left.subsec_nanos().into(),
    });
    let left = left.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    // SAFETY: both pointers are to values that live until it returns, or null, which means no timeout and no mask.
    let done = unsafe { libc::ppoll(&mut watched, 1, left, std::ptr::null()) };
    match io::Error::last_os_error() {
        error if done < 0 && error.kind() != ErrorKind::Interrupted => Err(error),
        _ => Ok(()),
    }
}
