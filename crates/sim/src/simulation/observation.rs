//! What an observer may see of a run in progress: its next event, the packets that it has counted, and the state of the
//! ends of TCP connections.

use windtunnel_qdisc::QueueStats;
use windtunnel_tcp::{ConnectionState, Receiver};
use windtunnel_units::{Bytes, Seq, Time};

use super::Simulation;
use crate::element::PlacedElement;
use crate::endpoint::{Ends, Pair, SenderHalf, TcpEnd};
use crate::line::DelayLine;
use crate::link::Link;

/// Both ends of a TCP connection at one moment. SND.UNA never passes RCV.NXT, which never passes SND.NXT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamState {
    /// The flow of the network whose statistics it counts towards.
    pub flow: usize,
    /// SND.UNA: the first byte not acknowledged.
    pub una: Seq,
    /// SND.NXT: the next byte to be sent.
    pub nxt: Seq,
    /// RCV.NXT: the next byte expected.
    pub rcv_nxt: Seq,
    /// What the receiver has handed to the application.
    pub delivered: Bytes,
    /// Segments that the receiver discarded because their timestamps were too old (PAWS).
    pub too_old: u64,
    /// The window in force.
    pub cwnd: Bytes,
    /// Bytes in the network, as far as the sender knows.
    pub in_flight: Bytes,
    /// The memory that its packets occupy in the sender's host; counted with small queues alone.
    pub in_host: Bytes,
    /// Everything that was written is acknowledged.
    pub drained: bool,
    /// The receiver has the sender's FIN, which is one below RCV.NXT.
    pub ended: bool,
    /// The states of the sender and of the receiver.
    pub states: [ConnectionState; 2],
    /// When the sender or its application wants to be called.
    pub timer: Time,
}

impl Simulation {
    /// Events handled so far.
    pub const fn events(&self) -> u64 {
        self.handled
    }

    /// When the next event is due; [`Simulation::run_until`] just after that time handles it and all others of that
    /// time.
    pub fn next_event(&self) -> Time {
        self.events.peek().0.min(self.timers.peek().0).min(self.next_plan)
    }

    /// Packets sent into the network so far, by senders and receivers.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Packets that media have duplicated so far.
    pub fn duplicated(&self) -> u64 {
        self.elements.iter().map(|i| i.stats().duplicated).sum()
    }

    /// Packets that have reached an end so far.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Those of them without data: acknowledgements, nearly all.
    pub fn arrived_without_data(&self) -> u64 {
        self.arrived - self.recorder.packets()
    }

    /// Packets that have reached an end so far and were discarded because they were damaged.
    pub fn corrupted(&self) -> u64 {
        self.corrupted
    }

    /// Packets that queues and media have lost so far.
    pub fn lost(&self) -> u64 {
        let by_queues: u64 = self.links.iter().map(|l| l.stats().lost).sum();
        by_queues + self.elements.iter().map(|i| i.stats().lost).sum::<u64>()
    }

    /// Packets in the network now: queued, on a wire, in a delay line, or held by a medium. At any time
    /// `sent + duplicated = arrived + corrupted + lost + in_network`.
    pub fn in_network(&self) -> u64 {
        let queued = |l: &Link| l.queue().backlog().packets + l.holds();
        let links: usize = self.links.iter().map(queued).sum();
        let lines: usize = self.lines.iter().map(DelayLine::len).sum();
        (links + lines) as u64 + self.elements.iter().map(PlacedElement::held).sum::<u64>()
    }

    /// What the queues have counted so far, and the bytes that wait in each.
    pub fn queues(&self) -> impl Iterator<Item = (&QueueStats, Bytes)> {
        self.links.iter().map(|link| (link.stats(), link.queue().backlog().bytes))
    }

    /// Connections that exist now, of flows that stand for many. Memory is bounded by their maximum number.
    pub fn connections(&self) -> usize {
        self.flows[self.first_member..].iter().filter(|f| f.active).count()
    }

    /// TCP connections that have started: as they are now, or as they were when the last thing happened to them that could.
    pub fn streams(&self) -> impl Iterator<Item = StreamState> {
        self.flows.iter().filter_map(|flow| match &flow.ends {
            Ends::Tcp(halves) => Some(StreamState::of(halves, flow.series)),
            Ends::Still(state) => state.last,
            _ => None,
        })
    }
}

impl StreamState {
    /// The state of the two halves of `series`.
    pub(crate) fn of(halves: &Pair<TcpEnd, Receiver>, series: u32) -> StreamState {
        let Pair { sender: end, receiver } = halves;
        let sender = &end.sender;
        StreamState {
            flow: series as usize,
            una: sender.snd_una(),
            nxt: sender.snd_nxt(),
            rcv_nxt: receiver.rcv_nxt(),
            delivered: receiver.stats().delivered,
            too_old: receiver.stats().paws,
            cwnd: sender.cwnd(),
            in_flight: sender.in_flight(),
            in_host: sender.in_host(),
            drained: sender.is_drained(),
            ended: receiver.is_at_end(),
            states: [sender.connection_state(), receiver.connection_state()],
            timer: end.next_timer(),
        }
    }
}
