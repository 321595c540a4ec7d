//! What decrypts the packets of a connection: both ends have the same secrets, and the client notes them.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::KeyLog;

/// The secrets of a connection, in the lines of a key log (RFC 9850), with which a capture of it is decrypted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(Arc<Mutex<String>>);

impl Secrets {
    /// The lines so far.
    pub(crate) fn lines(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl KeyLog for Secrets {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let hex = |bytes: &[u8]| bytes.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(lines, "{label} {} {}", hex(client_random), hex(secret));
    }
}
