//! The one place where the headers of a packet change after it was sent.
//!
//! A sender fills in the headers of a packet that it makes. From then on only the functions here change them: a queue's
//! mark ([`Packet::mark`]), a middlebox that rewrites a field or removes an option, and the ends of a tunnel. A test of
//! this crate (`tests/audit.rs`) reads the sources of the others for assignments that go round this file.

use windtunnel_units::Bytes;

use crate::{Dscp, Ecn, Packet, TcpFlags};

/// The fields of an IP header that a network reads and writes: the former type of service byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IpFields {
    /// The Differentiated Services code point (RFC 2474).
    pub dscp: Dscp,
    /// The ECN field (RFC 3168).
    pub ecn: Ecn,
}

/// A TCP option that a middlebox may remove.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// The AccECN option, kinds 172 and 174 (RFC 9768 section 3.2.3).
    AccEcn,
    /// The request for an ACK rate, an experimental option (RFC 6994).
    AckRate,
    /// QUIC's counts, an experimental option (RFC 6994).
    EcnCounts,
    /// The capability of MDS, an experimental option (RFC 6994).
    Mds,
    /// SACK permitted, kind 4 (RFC 2018 section 2).
    SackPermitted,
    /// SACK blocks, kind 5 (RFC 2018 section 3).
    Sack,
}

/// What a tunnel's entry put aside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Inner {
    ip: IpFields,
    overhead: u16,
    /// What the entry of the tunnel numbers it with.
    number: u64,
}

/// The headers inside the outermost one, of a packet in one or more tunnels: the first is inside the innermost tunnel,
/// the last inside the outermost one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Encapsulation {
    depth: u8,
    inner: [Inner; Encapsulation::LIMIT],
}

impl Encapsulation {
    /// Tunnels within tunnels: Linux's default for the tunnel encapsulation limit of RFC 2473 section 4.1.1.
    pub const LIMIT: usize = 4;
}

impl Packet {
    /// The IP header that the network sees: the outermost one.
    #[inline]
    pub const fn ip(&self) -> IpFields {
        IpFields { dscp: self.dscp, ecn: self.ecn }
    }

    /// A queue marks an ECN-capable packet.
    #[inline]
    pub fn mark(&mut self, mark: Ecn) {
        self.ecn = mark;
    }

    /// It enters a link, whose queue counts the headers below IP, too.
    #[inline]
    pub fn frame(&mut self, headers: Bytes) {
        self.grow(headers);
    }

    /// It leaves the link, and [`Packet::frame`]'s headers with it.
    #[inline]
    pub fn unframe(&mut self, headers: Bytes) {
        self.shrink(headers);
    }

    /// A middlebox writes the ECN field. True if that changed it.
    pub fn rewrite_ecn(&mut self, ecn: Ecn) -> bool {
        std::mem::replace(&mut self.ecn, ecn) != ecn
    }

    /// A middlebox writes the DSCP. True if that changed it.
    pub fn rewrite_dscp(&mut self, dscp: Dscp) -> bool {
        std::mem::replace(&mut self.dscp, dscp) != dscp
    }

    /// A middlebox overwrites an option with NOPs: the length stays. True if the option was there.
    pub fn strip_option(&mut self, option: TcpOption) -> bool {
        let Some(extras) = &mut self.extras else { return false };
        let options = extras.options_mut();
        match option {
            TcpOption::AccEcn => options.accecn.take().is_some(),
            TcpOption::AckRate => options.ack_rate.take().is_some(),
            TcpOption::EcnCounts => options.ecn_counts.take().is_some(),
            TcpOption::Mds => options.mds_capable.take().is_some(),
            TcpOption::SackPermitted => std::mem::take(&mut options.sack_permitted),
            TcpOption::Sack => !std::mem::take(&mut options.sack).is_empty(),
        }
    }

    /// A middlebox clears TCP flags. True if any of them was set.
    pub fn clear_flags(&mut self, flags: TcpFlags) -> bool {
        let cleared = self.flags.without(flags);
        std::mem::replace(&mut self.flags, cleared) != cleared
    }

    /// The packet enters a tunnel: from now on the network sees the header `outer`, and `overhead` more bytes. Nothing
    /// happens and the result is false if it is in [`Encapsulation::LIMIT`] tunnels already.
    #[must_use]
    pub fn encapsulate(&mut self, outer: IpFields, overhead: Bytes) -> bool {
        let ip = self.ip();
        let tunnels = &mut self.extras.get_or_insert_default().tunnels;
        let Some(slot) = tunnels.inner.get_mut(usize::from(tunnels.depth)) else { return false };
        *slot = Inner { ip, overhead: overhead.get() as u16, number: 0 };
        tunnels.depth += 1;
        self.grow(overhead);
        self.set_ip(outer);
        true
    }

