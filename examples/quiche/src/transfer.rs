//! What both ends do with the one stream of a connection: the client sends, and the server answers with its count.

use std::time::{Duration, Instant};

use quiche::{Connection, Error};

use crate::Result;
use crate::endpoint::Application;

/// The client's first bidirectional stream (RFC 9000 section 2.1).
const STREAM: u64 = 0;
const CHUNK: usize = 1 << 16;

/// How much is sent.
#[derive(Clone, Copy)]
pub enum Amount {
    Bytes(u64),
    Time(Duration),
}

impl Amount {
    /// Bytes, or a time that ends in `s`.
    pub fn parse(text: &str) -> Option<Amount> {
        match text.strip_suffix('s') {
            Some(seconds) => Duration::try_from_secs_f64(seconds.parse().ok()?).ok().map(Amount::Time),
            None => text.parse().ok().map(Amount::Bytes),
        }
    }
}

/// The client's end.
pub struct Sending {
    amount: Amount,
    sent: u64,
    started: Option<Instant>,
    finished: bool,
    answer: Vec<u8>,
    answered: Option<Instant>,
}

impl Sending {
    pub fn new(amount: Amount) -> Sending {
        Sending { amount, sent: 0, started: None, finished: false, answer: Vec::new(), answered: None }
    }

    /// What the server has counted in which time, and what quiche knows about the path.
    pub fn report(&self, connection: &Connection, cc: &str) -> Result<String> {
        let (Some(started), Some(answered)) = (self.started, self.answered) else {
            return Err(format!("no answer: {}", why(connection)).into());
        };
        let bytes: u64 = std::str::from_utf8(&self.answer)?.parse()?;
        let seconds = (answered - started).as_secs_f64();
        let path = connection.path_stats().next().ok_or("there is no path")?;
        let ms = |time: Duration| 1e3 * time.as_secs_f64();
        Ok(format!(
            r#"{{"cc": "{cc}", "bytes": {bytes}, "seconds": {seconds:.6}, "goodput_mbps": {:.4}, "rtt_ms": {:.3}, "#,
            8e-6 * bytes as f64 / seconds,
            ms(path.rtt),
        ) + &format!(
            r#""min_rtt_ms": {:.3}, "sent": {}, "lost": {}, "pto": {}, "cwnd": {}}}"#,
            path.min_rtt.map_or(0.0, ms),
            path.sent,
            path.lost,
            path.total_pto_count,
            path.cwnd,
        ))
    }

    /// How many bytes may follow now.
    fn left(&self, started: Instant) -> u64 {
        match self.amount {
            Amount::Bytes(bytes) => bytes - self.sent,
            Amount::Time(time) if started.elapsed() < time => u64::MAX,
            Amount::Time(_) => 0,
        }
    }
}

impl Application for Sending {
    fn step(&mut self, connection: &mut Connection) -> quiche::Result<()> {
        let started = *self.started.get_or_insert_with(Instant::now);
        while !self.finished {
            let left = self.left(started);
            let chunk = left.min(CHUNK as u64) as usize;
            match connection.stream_send(STREAM, &[0; CHUNK][..chunk], left == chunk as u64) {
                Ok(written) => {
                    self.sent += written as u64;
                    self.finished = left == written as u64;
                }
                Err(Error::Done) => break,
                Err(error) => return Err(error),
            }
        }
        let answer = &mut self.answer;
        if read(connection, |part| answer.extend_from_slice(part))? {
            self.answered = Some(Instant::now());
            connection.close(true, 0, b"")?;
        }
        Ok(())
    }

    fn until(&self) -> Option<Instant> {
        match (self.amount, self.started) {
            (Amount::Time(time), Some(started)) if !self.finished => Some(started + time),
            _ => None,
        }
    }
}

/// The server's end.
#[derive(Default)]
pub struct Counting {
    received: u64,
}

impl Application for Counting {
    fn step(&mut self, connection: &mut Connection) -> quiche::Result<()> {
        let received = &mut self.received;
        if read(connection, |part| *received += part.len() as u64)? {
            connection.stream_send(STREAM, self.received.to_string().as_bytes(), true)?;
        }
        Ok(())
    }
}

/// Takes what has come; returns whether the other end has finished.
fn read(connection: &mut Connection, mut take: impl FnMut(&[u8])) -> quiche::Result<bool> {
    let mut buffer = [0; CHUNK];
    while connection.stream_readable(STREAM) {
        match connection.stream_recv(STREAM, &mut buffer) {
            Ok((length, finished)) => {
                take(&buffer[..length]);
                if finished {
                    return Ok(true);
                }
            }
            Err(Error::Done) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// Why a connection is closed.
fn why(connection: &Connection) -> String {
    let of = |error: &quiche::ConnectionError| {
        format!("error {:#x} {}", error.error_code, String::from_utf8_lossy(&error.reason))
    };
    match (connection.is_timed_out(), connection.peer_error().or(connection.local_error())) {
        (true, _) => "nothing was heard".into(),
        (false, Some(error)) => of(error),
        (false, None) => "closed".into(),
    }
}
