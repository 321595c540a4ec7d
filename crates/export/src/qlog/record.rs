//! A record of a JSON text sequence (RFC 7464), written piece by piece into a buffer that is used again.

use std::fmt::{Display, Write};

const RECORD_SEPARATOR: char = '\x1e';

/// A text that grows. Members of an object are separated by themselves.
#[derive(Debug, Default)]
pub(super) struct Text {
    text: String,
}

impl Text {
    pub(super) const fn len(&self) -> usize {
        self.text.len()
    }

    /// What was written so far; the memory stays.
    pub(super) fn take(&mut self, mut with: impl FnMut(&[u8]) -> std::io::Result<()>) -> std::io::Result<()> {
        let done = with(self.text.as_bytes());
        self.text.clear();
        done
    }

    /// A record with one object, whose members `write` adds.
    pub(super) fn record(&mut self, write: impl FnOnce(&mut Object<'_>)) {
        self.text.push(RECORD_SEPARATOR);
        object(&mut self.text, write);
        self.text.push('\n');
    }

    /// An event: its time in milliseconds to the nanosecond, its name, its data.
    pub(super) fn event(&mut self, t_ns: u64, name: &str, data: impl FnOnce(&mut Object<'_>)) {
        self.record(|event| {
            event.number("time", Millis(t_ns));
            event.text("name", name);
            event.object("data", data);
        });
    }
}

/// An object that is being written.
#[derive(Debug)]
pub(super) struct Object<'a> {
    text: &'a mut String,
    first: bool,
}

impl Object<'_> {
    fn key(&mut self, key: &str) -> &mut String {
        if !std::mem::take(&mut self.first) {
            self.text.push(',');
        }
        string(self.text, key);
        self.text.push(':');
        self.text
    }

    /// A number, or whatever else is written without quotes.
    pub(super) fn number(&mut self, key: &str, value: impl Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.key(key), "{value}");
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        string(self.key(key), value);
    }

    pub(super) fn object(&mut self, key: &str, write: impl FnOnce(&mut Object<'_>)) {
        object(self.key(key), write);
    }

    /// An array of one object.
    pub(super) fn only(&mut self, key: &str, write: impl FnOnce(&mut Object<'_>)) {
        let text = self.key(key);
        text.push('[');
        object(text, write);
        text.push(']');
    }

    /// An array of two objects, or of the first alone.
    pub(super) fn one_or_two(
        &mut self,
        key: &str,
        first: impl FnOnce(&mut Object<'_>),
        second: Option<impl FnOnce(&mut Object<'_>)>,
    ) {
        let text = self.key(key);
        text.push('[');
        object(text, first);
        if let Some(second) = second {
            text.push(',');
            object(text, second);
        }
        text.push(']');
    }

    pub(super) fn texts(&mut self, key: &str, values: &[&str]) {
        let text = self.key(key);
        for (n, value) in values.iter().enumerate() {
            text.push(if n == 0 { '[' } else { ',' });
            string(text, value);
        }
        text.push(']');
    }

    /// Ranges as arrays of their first and last number; those of one number have one.
    pub(super) fn ranges(&mut self, key: &str, ranges: &[(u64, u64)]) {
        let text = self.key(key);
        for (n, (first, last)) in ranges.iter().enumerate() {
            text.push_str(if n == 0 { "[[" } else { ",[" });
            let _ = write!(text, "{first}");
            if last > first {
                let _ = write!(text, ",{last}");
            }
            text.push(']');
        }
        text.push(']');
    }
}

fn object(text: &mut String, write: impl FnOnce(&mut Object<'_>)) {
    text.push('{');
    write(&mut Object { text, first: true });
    text.push('}');
}

/// A string with what JSON does not allow in it escaped (RFC 8259 section 7).
fn string(text: &mut String, value: &str) {
    text.push('"');
    for character in value.chars() {
        match character {
            '"' | '\\' => text.extend(['\\', character]),
            '\0'..='\x1f' => {
                let _ = write!(text, "\\u{:04x}", u32::from(character));
            }
            other => text.push(other),
        }
    }
    text.push('"');
}

/// Nanoseconds as milliseconds, exactly, without zeros at the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Millis(pub(super) u64);

impl Display for Millis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, mut rest, mut digits) = (self.0 / 1_000_000, self.0 % 1_000_000, 6);
        write!(f, "{whole}")?;
        if rest == 0 {
            return Ok(());
        }
        while rest.is_multiple_of(10) {
            (rest, digits) = (rest / 10, digits - 1);
        }
        write!(f, ".{rest:0digits$}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record is one line between its separator and a line feed (RFC 7464 section 2.2), whatever is in its strings.
    #[test]
    fn one_record() {
        let mut text = Text::default();
        text.event(1_500_000, "a:b", |data| {
            data.text("t", "é\"\\\n\u{1e}");
            data.object("o", |_| {});
            data.ranges("r", &[(1, 1), (3, 5)]);
            data.texts("l", &["x", "y"]);
            data.one_or_two("f", |f| f.number("n", 1), None::<fn(&mut Object<'_>)>);
        });
        let line = "\x1e{\"time\":1.5,\"name\":\"a:b\",\"data\":{\"t\":\"é\\\"\\\\\\u000a\\u001e\",\"o\":{},\"r\":[[1],[3,5]],\
                    \"l\":[\"x\",\"y\"],\"f\":[{\"n\":1}]}}\n";
        assert_eq!(text.text, line);
    }

    /// Times are exact to the nanosecond.
    #[test]
    fn milliseconds() {
        for (ns, ms) in
            [(0, "0"), (1, "0.000001"), (1_000_000, "1"), (12_340_000, "12.34"), (1_000_100, "1.0001")]
        {
            assert_eq!(Millis(ns).to_string(), ms);
        }
    }
}
