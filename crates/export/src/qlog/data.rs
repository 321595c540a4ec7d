//! Packets with data, told by what is new in each: a log has one of them for each packet of a flow.
//!
//! In the current drafts all members of a packet but its type are optional. What follows from the packets before it is left out:
//!
//! - `frames`, where a packet carries the bytes that follow all that were told so far, and does not end the stream. A
//!   packet whose number is a multiple of 256 has them in any case, so that a reader who has missed one finds its place again.
//! - `payload_length`, where the headers are as long as those of the packet with data before it.
//!
//! The names of 0.3 are those that qvis reads, which needs the frames: all are written.

use super::Version;
use super::flow::{FIN, header};
use super::record::Object;
use crate::packets::Row;

/// One packet in this many has its frames in any case.
const WHOLE: u64 = 256;

/// What a log has told of the data so far.
#[derive(Debug, Default)]
pub(super) struct Data {
    /// Where they end.
    end: u64,
    /// The length of the last packet's headers.
    headers: Option<u32>,
}

impl Data {
    /// A packet with data, or with the end of the stream; `number` is its packet number, if it is known.
    pub(super) fn packet(&mut self, data: &mut Object<'_>, row: &Row, number: Option<u64>, version: Version) {
        let is_current = version == Version::Current;
        let fin = row.flags & FIN != 0;
        let headers = row.size.saturating_sub(row.payload);
        let usual = self.headers.replace(headers) == Some(headers);
        let follows =
            row.seq == self.end && !fin && number.is_some_and(|number| !number.is_multiple_of(WHOLE));
        self.end = self.end.max(row.seq + u64::from(row.payload) + u64::from(fin));
        header(data, row, number);
        data.object("raw", |raw| {
            raw.number("length", row.size);
            if is_current && !usual {
                raw.number("payload_length", row.payload);
            }
        });
        if is_current && follows {
            return;
        }
        data.only("frames", |frame| {
            frame.text("frame_type", "stream");
            frame.number("stream_id", 0);
            frame.number("offset", row.seq.saturating_sub(1));
            if !is_current {
                frame.number("length", row.payload);
            }
            if fin {
                frame.number("fin", true);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qlog::record::Text;

    fn told(data: &mut Data, number: u64, row: Row, version: Version) -> String {
        let (mut text, mut out) = (Text::default(), String::new());
        text.record(|object| data.packet(object, &row, Some(number), version));
        text.take(|bytes| {
            out = String::from_utf8_lossy(bytes).into_owned();
            Ok(())
        })
        .expect("nothing is written");
        out
    }

    fn row(seq: u64, payload: u32, headers: u32, flags: u32) -> Row {
        Row { seq, payload, size: payload + headers, flags, ..Row::default() }
    }

    /// What follows from the packets before is not told: only in the current drafts, and not where bytes are sent again,
    /// skipped, or the last.
    #[test]
    fn what_is_new() {
        let mut data = Data::default();
        for (number, row, payload_length, offset) in [
            (0, row(1, 100, 52, 0), Some(100), Some(0)),
            (1, row(101, 100, 52, 0), None, None),
            (2, row(201, 40, 52, 0), None, None),
            (3, row(101, 100, 52, 0), None, Some(100)),
            (4, row(241, 100, 60, 0), Some(100), None),
            (5, row(441, 100, 60, 0), None, Some(440)),
            (256, row(541, 100, 60, 0), None, Some(540)),
            (257, row(641, 100, 60, FIN), None, Some(640)),
            (258, row(742, 100, 60, 0), None, None),
        ] {
            let text = told(&mut data, number, row, Version::Current);
            let whole = format!("\"length\":{}", row.size);
            let payload_length = payload_length.map(|length| format!("\"payload_length\":{length}"));
            let offset = offset.map(|offset| format!("\"offset\":{offset}"));
            assert!(text.contains(&whole), "{text}");
            assert_eq!(text.contains("payload_length"), payload_length.is_some(), "{text}");
            assert!(payload_length.is_none_or(|member| text.contains(&member)), "{text}");
            assert_eq!(text.contains("frames"), offset.is_some(), "{text}");
            assert!(offset.is_none_or(|member| text.contains(&member)), "{text}");
        }
        let mut data = Data::default();
        for number in 0..3 {
            let text = told(&mut data, number, row(1 + 100 * number, 100, 52, 0), Version::V03);
            assert!(text.contains(&format!("\"offset\":{},\"length\":100", 100 * number)), "{text}");
        }
    }
}
