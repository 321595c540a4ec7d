//! The ACK filter: an ACK that waits is left out when a later one of the same flow says as much.
//!
//! Source: tc-cake(8), "ACK filter"; Linux `sch_cake`. When a TCP packet arrives, the queue of its flow is searched for ACKs
//! without data that the arriving packet replaces, and the one nearest to the head is left out. Where links are
//! asymmetric, ACKs fill the slow direction; but a sender that hears fewer ACKs grows more slowly and in bursts, so that
//! without `aggressive` one ACK of two that could be left out remains.
//!
//! What must not be lost is kept: data; SYN, FIN, RST, PSH and the AE flag, whose meaning the filter does not know; unknown
//! options, the AccECN option among them; SACK blocks that the arriving packet does not cover, and D-SACK; duplicate
//! ACKs, which count; newer timestamps; and the last ACK before ECE or CWR change.

use windtunnel_wire::{Options, Packet, SackBlock, TcpFlags};

/// How eager the filter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Eagerness {
    /// Two ACKs that could be left out are found before one is.
    Moderate,
    /// The ACK right before the arriving packet is enough.
    Aggressive,
}

/// The index in a queue of the ACK that `arrived` makes superfluous; `queued` are the packets before it.
pub(super) fn superfluous<'p>(
    queued: impl Iterator<Item = &'p Packet>,
    arrived: &Packet,
    eagerness: Eagerness,
) -> Option<usize> {
    if !arrived.flags.contains(TcpFlags::ACK) || arrived.flags.contains(TcpFlags::SYN) {
        return None;
    }
    let mut candidate: Option<(usize, u16)> = None;
    let mut behind = 0;
    for (index, ack) in queued.enumerate() {
        behind = index + 1;
        if ack.flow != arrived.flow {
            continue;
        }
        if candidate.is_some_and(|(_, echo)| echo != echo_of(ack)) {
            candidate = None;
        }
        if !is_replaced(ack, arrived) {
            continue;
        }
        if let Some((first, _)) = candidate {
            return Some(first);
        }
        candidate = Some((index, echo_of(ack)));
    }
    let (index, echo) = candidate?;
    let adjacent = index + 1 == behind && echo == echo_of(arrived);
    (eagerness == Eagerness::Aggressive && adjacent).then_some(index)
}

/// The flags with which a receiver echoes marks and a sender answers (RFC 3168).
const ECHO: TcpFlags = TcpFlags::NONE.with_if(TcpFlags::ECE, true).with_if(TcpFlags::CWR, true);

const fn echo_of(packet: &Packet) -> u16 {
    packet.flags.bits() & ECHO.bits()
}

/// `arrived` says all that `ack` says, and more.
fn is_replaced(ack: &Packet, arrived: &Packet) -> bool {
    is_pure_ack(ack)
        && ack.ts_val <= arrived.ts_val
        && ack.ts_ecr <= arrived.ts_ecr
        && ack.ack <= arrived.ack
        && match compare(ack, arrived) {
            Sacks::Lost => false,
            Sacks::Same => ack.ack < arrived.ack,
            Sacks::More => true,
        }
}

/// It carries nothing but a cumulative acknowledgment, SACK blocks and timestamps.
fn is_pure_ack(packet: &Packet) -> bool {
    let plain = |options: &Options| {
        options.accecn.is_none()
            && options.ecn_counts.is_none()
            && options.ack_rate.is_none()
            && options.mds_capable.is_none()
            && !options.sack_permitted
    };
    packet.flags.without(ECHO) == TcpFlags::ACK
        && packet.payload().get() == 0
        && packet.options().is_none_or(plain)
        && packet.content().is_none()
}

/// The SACK blocks of an arriving packet, compared with those of a queued one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sacks {
    /// They lack some.
    Lost,
    Same,
    /// They cover more.
    More,
}

fn blocks(packet: &Packet) -> &[SackBlock] {
    packet.options().map_or(&[], |options| options.sack.as_slice())
}

