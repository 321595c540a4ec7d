//! The options of a TCP header, as far as they were captured (RFC 9293 section 3.1, RFC 7323, RFC 2018).
//!
//! We use our own reader, because that of a library refuses a header with a missing part, and stops at an option that
//! it does not know. Here, an unreadable option ends the list, and the options before it count.

use crate::segments::MAX_SACK;

const END: u8 = 0;
const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// What a segment's options say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    pub(crate) sack_permitted: bool,
    pub(crate) timestamps: Option<(u32, u32)>,
    pub(crate) sack: Vec<(u32, u32)>,
    /// The kinds in order, without padding.
    pub(crate) kinds: Kinds,
}

/// The most options that a header has room for (RFC 9293 section 3.1).
const MOST: usize = 40;

/// Kinds of options. Every packet has some, so they take no memory of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds {
    kinds: [u8; MOST],
    count: usize,
}

impl Default for Kinds {
    fn default() -> Kinds {
        Kinds { kinds: [0; MOST], count: 0 }
    }
}

impl Kinds {
    fn push(&mut self, kind: u8) {
        if let Some(next) = self.kinds.get_mut(self.count) {
            *next = kind;
            self.count += 1;
        }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.kinds[..self.count]
    }
}

impl Options {
    pub(crate) fn read(mut bytes: &[u8]) -> Options {
        let mut options = Options::default();
        while let [kind, rest @ ..] = bytes {
            match (*kind, rest) {
                (END, _) => break,
                (NO_OPERATION, _) => bytes = rest,
                (kind, [length, _rest @ ..]) if *length >= 2 && usize::from(*length) <= bytes.len() => {
                    let (option, after) = bytes.split_at(usize::from(*length));
                    options.add(kind, &option[2..]);
                    bytes = after;
                }
                _ => break,
            }
        }
        options
    }

    fn add(&mut self, kind: u8, value: &[u8]) {
        self.kinds.push(kind);
        match (kind, value) {
            (MSS, &[high, low]) => self.mss = Some(u16::from_be_bytes([high, low])),
            (WINDOW_SCALE, &[shift]) => self.window_scale = Some(shift),
            (SACK_PERMITTED, []) => self.sack_permitted = true,
            (TIMESTAMPS, value) if value.len() == 8 => {
                self.timestamps = Some((word(value), word(&value[4..])));
            }
            (SACK, value) => {
                self.sack = value.chunks_exact(8).take(MAX_SACK).map(|b| (word(b), word(&b[4..]))).collect();
            }
            _ => {}
        }
    }
}

/// The number in the first four bytes, which must be there.
pub(crate) fn word(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9293 section 3.1: a length below 2 or past the header's end is malformed; what came before it still counts.
    #[test]
    fn a_malformed_option_ends_the_list() {
        let whole = [2, 4, 5, 180, 1, 3, 3, 7, 8, 1, 0, 0];
        let options = Options::read(&whole);
        assert_eq!((options.mss, options.window_scale), (Some(1460), Some(7)));
        assert_eq!(options.timestamps, None);
        assert_eq!(options.kinds.as_slice(), [2, 3]);
        // Every cut of it can be read.
        for cut in 0..whole.len() {
            let _ = Options::read(&whole[..cut]);
        }
    }
}
