//! The exit of a tunnel: it removes the outer IP header (RFC 6040 section 4.2).
//!
//! The mark of a queue within the tunnel moves from the outer ECN field to the inner one, by one table for all tunnels.
//! A packet whose inner header is not ECN-capable is dropped if the outer one says CE, because no receiver would hear
//! the mark. An exit that does not know ECN (RFC 2003) ignores the outer field and loses marks. The DSCP is that of the
//! inner header (the pipe model of RFC 2983 section 3), or of the outer one (the uniform model). A packet that is in no
//! tunnel passes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{OutOfRange, Time};
use windtunnel_wire::{Ecn, IpFields, Packet};

use super::replay::ReplayWindow;
use super::{Element, ElementParams, Passage, Stage, Tally, TunnelEnd};

/// The largest replay window: more than any VPN has.
const MOST_REPLAY: u32 = 65_536;

/// The exit of a tunnel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 6040 section 4.2; RFC 2983"))]
pub struct TunnelExitParams {
    /// How the outer ECN field is treated.
    pub ecn: ExitEcn,
    /// How the outer DSCP is treated.
    pub dscp: ExitDscp,
    /// A VPN: the exit refuses copies, and packets that this many others of the tunnel have overtaken. `IPsec` has 32 to 4096,
    /// `WireGuard` about 8000. All packets come from one entry.
    #[schemars(range(min = 1, max = 65536), extend("x-unit" = "packets"))]
    pub replay_window: Option<u32>,
}

/// How the outer ECN field is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExitEcn {
    /// It is combined with the inner one (RFC 6040).
    #[default]
    Rfc6040,
    /// It is ignored (RFC 2003).
    Ignore,
}

/// How the outer DSCP is treated (RFC 2983 section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ExitDscp {
    /// The inner one stays as it is.
    #[default]
    Pipe,
    /// It replaces the inner one.
    Uniform,
}

impl ExitEcn {
    /// The ECN field of the packet that leaves (RFC 6040 figure 4); nothing if it is dropped.
    fn combine(self, inner: Ecn, outer: Ecn) -> Option<Ecn> {
        if self == ExitEcn::Ignore {
            return Some(inner);
        }
        match (inner, outer) {
            (Ecn::NotEct, Ecn::Ce) => None,
            (Ecn::NotEct, Ecn::NotEct | Ecn::Ect0 | Ecn::Ect1) => Some(Ecn::NotEct),
            (Ecn::Ce, _) | (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => Some(Ecn::Ce),
            (Ecn::Ect1, _) | (Ecn::Ect0, Ecn::Ect1) => Some(Ecn::Ect1),
            (Ecn::Ect0, Ecn::NotEct | Ecn::Ect0) => Some(Ecn::Ect0),
        }
    }
}

impl Params for TunnelExitParams {
    const NAME: &'static str = "tunnel-exit";
    const SUMMARY: &'static str =
        "Takes packets out of a tunnel: marks go from the outer header to the inner one";

    fn check(&self) -> Result<(), OutOfRange> {
        match self.replay_window {
            Some(size) if size == 0 || size > MOST_REPLAY => {
                Err(OutOfRange::new("replay_window", size, "1 to 65536 packets"))
            }
            _ => Ok(()),
        }
    }
}

impl ElementParams for TunnelExitParams {
    fn stage(&self) -> Stage {
        Stage::Node
    }

    fn tunnel_end(&self) -> Option<TunnelEnd> {
        Some(TunnelEnd::Exit)
    }

    fn build(&self, _random: RandomStream) -> Box<dyn Element> {
        Box::new(TunnelExit { params: self.clone(), replay: self.replay_window.map(ReplayWindow::new) })
    }
}

#[derive(Debug)]
struct TunnelExit {
    params: TunnelExitParams,
    replay: Option<ReplayWindow>,
}

impl Element for TunnelExit {
    fn enter(&mut self, mut packet: Packet, _now: Time, tally: &mut Tally) -> Passage {
        let Some(inner) = packet.inner_ip() else { return Passage::On(packet) };
        if let (Some(replay), Some(number)) = (&mut self.replay, packet.tunnel_number())
            && !replay.accepts(number)
        {
            return Passage::Lost(packet);
        }
        let outer = packet.ip();
        let Some(ecn) = self.params.ecn.combine(inner.ecn, outer.ecn) else { return Passage::Lost(packet) };
        let dscp = match self.params.dscp {
            ExitDscp::Pipe => inner.dscp,
            ExitDscp::Uniform => outer.dscp,
        };
        packet.decapsulate(IpFields { dscp, ecn });
        tally.rewritten += 1;
        Passage::On(packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6040 figure 4: inner headers down, outer headers Not-ECT, ECT(0), ECT(1) and CE across.
    #[test]
    fn decapsulation_table() {
        const NOT: Option<Ecn> = Some(Ecn::NotEct);
        const ECT0: Option<Ecn> = Some(Ecn::Ect0);
        const ECT1: Option<Ecn> = Some(Ecn::Ect1);
        const CE: Option<Ecn> = Some(Ecn::Ce);
        const DROP: Option<Ecn> = None;
        let outers = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        for (inner, row) in [
            (Ecn::NotEct, [NOT, NOT, NOT, DROP]),
            (Ecn::Ect0, [ECT0, ECT0, ECT1, CE]),
            (Ecn::Ect1, [ECT1, ECT1, ECT1, CE]),
            (Ecn::Ce, [CE, CE, CE, CE]),
        ] {
            assert_eq!(outers.map(|outer| ExitEcn::Rfc6040.combine(inner, outer)), row, "{inner:?}");
            assert_eq!(outers.map(|outer| ExitEcn::Ignore.combine(inner, outer)), [Some(inner); 4]);
        }
    }
}