fn compare(ack: &Packet, arrived: &Packet) -> Sacks {
    let (old, new) = (blocks(ack), blocks(arrived));
    let kept = |block: &SackBlock| {
        // D-SACK (RFC 2883) is said once.
        block.start >= ack.ack && new.iter().any(|new| new.start <= block.start && block.end <= new.end)
    };
    if !old.iter().all(kept) {
        return Sacks::Lost;
    }
    let bytes =
        |blocks: &[SackBlock]| blocks.iter().map(|block| block.end.get() - block.start.get()).sum::<u64>();
    if bytes(new) > bytes(old) { Sacks::More } else { Sacks::Same }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::{Bytes, Seq, Time};
    use windtunnel_wire::{AccEcnOption, FlowId, SackBlocks};

    use super::*;

    fn ack(number: u64) -> Packet {
        let mut packet = Packet::new(FlowId::new(0), Bytes::new(52), Bytes::ZERO);
        packet.flags = TcpFlags::ACK;
        packet.ack = Seq::new(number);
        packet.ts_val = Time::from_nanos(number);
        packet
    }

    fn with(number: u64, change: impl FnOnce(&mut Packet)) -> Packet {
        let mut packet = ack(number);
        change(&mut packet);
        packet
    }

    fn sacking(number: u64, sacked: &[(u64, u64)]) -> Packet {
        let mut sack = SackBlocks::default();
        for (start, end) in sacked {
            sack.push(SackBlock { start: Seq::new(*start), end: Seq::new(*end) });
        }
        with(number, |packet| packet.set_options(Options { sack, ..Options::default() }))
    }

    fn filtered(queued: &[Packet], arrived: &Packet) -> [Option<usize>; 2] {
        [Eagerness::Moderate, Eagerness::Aggressive]
            .map(|eagerness| superfluous(queued.iter(), arrived, eagerness))
    }

    /// Of two older ACKs the one at the head is left out; a single one only by the aggressive filter.
    #[test]
    fn the_oldest_of_two() {
        assert_eq!(filtered(&[ack(1), ack(2)], &ack(3)), [Some(0), Some(0)]);
        assert_eq!(filtered(&[ack(1)], &ack(3)), [None, Some(0)]);
        assert_eq!(filtered(&[], &ack(3)), [None, None]);
    }

    /// Another flow's ACKs are not replaced; between them, the aggressive filter asks for the packet right before.
    #[test]
    fn other_flows() {
        let other = || with(1, |packet| packet.flow = FlowId::new(1));
        assert_eq!(filtered(&[other(), other()], &ack(3)), [None, None]);
        assert_eq!(filtered(&[ack(1), other()], &ack(3)), [None, None]);
        assert_eq!(filtered(&[other(), ack(1), ack(2)], &ack(3)), [Some(1), Some(1)]);
    }

    /// Data with an ACK replace ACKs, and are not replaced; neither are SYN, FIN, PSH, AE and unknown options, duplicate
    /// ACKs, and later acknowledgments or timestamps.
    #[test]
    fn what_stays() {
        let data = |number| {
            let mut packet = Packet::new(FlowId::new(0), Bytes::new(1_500), Bytes::new(1_448));
            packet.flags = TcpFlags::ACK;
            packet.ack = Seq::new(number);
            packet.ts_val = Time::from_nanos(number);
            packet
        };
        assert_eq!(filtered(&[ack(1), ack(2)], &data(3)), [Some(0), Some(0)]);
        assert_eq!(filtered(&[data(1), data(2)], &ack(3)), [None, None]);
        for flag in [TcpFlags::SYN, TcpFlags::FIN, TcpFlags::RST, TcpFlags::PSH, TcpFlags::AE] {
            let flagged = |number| with(number, |packet| packet.flags |= flag);
            assert_eq!(filtered(&[flagged(1), flagged(2)], &ack(3)), [None, None], "{flag:?}");
        }
        let accecn = |number| {
            with(number, |packet| {
                let accecn = Some(AccEcnOption::default());
                packet.set_options(Options { accecn, ..Options::default() });
            })
        };
        assert_eq!(filtered(&[accecn(1), accecn(2)], &ack(3)), [None, None]);
        assert_eq!(filtered(&[ack(3), ack(3)], &ack(3)), [None, None]);
        assert_eq!(filtered(&[ack(4), ack(4)], &ack(3)), [None, None]);
        let later = |number| with(number, |packet| packet.ts_val = Time::from_nanos(9));
        assert_eq!(filtered(&[later(1), later(2)], &ack(3)), [None, None]);
        let udp = with(3, |packet| packet.flags = TcpFlags::NONE);
        assert_eq!(filtered(&[ack(1), ack(2)], &udp), [None, None]);
    }

    /// The last ACK before ECE or CWR change stays: a sender must hear both states.
    #[test]
    fn echoes() {
        let ece = |number| with(number, |packet| packet.flags |= TcpFlags::ECE);
        assert_eq!(filtered(&[ece(1), ece(2)], &ece(3)), [Some(0), Some(0)]);
        assert_eq!(filtered(&[ack(1), ece(2)], &ece(3)), [None, Some(1)]);
        assert_eq!(filtered(&[ece(1), ack(2)], &ece(3)), [None, None]);
        assert_eq!(filtered(&[ack(1), ece(2), ece(3)], &ack(4)), [Some(1), Some(1)]);
    }

    /// SACK blocks are kept unless the arriving packet covers them; D-SACK is always kept, and a duplicate ACK that
    /// covers more replaces one that covers less.
    #[test]
    fn sacks() {
        let older = || [sacking(1, &[(10, 20)]), sacking(1, &[(10, 20)])];
        assert_eq!(filtered(&older(), &ack(3)), [None, None]);
        assert_eq!(filtered(&older(), &sacking(3, &[(30, 40)])), [None, None]);
        assert_eq!(filtered(&older(), &sacking(3, &[(10, 20)])), [Some(0), Some(0)]);
        assert_eq!(filtered(&older(), &sacking(1, &[(10, 20)])), [None, None]);
        assert_eq!(filtered(&older(), &sacking(1, &[(10, 30)])), [Some(0), Some(0)]);
        let duplicate = || [sacking(30, &[(10, 20)]), sacking(30, &[(10, 20)])];
        assert_eq!(filtered(&duplicate(), &sacking(31, &[(10, 20)])), [None, None]);
    }

    /// What counts is how many bytes the blocks cover together: of duplicate ACKs, one block over a gap between two
    /// covers more than both, and blocks that end later cover more although they start at the same byte.
    #[test]
    fn covered_bytes() {
        for (old, new) in [(&[(10, 20), (30, 40)][..], &[(10, 40)][..]), (&[(10, 20)], &[(10, 29)])] {
            let older = [sacking(1, old), sacking(1, old)];
            assert_eq!(filtered(&older, &sacking(1, new)), [Some(0), Some(0)], "{old:?} {new:?}");
            let fewer = [sacking(1, new), sacking(1, new)];
            assert_eq!(filtered(&fewer, &sacking(1, old)), [None, None], "{new:?} {old:?}");
        }
    }
}
