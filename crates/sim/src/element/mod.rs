//! The effects of a path on packets outside of queues: media that lose, damage, duplicate, delay or reorder them, and
//! boxes that rewrite their headers.
//!
//! Each is an [`Element`] in a file of its own: its parameters, which are its schema, and its behaviour. An element
//! either lets a packet pass at once, or holds it and names one time at which it will release packets: each element
//! is one event source. Each has its own random stream and draws for every packet that it concerns, whether or not
//! the number is needed, so that the fate of one packet does not shift what later ones draw.
//!
//! The set of elements is open: another crate implements [`Params`](windtunnel_algorithm::Params), [`ElementParams`] and
//! [`Element`].

mod affects;
mod aggregation;
mod burst_delay;
mod code_point;
mod corruption;
mod counting;
mod dscp_bleacher;
mod due;
mod duplication;
mod ecn_bleacher;
mod gilbert_elliott;
mod jitter;
mod linear_delay;
mod loss;
mod option_stripper;
mod outage;
mod periodic_loss;
mod reordering;
mod replay;
mod scripted_loss;
mod scripted_reordering;
mod thinning;
mod tunnel_entry;
mod tunnel_exit;
mod wifi;

use std::collections::VecDeque;
use std::fmt;

use windtunnel_algorithm::{AnyParams, Params, RandomStream, kinds};
use windtunnel_qdisc::Selector;
use windtunnel_units::Time;
use windtunnel_wire::Packet;

use crate::network::ElementSpec;

pub use affects::Affects;
pub use code_point::CodePoint;

/// A visitor of the built-in elements ([`visit`]).
pub trait Kinds {
    /// Visits an element.
    fn element<P: Params + ElementParams>(&mut self);
}

kinds! {
    pub fn visit(Kinds::element);
    outage: OutageParams;
    thinning: AckThinningParams;
    loss: LossParams;
    gilbert_elliott: GilbertElliottParams;
    periodic_loss: PeriodicLossParams;
    scripted_loss: ScriptedLossParams;
    corruption: CorruptionParams;
    duplication: DuplicationParams;
    aggregation: AggregationParams;
    jitter: JitterParams;
    linear_delay: LinearDelayParams;
    burst_delay: BurstDelayParams;
    reordering: ReorderingParams;
    scripted_reordering: ScriptedReorderingParams;
    dscp_bleacher: DscpBleacherParams;
    ecn_bleacher: EcnBleacherParams;
    option_stripper: OptionStripperParams;
    tunnel_entry: TunnelEntryParams;
    tunnel_exit: TunnelExitParams;
}

/// An effect on packets on a path.
pub trait Element: fmt::Debug + Send {
    /// A packet enters.
    fn enter(&mut self, packet: Packet, now: Time, tally: &mut Tally) -> Passage;

    /// When [`Element::release`] has a packet; [`Time::NEVER`] while nothing is held.
    fn next_release(&self) -> Time {
        Time::NEVER
    }

    /// The next packet that is due; call until there is none.
    fn release(&mut self, _now: Time, _tally: &mut Tally) -> Option<Packet> {
        None
    }
}

/// The parameters of an element, and its construction.
pub trait ElementParams: AnyParams {
    /// The stage at which it works among the elements behind one link.
    fn stage(&self) -> Stage;

    /// True if no packet overtakes another or arrives twice, as loss-free endpoints require.
    fn keeps_order(&self) -> bool {
        true
    }

    /// The end of a tunnel that this element is, if it is one: packets pass entries and exits in pairs.
    fn tunnel_end(&self) -> Option<TunnelEnd> {
        None
    }

    /// The element. `random` is its own stream.
    fn build(&self, random: RandomStream) -> Box<dyn Element>;
}

impl PartialEq for dyn ElementParams {
    fn eq(&self, other: &dyn ElementParams) -> bool {
        let (this, other): (&dyn AnyParams, &dyn AnyParams) = (self, other);
        this == other
    }
}

/// The stage at which an element works among several behind one link, first to last. Elements of one stage keep the
/// order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Whether there is a medium at all.
    Outage,
    /// What enters the medium.
    Entrance,
    /// What the medium loses.
    Loss,
    /// What the medium damages.
    Damage,
    /// What the medium duplicates.
    Duplication,
    /// When the medium delivers: in bursts.
    Aggregation,
    /// When the medium delivers: with a delay.
    Delay,
    /// In what order the medium delivers.
    Order,
    /// What the node at the end of the link does: middleboxes and the ends of tunnels.
    Node,
}

/// An end of a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunnelEnd {
    /// Packets get an outer header here.
    Entry,
    /// Packets lose it here.
    Exit,
}

/// True if each tunnel that starts on a way also ends on it, and vice versa; `ends` are those on the way in order.
pub fn tunnels_match(ends: impl IntoIterator<Item = TunnelEnd>) -> bool {
    let depth = ends.into_iter().try_fold(0_u32, |depth, end| match end {
        TunnelEnd::Entry => Some(depth + 1),
        TunnelEnd::Exit => depth.checked_sub(1),
    });
    depth == Some(0)
}

