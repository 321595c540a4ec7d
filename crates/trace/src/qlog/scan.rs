//! Finds the records of a log in a stream of bytes, without understanding them.
//!
//! A JSON text sequence is a head and then events, each a JSON text of its own (RFC 7464; some write line feeds in place of
//! separators). The contained form is one object, `{.., "traces": [{.., "events": [..]}]}`. Its parts before and after the events
//! may stand in any order. Of both forms only one event at a time is in memory.

/// Longer records are passed over: an event of a real stack has some kilobytes at most.
const LONGEST: usize = 1 << 22;
const RECORD_SEPARATOR: u8 = 0x1e;
/// The key under which arrays of events are found, and where.
const TRACES: (usize, &[u8]) = (1, b"traces");
const EVENTS: (usize, &[u8]) = (3, b"events");

/// What is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found<'a> {
    /// A record of a sequence: its head, or an event.
    Record(&'a [u8]),
    /// What stands before the events of a trace: an object without its last brackets.
    TraceStarts(&'a [u8]),
    /// An event of a trace.
    Event(&'a [u8]),
    /// A whole trace without its events.
    TraceEnds(&'a [u8]),
    /// A record that is too long, or that ends before its last bracket.
    Broken,
}

/// The place in the text.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the place")]
pub(super) struct Scanner {
    /// Open brackets.
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The last string.
    key: Vec<u8>,
    /// The open record, without the events of a contained one.
    record: Vec<u8>,
    /// The open event of a trace.
    event: Vec<u8>,
    /// It is too long; what comes of it is passed over.
    too_long: bool,
    /// The contained form.
    contained: bool,
    /// Where the open trace starts in the record.
    trace: usize,
    in_events: bool,
}

impl Scanner {
    /// Goes through the next bytes.
    pub(super) fn feed(&mut self, bytes: &[u8], found: &mut dyn FnMut(Found<'_>)) {
        for byte in bytes {
            self.step(*byte, found);
        }
    }

    /// The text ends. Returns whether a record is open.
    pub(super) fn finish(&mut self) -> bool {
        std::mem::take(&mut self.depth) > 0
    }

    fn step(&mut self, byte: u8, found: &mut dyn FnMut(Found<'_>)) {
        // No JSON text has this byte.
        if byte == RECORD_SEPARATOR {
            if self.depth > 0 {
                found(Found::Broken);
            }
            *self = Scanner::default();
            return;
        }
        if self.in_string {
            self.push(byte);
            self.in_string = byte != b'"' || self.escaped;
            self.escaped = byte == b'\\' && !self.escaped;
            if self.in_string && self.key.len() < 16 {
                self.key.push(byte);
            }
            return;
        }
        match byte {
            b'"' if self.depth > 0 => {
                (self.in_string, self.escaped) = (true, false);
                self.key.clear();
                self.push(byte);
            }
            b'{' | b'[' => self.open(byte, found),
            b'}' | b']' if self.depth > 0 => self.close(byte, found),
            _ if self.depth > 0 => self.push(byte),
            _ => {}
        }
    }

    fn push(&mut self, byte: u8) {
        let (text, least) =
            if self.in_events { (&mut self.event, EVENTS.0 + 2) } else { (&mut self.record, 1) };
        // Between events are commas and spaces.
        if self.depth < least && self.in_events {
            return;
        }
        if text.len() < LONGEST {
            text.push(byte);
        } else {
            self.too_long = true;
        }
    }

    fn is_at(&self, (depth, key): (usize, &[u8])) -> bool {
        self.depth == depth && self.key == key
    }

    fn open(&mut self, byte: u8, found: &mut dyn FnMut(Found<'_>)) {
        if byte == b'[' && self.is_at(TRACES) {
            self.contained = true;
        }
        if byte == b'{' && self.contained && self.depth == EVENTS.0 - 1 {
            self.trace = self.record.len();
        }
        let events = byte == b'[' && self.contained && !self.in_events && self.is_at(EVENTS);
        self.depth += 1;
        self.push(byte);
        self.key.clear();
        if events {
            self.in_events = true;
            found(Found::TraceStarts(self.record.get(self.trace..).unwrap_or_default()));
        }
    }

    fn close(&mut self, byte: u8, found: &mut dyn FnMut(Found<'_>)) {
        if self.in_events && self.depth == EVENTS.0 + 1 {
            self.in_events = false;
        }
        self.push(byte);
        self.depth -= 1;
        if self.in_events && self.depth == EVENTS.0 + 1 {
            let event = std::mem::take(&mut self.event);
            found(if std::mem::take(&mut self.too_long) { Found::Broken } else { Found::Event(&event) });
            self.event = event;
            self.event.clear();
        } else if self.contained && self.depth == EVENTS.0 - 1 {
            found(Found::TraceEnds(self.record.get(self.trace..).unwrap_or_default()));
            self.record.truncate(self.trace);
        } else if self.depth == 0 {
            if std::mem::take(&mut self.too_long) {
                found(Found::Broken);
            } else if !self.contained {
                found(Found::Record(&self.record));
            }
            self.record.clear();
            self.contained = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found, as text, in one piece and byte by byte.
    fn found(text: &str) -> Vec<String> {
        let show = |piece: Found<'_>| match piece {
            Found::Record(text) => format!("record {}", String::from_utf8_lossy(text)),
            Found::TraceStarts(text) => format!("starts {}", String::from_utf8_lossy(text)),
            Found::Event(text) => format!("event {}", String::from_utf8_lossy(text)),
            Found::TraceEnds(text) => format!("ends {}", String::from_utf8_lossy(text)),
            Found::Broken => "broken".to_owned(),
        };
        let (mut whole, mut pieces) = (Vec::new(), Vec::new());
        Scanner::default().feed(text.as_bytes(), &mut |piece| whole.push(show(piece)));
        let mut scanner = Scanner::default();
        for byte in text.as_bytes() {
            scanner.feed(&[*byte], &mut |piece| pieces.push(show(piece)));
        }
        assert_eq!(whole, pieces);
        whole
    }

    /// With separators, with line feeds alone, and with a record that was cut.
    #[test]
    fn sequences() {
        let records = [r#"record {"a":"}\"{"}"#, r#"record {"b":[1]}"#];
        assert_eq!(found("\u{1e}{\"a\":\"}\\\"{\"}\n\u{1e}{\"b\":[1]}\n"), records);
        assert_eq!(found("{\"a\":\"}\\\"{\"}\n{\"b\":[1]}\n"), records);
        assert_eq!(found("\u{1e}{\"a\":\"cut\n\u{1e}{\"b\":[1]}\n"), ["broken", records[1]]);
    }

    /// Events are handed out one by one; what is before and after them, without them, in whatever order.
    #[test]
    fn the_contained_form() {
        let text = r#"{"x":{"events":[7]},"traces":[{"t":1,"events":[ [0,"a",{}] ,{"time":1}],"v":{"events":[]}},{"events":[{}]}]}"#;
        assert_eq!(
            found(text),
            [
                r#"starts {"t":1,"events":["#,
                r#"event [0,"a",{}]"#,
                r#"event {"time":1}"#,
                r#"ends {"t":1,"events":[],"v":{"events":[]}}"#,
                r#"starts {"events":["#,
                "event {}",
                r#"ends {"events":[]}"#,
            ]
        );
    }

    /// No text makes it fail, however its brackets stand; long records and deep ones are passed over.
    #[test]
    fn other_texts() {
        for text in [
            "",
            "]]}}",
            "\"",
            "{\"",
            "[[[[",
            "{]",
            "null",
            "{\"traces\":[{\"events\":[",
            "{\"traces\":[]]]]]",
        ] {
            found(text);
        }
        let mut scanner = Scanner::default();
        let mut broken = 0;
        let mut count = |piece: Found<'_>| broken += u32::from(piece == Found::Broken);
        scanner.feed(b"{", &mut count);
        for _ in 0..5 {
            scanner.feed(&vec![b'['; 1 << 20], &mut count);
            scanner.feed(&vec![b']'; 1 << 20], &mut count);
        }
        scanner.feed(b"}{}", &mut count);
        assert!(scanner.record.capacity() <= 2 * LONGEST);
        assert!(!scanner.finish());
        assert_eq!(broken, 1);
    }
}
