//! A box that removes TCP options and flags that it does not know.
//!
//! It overwrites an option with NOPs, so that the packet keeps its length (RFC 9768 section 3.2.3.2 and RFC 6994
//! section 3.2 expect such boxes). Without an option on its SYN or SYN/ACK, a connection falls back to what both ends
//! negotiated otherwise; AccECN continues with the ACE field alone. The flag AE was reserved for a long time: a box
//! that clears it removes ESCE and breaks the ACE field.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{OutOfRange, Probability, Time};
use windtunnel_wire::{Packet, TcpFlags, TcpOption};

use super::{Element, ElementParams, Passage, Stage, Tally};

/// A box removes TCP options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 9768 section 3.2.3.2"))]
pub struct OptionStripperParams {
    /// What it removes.
    pub options: Vec<Stripped>,
    /// The packets from which it removes it.
    pub on: StrippedFrom,
    /// The probability that it removes them from a packet.
    pub probability: Probability,
}

/// What can be removed from a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Stripped {
    /// The AccECN option.
    Accecn,
    /// The request for an ACK rate.
    AckRate,
    /// QUIC's counts.
    EcnCounts,
    /// The capability of MDS.
    Mds,
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks.
    Sack,
    /// The flag AE, formerly NS.
    AeFlag,
}

/// The packets from which options are removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StrippedFrom {
    /// All.
    #[default]
    All,
    /// SYN and SYN/ACK.
    Syn,
}

impl Default for OptionStripperParams {
    /// The two options that not every stack has.
    fn default() -> OptionStripperParams {
        OptionStripperParams {
            options: vec![Stripped::Accecn, Stripped::Mds],
            on: StrippedFrom::All,
            probability: Probability::ONE,
        }
    }
}

impl Params for OptionStripperParams {
    const NAME: &'static str = "option-stripper";
    const SUMMARY: &'static str = "Removes TCP options from SYNs or from all packets";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.options.is_empty() {
            let all = "at least one of accecn, ack-rate, ecn-counts, mds, sack-permitted, sack, ae-flag";
            return Err(OutOfRange::new("options", "[]", all));
        }
        Ok(())
    }
}

impl ElementParams for OptionStripperParams {
    fn stage(&self) -> Stage {
        Stage::Node
    }

    fn build(&self, random: RandomStream) -> Box<dyn Element> {
        Box::new(OptionStripper { params: self.clone(), random })
    }
}

#[derive(Debug)]
struct OptionStripper {
    params: OptionStripperParams,
    random: RandomStream,
}

fn strip(packet: &mut Packet, what: Stripped) -> bool {
    match what {
        Stripped::Accecn => packet.strip_option(TcpOption::AccEcn),
        Stripped::AckRate => packet.strip_option(TcpOption::AckRate),
        Stripped::EcnCounts => packet.strip_option(TcpOption::EcnCounts),
        Stripped::Mds => packet.strip_option(TcpOption::Mds),
        Stripped::SackPermitted => packet.strip_option(TcpOption::SackPermitted),
        Stripped::Sack => packet.strip_option(TcpOption::Sack),
        Stripped::AeFlag => packet.clear_flags(TcpFlags::AE),
    }
}

impl Element for OptionStripper {
    fn enter(&mut self, mut packet: Packet, _now: Time, tally: &mut Tally) -> Passage {
        let concerned = match self.params.on {
            StrippedFrom::All => true,
            StrippedFrom::Syn => packet.flags.contains(TcpFlags::SYN),
        };
        if concerned && self.random.chance(self.params.probability) {
            let mut changed = false;
            for what in &self.params.options {
                changed |= strip(&mut packet, *what);
            }
            tally.rewritten += u64::from(changed);
        }
        Passage::On(packet)
    }
}
