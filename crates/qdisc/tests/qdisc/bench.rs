//! A queue on the bench: the test provides the clock and the packets.

use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{
    Backlog, Departure, Dropped, Incident, Limit, QueueCx, QueueDiscipline, QueueInit, QueueSpec, QueueStats,
};
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, Packet};

/// A kind of packet, as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    NotEct,
    Ect0,
    Ect1,
    Mds,
}

impl Kind {
    pub(crate) const ALL: [Kind; 4] = [Kind::NotEct, Kind::Ect0, Kind::Ect1, Kind::Mds];
}

/// What left the queue.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) seq: u64,
    pub(crate) flow: u32,
    pub(crate) ecn: Ecn,
    pub(crate) outcome: Outcome,
    pub(crate) sojourn: Duration,
}

/// A queue, and the counts of what went in and out.
#[derive(Debug)]
pub(crate) struct Bench {
    queue: Box<dyn QueueDiscipline>,
    pub(crate) cx: QueueCx,
}

/// Gaps from 1 ns up to a number of microseconds, from a linear congruential generator (Knuth, MMIX).
pub(crate) fn random_gaps(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed | 1;
    move |most_us| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (state >> 33) % (most_us * 1_000)
    }
}

impl Bench {
    pub(crate) fn new(config: &QueueSpec, limit: Limit) -> Bench {
        Bench::with_seed(config, limit, 1)
    }

    /// A queue that is created at the start.
    pub(crate) fn with_seed(config: &QueueSpec, limit: Limit, seed: u64) -> Bench {
        Bench::of(config.build(&QueueInit { age: Duration::ZERO, ..config.init(limit, seed) }))
    }

    /// Whether a shaper around it leaves the packet inside until it may go.
    pub(crate) fn peeks(&self) -> bool {
        self.queue.peeks()
    }

    pub(crate) fn of(queue: Box<dyn QueueDiscipline>) -> Bench {
        Bench { queue, cx: QueueCx::new(Rate::from_mbps(10), Bytes::ZERO, true) }
    }

    pub(crate) fn packet(&mut self, flow: u32, size: u64, kind: Kind) -> Packet {
        let mut packet = Packet::new(FlowId::new(flow), Bytes::new(size), Bytes::ZERO);
        packet.seq = Seq::new(self.stats().arrived);
        packet.ecn = match kind {
            Kind::NotEct => Ecn::NotEct,
            Kind::Ect0 | Kind::Mds => Ecn::Ect0,
            Kind::Ect1 => Ecn::Ect1,
        };
        packet.dscp = if kind == Kind::Mds { Dscp::MDS } else { Dscp::DEFAULT };
        packet
    }

    /// What it has counted so far.
    pub(crate) fn stats(&self) -> QueueStats {
        self.cx.accounts.total
    }

    /// What its bands have counted so far.
    pub(crate) fn band_stats(&self) -> &[QueueStats] {
        &self.cx.accounts.bands
    }

    /// What it dropped.
    pub(crate) fn drops(&self) -> Vec<Dropped> {
        let dropped = |incident: &Incident| match incident {
            Incident::Dropped(dropped) => Some(*dropped),
            Incident::Marked { .. } => None,
        };
        self.cx.incidents.iter().filter_map(dropped).collect()
    }

    /// Runs the queue's timers that are due at `at_ns`. Arrivals and departures do that first.
    pub(crate) fn run_timers(&mut self, at_ns: u64) {
        while let Some(now) = self.queue.next_timer().filter(|next| next.as_nanos() <= at_ns) {
            let cx = self.cx.at(now);
            self.queue.on_timer(cx);
        }
    }