    /// The entry of the outermost tunnel gives the packet a number.
    pub fn number_in_tunnel(&mut self, number: u64) {
        let Some(extras) = &mut self.extras else { return };
        let tunnels = &mut extras.tunnels;
        if let Some(outermost) = usize::from(tunnels.depth).checked_sub(1) {
            tunnels.inner[outermost].number = number;
        }
    }

    /// The number that the entry of the outermost tunnel gave the packet.
    pub fn tunnel_number(&self) -> Option<u64> {
        let tunnels = &self.extras.as_ref()?.tunnels;
        let outermost = usize::from(tunnels.depth).checked_sub(1)?;
        Some(tunnels.inner[outermost].number)
    }

    /// The header inside the outermost one; nothing if the packet is in no tunnel.
    pub fn inner_ip(&self) -> Option<IpFields> {
        let tunnels = &self.extras.as_ref()?.tunnels;
        let outermost = usize::from(tunnels.depth).checked_sub(1)?;
        Some(tunnels.inner[outermost].ip)
    }

    /// The packet leaves a tunnel and goes on with the header `ip`.
    pub fn decapsulate(&mut self, ip: IpFields) {
        let Some(extras) = &mut self.extras else { return };
        let tunnels = &mut extras.tunnels;
        let Some(depth) = tunnels.depth.checked_sub(1) else { return };
        let overhead = Bytes::new(u64::from(tunnels.inner[usize::from(depth)].overhead));
        tunnels.depth = depth;
        tunnels.inner[usize::from(depth)] = Inner::default();
        self.shrink(overhead);
        self.set_ip(ip);
    }

    fn set_ip(&mut self, ip: IpFields) {
        self.ecn = ip.ecn;
        self.dscp = ip.dscp;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FlowId, MdsCapability, Options};

    fn packet() -> Packet {
        let mut packet = Packet::new(FlowId::new(0), Bytes::new(1500), Bytes::new(1448));
        packet.ecn = Ecn::Ect0;
        packet.dscp = Dscp::MDS;
        packet
    }

    /// A tunnel adds its header to the size, not to the payload, hides the inner header, and gives all of it back; tunnels
    /// nest up to the limit.
    #[test]
    fn tunnels() {
        let outer = IpFields { dscp: Dscp::new(10), ecn: Ecn::Ect1 };
        let inner = packet().ip();
        let mut nested = packet();
        assert_eq!(nested.inner_ip(), None);
        assert!(nested.encapsulate(outer, Bytes::new(20)));
        assert_eq!((nested.size(), nested.payload()), (Bytes::new(1520), Bytes::new(1448)));
        assert_eq!((nested.ip(), nested.inner_ip()), (outer, Some(inner)));
        for _ in 1..Encapsulation::LIMIT {
            assert!(nested.encapsulate(outer, Bytes::new(8)));
        }
        assert!(!nested.encapsulate(outer, Bytes::new(8)), "the limit");
        assert_eq!(nested.size(), Bytes::new(1544));
        for _ in 1..Encapsulation::LIMIT {
            assert_eq!(nested.inner_ip(), Some(outer));
            nested.decapsulate(outer);
        }
        assert_eq!(nested.inner_ip(), Some(inner));
        nested.decapsulate(inner);
        assert_eq!((nested.ip(), nested.inner_ip(), nested.size()), (inner, None, Bytes::new(1500)));
        nested.decapsulate(outer);
        assert_eq!(nested.ip(), inner, "in no tunnel there is nothing to leave");
    }

    /// Each option is removed alone, and is reported once.
    #[test]
    fn options() {
        let mut syn = packet();
        assert!(!syn.strip_option(TcpOption::Mds), "no options at all");
        syn.set_options(Options {
            mds_capable: Some(MdsCapability::default()),
            sack_permitted: true,
            ..Options::default()
        });
        assert!(syn.strip_option(TcpOption::Mds));
        assert!(!syn.strip_option(TcpOption::Mds));
        assert!(syn.options().is_some_and(|options| options.sack_permitted));
        assert_eq!(syn.size(), Bytes::new(1500), "NOPs take its place");
    }

    /// Only the flags named are cleared.
    #[test]
    fn flags() {
        let mut ack = packet();
        ack.flags = TcpFlags::ACK | TcpFlags::AE;
        assert!(ack.clear_flags(TcpFlags::AE));
        assert_eq!(ack.flags, TcpFlags::ACK);
        assert!(!ack.clear_flags(TcpFlags::AE));
    }
}
