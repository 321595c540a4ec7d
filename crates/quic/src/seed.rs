//! What a stack draws, from the flow's seed.

use windtunnel_algorithm::RandomStream;

/// The length of connection IDs in bytes, as the stacks have it.
pub(crate) const CID_LENGTH: usize = 8;

/// The length of the connection ID that a client makes up for the server.
pub(crate) const INITIAL_CID_LENGTH: usize = 20;

/// The seed of the stream of one end of a connection.
pub(crate) fn of_end(seed: u64, is_server: bool) -> [u8; 32] {
    let mut bytes = [u8::from(is_server); 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes
}

/// Connection IDs, one after the other.
#[derive(Debug)]
pub(crate) struct Cids(RandomStream);

impl Cids {
    /// Those of one end of a connection.
    pub(crate) fn new(seed: u64, is_server: bool) -> Cids {
        Cids(RandomStream::new(if is_server { !seed } else { seed }))
    }

    /// Fills the next connection ID.
    pub(crate) fn fill(&mut self, cid: &mut [u8]) {
        for byte in cid {
            *byte = (self.0.uniform() * 256.0) as u8;
        }
    }
}
