//! What no header shows, as comments of a packet: one comment per fact, so that a display filter finds it
//! (`frame.comment contains "drop:"`).

use super::{Point, Row};

/// Of Linux: Open, Disorder, CWR, Recovery, Loss.
const STATES: [&str; 5] = ["Open", "Disorder", "CWR", "Recovery", "Loss"];
const LIMITS: [&str; 7] = ["cwnd", "application", "receiver", "pacing", "handshake", "host", "send_buffer"];
const DROPS: [&str; 6] = ["full", "aqm", "wire", "overlimit", "policed", "filtered"];

/// Replaces `comments` with those of `row`.
pub(super) fn write(row: &Row, point: Point, comments: &mut Vec<String>) {
    comments.clear();
    if row.retransmission && !row.is_ack_direction() {
        comments.push("retransmission".to_owned());
    }
    if row.copy_of > 0 {
        comments.push(format!("copy of packet {}", row.copy_of));
    }
    if point == Point::Sender && row.cwnd > 0 {
        comments.push(hidden_state(row));
    }
    if row.drop > 0 {
        comments.push(format!("drop:{}", name(&DROPS, row.drop - 1)));
    }
}

/// The state of the sender after it has sent the packet.
fn hidden_state(row: &Row) -> String {
    let ssthresh = if row.ssthresh == u64::MAX { "inf".to_owned() } else { row.ssthresh.to_string() };
    let srtt_us = row.srtt_ns / 1000;
    format!(
        "cwnd={} ssthresh={ssthresh} in_flight={} srtt_ms={}.{:03} state={} limited_by={}",
        row.cwnd,
        row.in_flight,
        srtt_us / 1000,
        srtt_us % 1000,
        name(&STATES, row.state),
        name(&LIMITS, row.limit),
    )
}

fn name(names: &[&'static str], code: u8) -> &'static str {
    names.get(usize::from(code)).copied().unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sender's state appears only at the sender, the drop where it happens; all codes have names.
    #[test]
    fn facts_at_their_places() {
        let row = Row {
            retransmission: true,
            cwnd: 14_480,
            ssthresh: u64::MAX,
            srtt_ns: 20_100_999,
            state: 3,
            limit: 3,
            in_flight: 2896,
            drop: 2,
            ..Row::default()
        };
        let mut comments = vec!["old".to_owned()];
        write(&row, Point::Sender, &mut comments);
        let state = "cwnd=14480 ssthresh=inf in_flight=2896 srtt_ms=20.100 state=Recovery limited_by=pacing";
        assert_eq!(comments, ["retransmission", state, "drop:aqm"]);
        write(&row, Point::QueueIn, &mut comments);
        assert_eq!(comments, ["retransmission", "drop:aqm"]);
        write(&Row { copy_of: 34, ..row }, Point::QueueIn, &mut comments);
        assert_eq!(comments, ["retransmission", "copy of packet 34", "drop:aqm"]);
        write(&Row { dir: 1, ..Row::default() }, Point::Sender, &mut comments);
        assert!(comments.is_empty());
    }
}
