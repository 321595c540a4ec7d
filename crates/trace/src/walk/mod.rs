//! Follows senders through a table of segments: what each departure and each acknowledgement says.
//!
//! The capture point may be anywhere on the path. A sender knows of an acknowledgement only once it has arrived, so
//! where the way from the capture point to the sender takes a notable part of the round trip, acknowledgements are
//! applied when the sender has seen them: when its timestamps echo theirs (RFC 7323 section 3), else after the least
//! time between the capture point and the sender. The amount in flight is then the sender's own number, wherever the
//! capture was made.

mod ahead;
mod clock;
mod rows;
mod scoreboard;
mod sender;

pub use rows::{AckKind, Acks, SendKind, Sends, Walked};

use sender::{Sender, acknowledges, carries_data};

use crate::segments::Segments;

/// What is known about a connection besides its segments.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The payload of a full segment.
    pub mss: u64,
    /// Its segments carry timestamps.
    pub timestamps: bool,
    /// The receive window is in bytes, because its scale is known.
    pub window: bool,
}

/// Rows between two questions whether to go on: less than a tenth of a second.
const STEP: usize = 1 << 16;

/// Goes through the rows of all connections, while `go_on` says so; else there is no answer. What it has gone through it
/// drops, so that the segments and what is found in them need no room at the same time.
pub fn walk(segments: Segments, connections: &[Known], go_on: &dyn Fn() -> bool) -> Option<Walked> {
    let back = clock::least_way_back(&segments, connections);
    let mut senders: Vec<Sender> =
        connections.iter().zip(&back).map(|(connection, back)| Sender::new(*connection, *back)).collect();
    let (sends, acks) = segments.rows().fold((0, 0), |(sends, acks), row| {
        (sends + usize::from(carries_data(row)), acks + usize::from(acknowledges(row)))
    });
    let mut walked = Walked::with_room(sends, acks);
    for part in segments.into_parts() {
        for (n, row) in part.rows.iter().enumerate() {
            if n.is_multiple_of(STEP) && !go_on() {
                return None;
            }
            if let Some(sender) = senders.get_mut(row.flow as usize) {
                sender.segment(row, part.sack(row), &mut walked);
            }
        }
    }
    for sender in &mut senders {
        sender.finish(&mut walked);
    }
    walked.back_ns = back.iter().map(|way| way.least_ns).collect();
    walked.at_sender = back.iter().map(|way| way.at_sender).collect();
    Some(walked)
}