    /// When the queue's next timer is due.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.queue.next_timer()
    }

    pub(crate) fn enqueue(&mut self, at_ns: u64, packet: Packet) {
        self.run_timers(at_ns);
        let now = Time::from_nanos(at_ns);
        let cx = self.cx.at(now);
        self.queue.enqueue(packet, cx);
    }

    /// One 1500-byte packet arrives.
    pub(crate) fn arrive(&mut self, at_ns: u64, kind: Kind) {
        let packet = self.packet(0, 1500, kind);
        self.enqueue(at_ns, packet);
    }

    pub(crate) fn dequeue(&mut self, at_ns: u64) -> Option<Left> {
        self.leave(at_ns, |queue, cx| queue.dequeue(cx))
    }

    /// The packet that leaves; there must be one.
    pub(crate) fn leaving(&mut self, at_ns: u64) -> Packet {
        let now = Time::from_nanos(at_ns);
        let cx = self.cx.at(now);
        self.queue.dequeue(cx).expect("a packet is queued")
    }

    /// A packet leaves (there must be one); returns what was done to it.
    pub(crate) fn outcome(&mut self, at_ns: u64) -> Outcome {
        self.dequeue(at_ns).expect("a packet is queued").outcome
    }

    pub(crate) fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// The queue chooses the packet that leaves next; returns its length.
    pub(crate) fn choose(&mut self, at_ns: u64) -> Option<Bytes> {
        self.run_timers(at_ns);
        let now = Time::from_nanos(at_ns);
        let cx = self.cx.at(now);
        self.queue.choose(cx)
    }

    /// The chosen packet leaves, or is dropped.
    pub(crate) fn serve(&mut self, at_ns: u64) -> Option<Left> {
        self.leave(at_ns, |queue, cx| queue.serve(cx))
    }

    /// The same, and the next packet is chosen: returns its length, too.
    pub(crate) fn serve_and_choose(&mut self, at_ns: u64) -> (Option<Left>, Option<Bytes>) {
        let mut next = None;
        let left = self.leave(at_ns, |queue, cx| {
            let mut packet = None;
            next = queue.serve_and_choose(&mut packet, cx);
            packet
        });
        (left, next)
    }

    fn leave(
        &mut self,
        at_ns: u64,
        step: impl FnOnce(&mut dyn QueueDiscipline, &mut QueueCx) -> Option<Packet>,
    ) -> Option<Left> {
        self.run_timers(at_ns);
        let now = Time::from_nanos(at_ns);
        let departed = self.cx.accounts.total.departed;
        let cx = self.cx.at(now);
        let packet = step(self.queue.as_mut(), cx)?;
        let Departure { outcome, sojourn, .. } = cx.departure();
        assert_eq!(self.cx.accounts.total.departed, departed + 1, "a packet that leaves is accounted for");
        Some(Left { seq: packet.seq.get(), flow: packet.flow.get(), ecn: packet.ecn, outcome, sojourn })
    }

    /// The queue's bands: name and backlog.
    pub(crate) fn bands(&self) -> Vec<(String, Backlog)> {
        (0..self.queue.bands())
            .map(|band| (self.queue.band_name(band), self.queue.band_backlog(band)))
            .collect()
    }

    /// The internal numbers of the queue as text, each with its name.
    pub(crate) fn numbers(&self) -> Vec<String> {
        let mut numbers = Vec::new();
        self.queue.probe(&mut |name, value| numbers.push(format!("{name} {value}")));
        numbers
    }

    /// The same of a band.
    pub(crate) fn numbers_of_band(&self, band: usize) -> Vec<String> {
        let mut numbers = Vec::new();
        self.queue.probe_band(band, &mut |name, value| numbers.push(format!("{name} {value}")));
        numbers
    }

    /// When to ask a queue again that gave no packet.
    pub(crate) fn next_ready(&self, at_ns: u64) -> Option<u64> {
        self.queue.next_ready(Time::from_nanos(at_ns)).map(Time::as_nanos)
    }

    /// An internal number of a band, if the band has it.
    pub(crate) fn probed_band(&self, band: usize, name: &str) -> Option<f64> {
        let mut number = None;
        self.queue.probe_band(band, &mut |n, value| {
            if n == name {
                number = Some(value);
            }
        });
        number
    }

    /// An internal integer of the queue; 0 if it does not have it.
    pub(crate) fn probe(&self, name: &str) -> i64 {
        self.probed(name).map_or(0, |value| value as i64)
    }

    /// An internal number of the queue, if the queue has it.
    pub(crate) fn probed(&self, name: &str) -> Option<f64> {
        let mut number = None;
        self.queue.probe(&mut |n, value| {
            if n == name {
                number = Some(value);
            }
        });
        number
    }
}