/// The fate of a packet that enters an element.
#[derive(Debug)]
pub enum Passage {
    /// It continues.
    On(Packet),
    /// It continues, twice.
    Twice(Packet, Packet),
    /// It is lost.
    Lost(Packet),
    /// It will be released later.
    Held,
    /// It continues, or is held if it is not here; a packet that was held is lost in its place.
    Replacing(Option<Packet>, Packet),
}

/// What only the element itself can count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets that it damaged.
    pub corrupted: u64,
    /// Packets that left after a later one.
    pub reordered: u64,
    /// Bursts that it released.
    pub bursts: u64,
    /// Packets whose headers it changed.
    pub rewritten: u64,
}

/// Counters of an element, in packets. At any time `arrived + duplicated = passed + lost + held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ElementStats {
    pub(crate) arrived: u64,
    pub(crate) passed: u64,
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
    pub(crate) tally: Tally,
}

impl ElementStats {
    const fn held(&self) -> u64 {
        self.arrived + self.duplicated - self.passed - self.lost
    }
}

/// An element in its place, with its counters.
#[derive(Debug)]
pub(crate) struct PlacedElement {
    element: Box<dyn Element>,
    only: Option<Selector>,
    keeps_order: bool,
    /// It works; otherwise packets pass.
    is_on: bool,
    /// Packets that pass and must not overtake what it still holds.
    behind: VecDeque<Packet>,
    stats: ElementStats,
}

impl PlacedElement {
    /// # Panics
    /// If the parameters are out of range.
    pub(crate) fn new(spec: &ElementSpec) -> PlacedElement {
        if let Err(error) = spec.config.check() {
            panic!("{}: {error}", spec.name);
        }
        let element = spec.config.build(RandomStream::new(spec.seed));
        PlacedElement {
            element,
            only: spec.only.clone(),
            keeps_order: spec.config.keeps_order(),
            is_on: spec.during.is_none(),
            behind: VecDeque::new(),
            stats: ElementStats::default(),
        }
    }

    /// An element in a place that no packet passes.
    pub(crate) fn around(element: Box<dyn Element>) -> PlacedElement {
        PlacedElement {
            element,
            only: None,
            keeps_order: true,
            is_on: false,
            behind: VecDeque::new(),
            stats: ElementStats::default(),
        }
    }

    /// It works from now on, or does not.
    pub(crate) const fn switch(&mut self, on: bool) {
        self.is_on = on;
    }

    /// A packet enters while the element does not work. It passes, behind what the element holds if that is in order. One
    /// that waits for packets, and not for a time, is given them until it holds nothing.
    #[cold]
    fn pass(&mut self, packet: Packet, now: Time) -> Passage {
        let stats = &mut self.stats;
        // This packet has been counted already.
        let holds = stats.held() > self.behind.len() as u64 + 1;
        if holds && self.behind.is_empty() && self.element.next_release() == Time::NEVER {
            return self.element.enter(packet, now, &mut stats.tally);
        }
        if self.keeps_order && (holds || !self.behind.is_empty()) {
            self.behind.push_back(packet);
            return Passage::Held;
        }
        Passage::On(packet)
    }

    /// A packet enters.
    pub(crate) fn enter(&mut self, packet: Packet, now: Time) -> Passage {
        let stats = &mut self.stats;
        stats.arrived += 1;
        if self.only.as_ref().is_some_and(|only| !only.selects(&packet)) {
            stats.passed += 1;
            return Passage::On(packet);
        }
        let passage = if self.is_on && self.behind.is_empty() {
            self.element.enter(packet, now, &mut stats.tally)
        } else {
            self.pass(packet, now)
        };
        let stats = &mut self.stats;
        match &passage {
            Passage::On(_) => stats.passed += 1,
            Passage::Twice(..) => {
                stats.passed += 2;
                stats.duplicated += 1;
            }
            Passage::Lost(_) => stats.lost += 1,
            Passage::Held => {}
            Passage::Replacing(passed, _) => {
                stats.passed += u64::from(passed.is_some());
                stats.lost += 1;
            }
        }
        passage
    }

    /// When [`PlacedElement::release`] has a packet.
    pub(crate) fn next_release(&self) -> Time {
        self.element.next_release()
    }

    /// The next packet that is due; call until there is none.
    pub(crate) fn release(&mut self, now: Time) -> Option<Packet> {
        let mut packet = self.element.release(now, &mut self.stats.tally);
        if packet.is_none() && self.held() == self.behind.len() as u64 {
            packet = self.behind.pop_front();
        }
        self.stats.passed += u64::from(packet.is_some());
        packet
    }

    pub(crate) const fn stats(&self) -> &ElementStats {
        &self.stats
    }

    /// Packets held now.
    pub(crate) const fn held(&self) -> u64 {
        self.stats.held()
    }
}

fn lost_if(lost: bool, packet: Packet) -> Passage {
    if lost { Passage::Lost(packet) } else { Passage::On(packet) }
}

#[cfg(test)]
mod tests;
