//! The halves of flows whose ends are outside: they send what arrives at a device, and hand over what leaves.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windtunnel_sim::application::Protocol;
use windtunnel_sim::endpoint::{
    Arrival, Counted, Counters, Feedback, FlowContext, Halves, Reading, ReceiverHalf, SenderHalf,
    SenderState, Stack, StackControllers, StackDescription, StackParams,
};
use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::{FlowId, IpFields, Packet, TcpFlags};

use crate::ip::{Headers, Tcp};
use crate::seen::Seen;
use crate::stacks::{LinuxKernelParams, OutsideParams};

/// An end of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Where the way starts: what enters here goes forward.
    Near,
    /// Where it ends: what enters here goes back.
    Far,
}

/// A packet that arrives at a device.
#[derive(Debug)]
struct Entering {
    headers: Headers,
    content: Arc<[u8]>,
    at: Time,
    /// TCP's numbers.
    seq: Seq,
    ack: Seq,
}

/// A packet that leaves by the device at one side.
#[derive(Debug)]
pub(crate) struct Leaving {
    pub(crate) side: Side,
    pub(crate) due: Time,
    /// The packet as it was when it entered.
    pub(crate) content: Arc<[u8]>,
    /// Its IP header as the path leaves it.
    pub(crate) ip: IpFields,
}

/// What the halves of all flows share with the devices.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doors(Arc<Mutex<Inside>>);

#[derive(Debug, Default)]
struct Inside {
    flows: Vec<Door>,
    leaving: VecDeque<Leaving>,
}

/// What one flow shares with the devices.
#[derive(Debug, Default)]
struct Door {
    near: VecDeque<Entering>,
    far: VecDeque<Entering>,
    seen: Seen,
    /// Bytes that are in order at the receiver, as its ACKs say, and have not been reported.
    ordered: Bytes,
}

