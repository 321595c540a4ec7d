//! What both halves ask of one end of a connection, whichever stack it is.

use std::fmt::Debug;
use std::time::Instant;

use windtunnel_wire::Ecn;

/// What happened to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    /// The handshake is done: streams may be opened.
    Connected,
    /// All of a stream that was finished is acknowledged.
    Finished(u64),
    /// The connection is closed, or lost: why.
    Closed(String),
}

/// One end of a connection in a stack. Streams have one direction, from the client to the server; a number names each.
pub(crate) trait Connection: Debug + Send {
    /// The client starts the handshake.
    fn connect(&mut self, now: Instant);

    /// A datagram arrives.
    fn receive(&mut self, datagram: &[u8], ecn: Ecn, now: Instant);

    /// Writes the next datagram that leaves now into `datagram`, which is empty. Returns its ECN field.
    fn transmit(&mut self, datagram: &mut Vec<u8>, now: Instant) -> Option<Ecn>;

    /// When [`Connection::expire`] wants to be called.
    fn next_timer(&mut self) -> Option<Instant>;

    /// The timer has expired.
    fn expire(&mut self, now: Instant);

    /// What happened; call until there is nothing.
    fn happened(&mut self) -> Option<Happening>;

    /// Opens a stream, if the other end allows one more.
    fn open(&mut self) -> Option<u64>;

    /// Writes into a stream. Returns how many bytes the connection took.
    fn write(&mut self, stream: u64, data: &'static [u8]) -> usize;

    /// No more data follow in a stream.
    fn finish(&mut self, stream: u64);

    /// Gives a stream up, with what has not arrived.
    fn reset(&mut self, stream: u64);

    /// Reads all that is there of all streams, each in order. Returns the number of bytes.
    fn read(&mut self) -> u64;

    /// Writes a DATAGRAM frame; if too many wait, the oldest gives way. A stack that has none is never asked.
    fn send_datagram(&mut self, _frame: bytes::Bytes) {}

    /// DATAGRAM frames wait to be sent.
    fn holds_datagrams(&mut self) -> bool {
        false
    }

    /// Reads a DATAGRAM frame; call until there is none.
    fn read_datagram(&mut self) -> Option<bytes::Bytes> {
        None
    }

    /// Closes the connection.
    fn close(&mut self, now: Instant);

    /// The congestion window in bytes.
    fn window(&self) -> Option<u64>;

    /// What decrypts its packets, in the lines of a key log; nothing if it does not tell.
    fn secrets(&self) -> String {
        String::new()
    }
}
