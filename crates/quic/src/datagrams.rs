//! Media in DATAGRAM frames (RFC 9221), which arrive or do not: nothing is sent again.
//!
//! A frame starts with its number and the time at which it was written; the rest is zeros. The receiver tells from the
//! numbers which are missing, and from the times how old they are. A sender writes none before its handshake is done.

use std::collections::VecDeque;

use windtunnel_sim::application::Receipts;
use windtunnel_sim::endpoint::Receipt;
use windtunnel_units::{Bytes, Time};

use crate::seed::CID_LENGTH;

/// What a packet has besides the data of one frame: a short header with a connection ID and a packet number of four
/// bytes, the cipher's tag (RFC 9000 section 17.3.1, RFC 9001 section 5.3), and the frame's type and length.
pub(crate) const OVERHEAD: Bytes = Bytes::new(1 + CID_LENGTH as u64 + 4 + 16 + 1 + 8);

/// The bytes of a number and a time: no frame is shorter.
const HEADER: usize = 16;

/// The frames that a sender has written.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    written: u64,
}

impl Outbox {
    /// The next frame, of `size`.
    pub(crate) fn next(&mut self, size: Bytes, now: Time) -> bytes::Bytes {
        self.written += 1;
        let mut frame = vec![0; HEADER.max(size.get() as usize)];
        frame[..8].copy_from_slice(&self.written.to_be_bytes());
        frame[8..HEADER].copy_from_slice(&now.as_nanos().to_be_bytes());
        frame.into()
    }

    /// How many there are.
    pub(crate) const fn written(&self) -> u64 {
        self.written
    }
}

/// The frames that have arrived.
#[derive(Debug)]
pub(crate) struct Inbox {
    receipts: Receipts,
    /// What the frames of the last packet told.
    told: VecDeque<Receipt>,
}

impl Inbox {
    pub(crate) fn new() -> Inbox {
        Inbox { receipts: Receipts::new(), told: VecDeque::new() }
    }

    /// A frame arrives. Returns its bytes, if it is new.
    pub(crate) fn receive(&mut self, frame: &[u8], now: Time) -> Bytes {
        let Some((&header, _)) = frame.split_first_chunk::<HEADER>() else { return Bytes::ZERO };
        let [number, sent] = [0, 8].map(|at| u64::from_be_bytes(std::array::from_fn(|i| header[at + i])));
        let receipt = self.receipts.record(number, Time::from_nanos(sent), now);
        self.told.push_back(receipt);
        if receipt.new { Bytes::new(frame.len() as u64) } else { Bytes::ZERO }
    }

    /// What a frame told; call until there is none.
    pub(crate) fn receipt(&mut self) -> Option<Receipt> {
        self.told.pop_front()
    }
}
