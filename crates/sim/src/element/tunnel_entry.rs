//! The entry of a tunnel: it adds an IP header around the packet (RFC 6040 section 4.1).
//!
//! In normal mode the outer ECN field is a copy of the inner one. In compatibility mode, for a tunnel's exit that does not
//! know ECN, it is Not-ECT, and a queue within the tunnel can only drop. Until the exit the network reads and marks the
//! outer header, and links carry its bytes. The DSCP is copied (the uniform model of RFC 2983 section 3) or set by the
//! tunnel (the pipe model). A packet in four tunnels is not accepted into a fifth (RFC 2473 section 4.1.1): it is lost.
//!
//! Links between the ends carry packets larger than the scenario's `mtu`: the model assumes that they have room for
//! the tunnel's header, as operators configure it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Bytes, OutOfRange, Time};
use windtunnel_wire::{Dscp, Ecn, IpFields, Packet};

use super::dscp_bleacher::LARGEST_DSCP;
use super::{Element, ElementParams, Passage, Stage, Tally, TunnelEnd};

const MOST_OVERHEAD: Bytes = Bytes::new(1000);

/// The entry of a tunnel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 6040 section 4.1; RFC 2983"))]
pub struct TunnelEntryParams {
    /// The outer ECN field.
    pub mode: EntryMode,
    /// The outer DSCP; without it, a copy of the inner one.
    #[schemars(range(max = 63))]
    pub dscp: Option<u8>,
    /// The headers that it adds: 20 bytes for IPv4 in IPv4, 24 for GRE, 50 for VXLAN, 60 for `WireGuard`.
    pub overhead: Bytes,
}

/// How the outer ECN field is set (RFC 6040 section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EntryMode {
    /// It is a copy of the inner one.
    #[default]
    Normal,
    /// It is Not-ECT.
    Compatibility,
}

impl EntryMode {
    /// The outer ECN field for this inner one (RFC 6040 figure 3).
    fn outer(self, inner: Ecn) -> Ecn {
        match self {
            EntryMode::Normal => inner,
            EntryMode::Compatibility => Ecn::NotEct,
        }
    }
}

impl Default for TunnelEntryParams {
    fn default() -> TunnelEntryParams {
        TunnelEntryParams { mode: EntryMode::default(), dscp: None, overhead: Bytes::new(20) }
    }
}

impl Params for TunnelEntryParams {
    const NAME: &'static str = "tunnel-entry";
    const SUMMARY: &'static str = "Puts packets into a tunnel: queues up to its exit mark an outer header";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.dscp.is_some_and(|dscp| dscp > LARGEST_DSCP) {
            return Err(OutOfRange::new("dscp", self.dscp.unwrap_or_default(), "0 to 63"));
        }
        if self.overhead == Bytes::ZERO || self.overhead > MOST_OVERHEAD {
            return Err(OutOfRange::new("overhead", self.overhead, "1 to 1000 bytes"));
        }
        Ok(())
    }
}

impl ElementParams for TunnelEntryParams {
    fn stage(&self) -> Stage {
        Stage::Node
    }

    fn tunnel_end(&self) -> Option<TunnelEnd> {
        Some(TunnelEnd::Entry)
    }

    fn build(&self, _random: RandomStream) -> Box<dyn Element> {
        Box::new(TunnelEntry { params: self.clone(), next: 0 })
    }
}

#[derive(Debug)]
struct TunnelEntry {
    params: TunnelEntryParams,
    /// The number of the next packet.
    next: u64,
}

impl Element for TunnelEntry {
    fn enter(&mut self, mut packet: Packet, _now: Time, tally: &mut Tally) -> Passage {
        let inner = packet.ip();
        let outer = IpFields {
            ecn: self.params.mode.outer(inner.ecn),
            dscp: self.params.dscp.map_or(inner.dscp, Dscp::new),
        };
        if !packet.encapsulate(outer, self.params.overhead) {
            return Passage::Lost(packet);
        }
        packet.number_in_tunnel(self.next);
        self.next += 1;
        tally.rewritten += 1;
        Passage::On(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6040 figure 3: the outer header of a departing packet, in normal and in compatibility mode.
    #[test]
    fn encapsulation_table() {
        for (inner, compatibility, normal) in [
            (Ecn::NotEct, Ecn::NotEct, Ecn::NotEct),
            (Ecn::Ect0, Ecn::NotEct, Ecn::Ect0),
            (Ecn::Ect1, Ecn::NotEct, Ecn::Ect1),
            (Ecn::Ce, Ecn::NotEct, Ecn::Ce),
        ] {
            assert_eq!(EntryMode::Compatibility.outer(inner), compatibility, "{inner:?}");
            assert_eq!(EntryMode::Normal.outer(inner), normal, "{inner:?}");
        }
    }
}