impl Doors {
    /// The doors of a number of flows.
    pub(crate) fn new(flows: usize) -> Doors {
        let flows = std::iter::repeat_with(Door::default).take(flows).collect();
        Doors(Arc::new(Mutex::new(Inside { flows, leaving: VecDeque::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A packet arrives at the device at `side`.
    pub(crate) fn enter(&self, flow: usize, side: Side, headers: Headers, content: Arc<[u8]>, at: Time) {
        let mut inside = self.lock();
        let door = &mut inside.flows[flow];
        let mut entering = Entering { headers, content, at, seq: Seq::SYN, ack: Seq::SYN };
        match (side, headers.tcp) {
            (Side::Near, _) => door.near.push_back(entering),
            (Side::Far, None) => door.far.push_back(entering),
            (Side::Far, Some(tcp)) => {
                let ordered;
                (entering.seq, entering.ack, ordered) = door.seen.reply(&tcp, headers.payload);
                door.ordered += ordered;
                door.far.push_back(entering);
            }
        }
    }

    /// The next packet that leaves by a device.
    pub(crate) fn leave(&self) -> Option<Leaving> {
        self.lock().leaving.pop_front()
    }
}

/// A stack whose ends are outside, and the doors of its flows: without them, none can run.
#[derive(Clone, Debug)]
pub(crate) struct Outside {
    params: Arc<dyn StackParams>,
    controllers: StackControllers,
    doors: Option<Doors>,
}

impl Outside {
    pub(crate) fn new(params: impl StackParams, controllers: StackControllers) -> Outside {
        Outside { params: Arc::new(params), controllers, doors: None }
    }

    /// The same stack, if its ends are outside.
    pub(crate) fn of(stack: &dyn Stack) -> Option<Outside> {
        let StackDescription { params, controllers } = stack.description()?;
        let (params, controllers): (&dyn Any, _) = (params, controllers.clone());
        let program = |params: &OutsideParams| Outside::new(params.clone(), controllers.clone());
        let kernel = |params: &LinuxKernelParams| Outside::new(params.clone(), controllers.clone());
        params.downcast_ref().map(program).or_else(|| params.downcast_ref().map(kernel))
    }

    /// The stack of flows with these doors.
    pub(crate) fn with(self, doors: Doors) -> Outside {
        Outside { doors: Some(doors), ..self }
    }
}

impl Stack for Outside {
    fn name(&self) -> &str {
        self.params.name()
    }

    fn protocol(&self) -> Protocol {
        Protocol::Udp
    }

    fn description(&self) -> Option<StackDescription<'_>> {
        Some(StackDescription { params: &*self.params, controllers: &self.controllers })
    }

    fn counts(&self) -> Counted {
        Counted::SENT | Counted::DELIVERED | Counted::RETRANSMITS
    }

    fn halves(&self, flow: &FlowContext<'_>) -> Option<Halves> {
        let doors = self.doors.clone()?;
        let end = End { doors, flow: flow.flow };
        Some(Halves { sender: Box::new(Sender(end.clone())), receiver: Box::new(Receiver(end)) })
    }
}

/// One end of a flow.
#[derive(Clone, Debug)]
struct End {
    doors: Doors,
    flow: FlowId,
}

impl End {
    fn with<T>(&self, look: impl FnOnce(&mut Door) -> T) -> T {
        look(&mut self.doors.lock().flows[self.flow.index()])
    }

    /// A packet leaves by the device at `side`.
    fn leave(&self, side: Side, packet: &Packet, now: Time) {
        if let Some(content) = packet.content() {
            let content = Arc::clone(content);
            self.doors.lock().leaving.push_back(Leaving { side, due: now, content, ip: packet.ip() });
        }
    }
}

/// The packet of the simulation that carries a real one.
fn carrier(flow: FlowId, entering: Entering) -> Packet {
    let Entering { headers, content, seq, ack, .. } = entering;
    let mut packet = Packet::new(flow, Bytes::new(content.len() as u64), headers.payload);
    (packet.seq, packet.ack) = (seq, ack);
    packet.ecn = headers.ip.ecn;
    packet.dscp = headers.ip.dscp;
    if let Some(Tcp { flags, window, .. }) = headers.tcp {
        packet.flags = flags;
        packet.window = window;
    }
    packet.set_content(content);
    packet
}

/// The half at the near end.
#[derive(Debug)]
struct Sender(End);

impl SenderHalf for Sender {
    fn start(&mut self, _now: Time) {}

    fn stop(&mut self) {}

    fn on_packet(&mut self, packet: &Packet, now: Time) -> Feedback {
        self.0.leave(Side::Near, packet, now);
        let acknowledges = packet.flags.contains(TcpFlags::ACK);
        let rtt = acknowledges.then(|| self.0.with(|door| door.seen.arrived(packet.ack, now))).flatten();
        Feedback { rtt, ece: packet.flags.contains(TcpFlags::ECE), ..Feedback::default() }
    }

    fn poll(&mut self, now: Time) -> Option<Packet> {
        let entering = self.0.with(|door| {
            let mut entering = door.near.pop_front()?;
            let Headers { payload, tcp, .. } = entering.headers;
            match tcp {
                Some(tcp) => (entering.seq, entering.ack) = door.seen.segment(&tcp, payload, now),
                None => door.seen.sent += 1,
            }
            Some(entering)
        })?;
        Some(carrier(self.0.flow, entering))
    }

    fn next_timer(&self) -> Time {
        self.0.with(|door| door.near.front().map_or(Time::NEVER, |entering| entering.at))
    }

    fn on_timer(&mut self, _now: Time) -> bool {
        false
    }

    fn observe(&self) -> SenderState {
        // Its window is not on the wire.
        SenderState::default()
    }

    fn sent_again(&self) -> bool {
        self.0.with(|door| door.seen.again)
    }

    fn reading(&self) -> Reading {
        let counters = self.0.with(|door| Counters {
            sent: door.seen.sent,
            retransmits: door.seen.retransmits,
            delivered: door.seen.acked(),
            ..Counters::default()
        });
        Reading { counters, info: None }
    }
}

/// The half at the far end.
#[derive(Debug)]
struct Receiver(End);

impl ReceiverHalf for Receiver {
    fn on_packet(&mut self, packet: &Packet, now: Time) -> Arrival {
        self.0.leave(Side::Far, packet, now);
        // What TCP has in order, its ACKs will say.
        let is_tcp = packet.flags != TcpFlags::NONE;
        Arrival { delivered: if is_tcp { Bytes::ZERO } else { packet.payload() }, ..Arrival::default() }
    }

    fn poll(&mut self, _now: Time) -> Option<Packet> {
        let entering = self.0.with(|door| door.far.pop_front())?;
        Some(carrier(self.0.flow, entering))
    }

    fn next_timer(&self) -> Time {
        self.0.with(|door| door.far.front().map_or(Time::NEVER, |entering| entering.at))
    }

    fn on_timer(&mut self, _now: Time) -> Bytes {
        self.0.with(|door| std::mem::take(&mut door.ordered))
    }
}
