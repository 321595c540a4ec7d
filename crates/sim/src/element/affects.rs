//! Which packets an element concerns.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::Bytes;
use windtunnel_wire::Packet;

/// Which packets an element concerns; it neither counts other packets nor draws random numbers for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Affects {
    /// Every packet.
    #[default]
    All,
    /// Packets with payload: neither handshakes nor pure ACKs.
    Data,
    /// Packets without payload.
    Acks,
}

impl Affects {
    /// True for a packet of this class.
    pub fn includes(self, packet: &Packet) -> bool {
        match self {
            Affects::All => true,
            Affects::Data => packet.payload() > Bytes::ZERO,
            Affects::Acks => packet.payload() == Bytes::ZERO,
        }
    }
}
