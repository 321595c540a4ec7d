//! The receiver of a TCP as Linux has it.
//!
//! A segment that is the next one while nothing is missing takes a short way: flags, timestamp, window and ACK. All
//! other segments (losses, reordering, duplicates) go through the reassembly and are acknowledged with SACK. The
//! application reads at once.
//!
//! RFC 9293 section 3.10.7.4; one file per mechanism.

mod acceptance;
mod ack_frequency;
mod attack;
mod autotuning;
mod buffer;
mod close;
mod compression;
mod delayed_ack;
mod expected;
mod feedback;
mod gro;
mod handshake;
pub(crate) mod hiding;
mod options;
mod quickack;
mod reassembly;
mod rledbat;
mod sack;
mod segment;
mod segment_size;
mod stats;
mod timestamps;
mod window;

use std::collections::VecDeque;
use std::num::NonZeroU32;

use windtunnel_prefetch::prefetch;
use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::{Ecn, Extras, Packet, TcpFlags};

use self::attack::Attack;
use self::buffer::{Buffer, initial_window};
use self::close::Close;
use self::delayed_ack::{Arrival, Connection, DelayedAck, Leave};
use self::feedback::{Feedback, Mark};
use self::gro::Gro;
use self::handshake::Handshake;
use self::hiding::Hiding;
use self::reassembly::{Insertion, Reassembly};
use self::rledbat::RLedbat;
use self::sack::Sack;
use self::segment::Segment;
use self::segment_size::SegmentSize;
use self::timestamps::Timestamps;
use self::window::Window;
use crate::ack_policy::AckParams;
use crate::config::{Endpoint, WindowScale};
use crate::ecn_pp::{CodePoints, EcnPp};
use crate::params::TcpParams;

pub(crate) use self::feedback::{
    INITIAL_CEP, INITIAL_E0B, INITIAL_E1B, handshake_code, handshake_ecn, option_size,
};
pub use self::rledbat::ReceiverController;
pub use self::stats::{ReceiverStats, SegmentReport};

/// One ACK that is due to leave.
#[derive(Debug)]
struct Due {
    seq: Seq,
    ack: Seq,
    ts_ecr: Time,
    extras: Option<Box<Extras>>,
    window: u16,
    flags: TcpFlags,
}

/// The receiving end of a connection.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the connection")]
#[derive(Debug)]
pub struct Receiver {
    endpoint: Endpoint,
    rcv_nxt: Seq,
    window: Window,
    feedback: Feedback,
    mds_tau: Option<NonZeroU32>,
    /// It knows nonces.
    nonces: bool,
    ecn_pp: EcnPp,
    syn_ack_ecn: Ecn,
    code_points: CodePoints,
    hiding: Option<Box<Hiding>>,
    attack: Option<Box<Attack>>,
    /// It limits the sender.
    rledbat: Option<Box<RLedbat>>,
    timestamps: Timestamps,
    delayed_ack: DelayedAck,
    handshake: Handshake,
    reassembly: Reassembly,
    sack: Sack,
    keeps_out_of_order: bool,
    close: Close,
    /// Its own FIN is repeated by a loss probe first.
    probes_losses: bool,
    segment_size: SegmentSize,
    /// The window that a SYN|ACK offers.
    initial_window: u16,
    /// Without it the window is fixed.
    buffer: Option<Box<Buffer>>,
    gro: Option<Box<Gro>>,
    due: VecDeque<Due>,
    /// Memory for the options of ACKs, from those that have arrived.
    #[expect(clippy::vec_box, reason = "packets carry boxes: these are kept for the next ones")]
    spare: Vec<Box<Extras>>,
    stats: ReceiverStats,
    /// The segment that nearly every segment is takes the short way.
    predicts: bool,
}

impl Receiver {
    /// A receiver that waits for the SYN of `endpoint`'s flow.
    pub fn new(endpoint: Endpoint, params: &TcpParams, ack: AckParams) -> Receiver {
        let largest = params.receive_window;
        let buffer = (!params.has_fixed_window()).then(|| Box::new(Buffer::new(&endpoint, params)));
        let shift = WindowScale::new(&endpoint, params).shift;
        let window = Window::new(largest, shift);
        let rledbat = params.rledbat.as_ref().map(|controller| {
            Box::new(RLedbat::new(controller, &endpoint, Bytes::new(1 << shift), window.size()))
        });
        let receiver = Receiver {
            endpoint,
            rcv_nxt: Seq::SYN,
            window,
            feedback: Feedback::None,
            mds_tau: ack.mds_tau,
            nonces: params.ecn_nonce,
            ecn_pp: params.ecn_pp,
            syn_ack_ecn: Ecn::NotEct,
            code_points: CodePoints::default(),
            hiding: Hiding::new(&ack),
            attack: Attack::new(&ack),
            rledbat,
            timestamps: Timestamps::new(params.timestamps),
            delayed_ack: DelayedAck::new(&ack, params.asks_ack_rate()),
            handshake: Handshake::new(),
            reassembly: Reassembly::default(),
            sack: Sack::new(params.sack, params.timestamps),
            keeps_out_of_order: true,
            close: Close::new(),
            probes_losses: params.tlp,
            segment_size: SegmentSize::new(endpoint.mss()),
            initial_window: initial_window(params, endpoint.mss()),
            buffer,
            gro: params.gro.map(|period| Box::new(Gro::new(period, params, endpoint.headers))),
            due: VecDeque::new(),
            spare: Vec::new(),
            stats: ReceiverStats::default(),
            predicts: false,
        };
        Receiver { predicts: receiver.predicts(), ..receiver }
    }

    /// Prefetches the memory that the next segment needs in addition to this.
    #[inline]
    pub fn prefetch(&self) {
        prefetch(self.due.as_slices().0);
        if let Some(buffer) = &self.buffer {
            prefetch(&**buffer);
        }
        if let Some(gro) = &self.gro {
            prefetch(&**gro);
        }
    }

    /// Gives memory back that is not in use: for a connection that is idle, of many.
    pub fn give_back(&mut self) {
        self.due.shrink_to_fit();
        self.spare = Vec::new();
        self.sack.give_back();
        self.reassembly.give_back();
        if let Some(rledbat) = &mut self.rledbat {
            rledbat.give_back();
        }
    }

    /// The same receiver, but it discards data that arrive above a gap, as early ones did.
    #[must_use]
    pub fn dropping_out_of_order(self) -> Receiver {
        Receiver { keeps_out_of_order: false, ..self }
    }

    /// A packet arrived. Returns what TCP received by it. With GRO that is known only after [`Receiver::on_timer`].
    #[inline]
    pub fn on_segment(&mut self, packet: &Packet, now: Time) -> SegmentReport {
        if self.expects(packet) {
            self.receive_expected(packet, now)
        } else {
            self.on_unexpected(packet, now)
        }
    }

    /// The next ACK to send; call until there is none.
    #[inline]
    pub fn poll_ack(&mut self, now: Time) -> Option<Packet> {
        if self.due.is_empty() { None } else { self.next_ack(now) }
    }

    fn next_ack(&mut self, now: Time) -> Option<Packet> {
        let due = self.due.pop_front()?;
        let syn = due.flags.contains(TcpFlags::SYN);
        let headers = self.headers(due.extras.as_deref().map(Extras::options), syn);
        let mut ack = Packet::new(self.endpoint.flow, headers, Bytes::ZERO);
        ack.seq = due.seq;
        ack.ack = due.ack;
        ack.ts_val = self.timestamps.value(now);
        ack.ts_ecr = due.ts_ecr;
        ack.set_extras(due.extras);
        ack.window = due.window;
        ack.flags = due.flags;
        self.stamp(&mut ack);
        Some(ack)
    }

    /// When [`Receiver::on_timer`] wants to be called.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        let poll = self.gro.as_ref().map_or(Time::NEVER, |gro| gro.poll_at());
        let attack = self.attack.as_ref().map_or(Time::NEVER, |attack| attack.due());
        let next = poll.min(self.delayed_ack.deadline()).min(self.close.due()).min(attack);
        Some(next).filter(|time| *time < Time::NEVER)
    }

    /// The time asked for by [`Receiver::next_timer`] has come. Returns what TCP received by it, with GRO.
    pub fn on_timer(&mut self, now: Time) -> SegmentReport {
        if let Some(rledbat) = &mut self.rledbat {
            rledbat.at(now);
        }
        let report = self.poll_offload(now);
        if now >= self.delayed_ack.deadline() {
            self.stats.delayed_acks += 1;
            self.delayed_ack.on_expiry(self.handshake.rto());
            self.acknowledge();
        }
        if now >= self.close.due() {
            self.repeat_fin(now);
        }
        if self.attack.is_some() {
            self.attack_on_timer(now);
        }
        report
    }

    /// True if it may delay ACKs: a receiver that never does has no timer.
    #[inline]
    pub fn delays(&self) -> bool {
        let attacks = || self.attack.as_ref().is_some_and(|attack| attack.has_timer());
        self.delayed_ack.delays() || self.gro.is_some() || attacks()
    }

    /// The next byte expected.
    #[inline]
    pub fn rcv_nxt(&self) -> Seq {
        self.rcv_nxt
    }

    /// True if it echoes SCE: the handshake agreed on that.
    #[inline]
    pub fn echoes_sce(&self) -> bool {
        self.feedback.echoes_sce()
    }

    /// How its SYN/ACK arrived, as the sender reported (RFC 9768 table 4); nothing without AccECN.
    pub fn syn_ack_arrived_as(&self) -> Option<Ecn> {
        self.feedback.syn_ack_arrived_as()
    }

    /// What it has counted.
    #[inline]
    pub fn stats(&self) -> &ReceiverStats {
        &self.stats
    }

    /// A SYN, or the reset of the connection.
    #[cold]
    fn on_control(&mut self, packet: &Packet, now: Time) -> SegmentReport {
        if packet.flags.contains(TcpFlags::RST) {
            self.on_reset();
        } else {
            self.on_syn(packet, now);
        }
        SegmentReport::default()
    }

    /// Answers a SYN, again if it comes again; once there are data, with an ACK (RFC 9293 section 3.10.7.4).
    fn on_syn(&mut self, syn: &Packet, now: Time) {
        if self.rcv_nxt > Seq::FIRST_DATA {
            return self.acknowledge();
        }
        self.handshake.on_syn(now);
        let answer = self.feedback.on_syn(self.endpoint.feedback, self.mds_tau, self.nonces, syn);
        self.negotiate_sack(syn);
        let understood = syn.options().is_some_and(|options| options.ack_rate.is_some());
        self.delayed_ack.negotiate_requests(understood);
        self.choose_code_points();
        self.rcv_nxt = Seq::FIRST_DATA;
        self.timestamps.on_segment(Seq::SYN, syn.ts_val);
        let options = self.syn_ack_options(&answer);
        let window = match self.buffer {
            Some(_) => self.window.offer_unscaled(Bytes::new(u64::from(self.initial_window)), self.rcv_nxt),
            None => self.window.offer(self.rcv_nxt),
        };
        if let Some(rledbat) = &mut self.rledbat {
            rledbat.at(now);
            rledbat.on_offer(self.rcv_nxt, self.window.edge(), self.window.size());
        }
        self.leave(Seq::SYN, TcpFlags::SYN | TcpFlags::ACK | answer.flags, Some(options), window);
    }

    /// A segment within the window: handles its marks and its timestamp. Pending segments with another mark are
    /// acknowledged first.
    #[inline]
    fn accept(&mut self, segment: &Segment) -> Arrival {
        if self.hiding.is_some() { self.accept_in_part(segment) } else { self.accept_as_it_is(segment) }
    }

    /// Marks that the receiver conceals have still arrived.
    #[cold]
    fn accept_in_part(&mut self, segment: &Segment) -> Arrival {
        if self.feedback.has_nonces() && segment.ecn != Ecn::Ce {
            return self.accept_as_it_is(segment);
        }
        let Some(hiding) = &mut self.hiding else { return self.accept_as_it_is(segment) };
        let claimed = hiding.claim(segment.ecn, self.endpoint.ecn);
        if claimed != segment.ecn {
            let packets = u64::from(segment.packets);
            self.stats.ce += if segment.ecn == Ecn::Ce { packets } else { 0 };
            self.stats.sce += if self.feedback.mark(segment.ecn) == Mark::Sce { packets } else { 0 };
        }
        self.accept_as_it_is(&Segment { ecn: claimed, ..*segment })
    }

    #[inline]
    fn accept_as_it_is(&mut self, segment: &Segment) -> Arrival {
        let packets = u64::from(segment.packets);
        let mark = self.feedback.mark(segment.ecn);
        let changed = self.delayed_ack.is_apart_from(mark);
        if changed {
            self.acknowledge();
        }
        self.stats.segments += packets;
        self.stats.ce += if segment.ecn == Ecn::Ce { packets } else { 0 };
        self.stats.sce += if mark == Mark::Sce { packets } else { 0 };
        self.timestamps.on_segment(segment.seq, segment.ts_val);
        let news = self.feedback.on_segment(segment);
        self.delayed_ack.on_packet(segment.end, segment.ecn);
        Arrival {
            packets: segment.packets,
            ecn: segment.ecn,
            mark,
            changed,
            news,
            grew: false,
            pushed: false,
        }
    }

    /// A segment in order is in the buffer.
    #[inline]
    fn buffer_in_order(&mut self, arrival: Arrival, segment: &Segment, now: Time) -> Arrival {
        let measured = self.segment_size.on_segment(segment);
        let offered = self.window.size();
        let grew = self.buffer.as_mut().is_some_and(|buffer| {
            buffer.on_echo(segment, &self.segment_size, now);
            buffer.on_data(segment, measured, &self.segment_size, offered, now)
        });
        Arrival { grew, pushed: measured.pushed, ..arrival }
    }

    /// The new part of a segment above a gap is in the buffer.
    fn buffer_above_gap(
        &mut self,
        arrival: Arrival,
        segment: &Segment,
        insertion: &Insertion,
        now: Time,
    ) -> Arrival {
        let (measured, extent) = (self.segment_size.on_segment(segment), self.extent());
        let Some(buffer) = &mut self.buffer else { return arrival };
        buffer.on_echo(segment, &self.segment_size, now);
        if insertion.duplicate == segment.len() {
            return arrival;
        }
        let offered = self.window.size();
        let selective = self.sack.is_enabled();
        let grew = buffer.on_out_of_order(segment, measured, &self.segment_size, offered, extent, selective);
        Arrival { grew, ..arrival }
    }

    /// Everything below `end` has arrived.
    #[inline]
    fn deliver(&mut self, end: Seq) -> Bytes {
        let delivered = end - self.rcv_nxt;
        self.rcv_nxt = end;
        self.stats.delivered += delivered;
        delivered
    }

    /// The application reads the new data, which may release an ACK.
    #[inline]
    fn read(&mut self, now: Time) {
        if let Some(buffer) = &mut self.buffer {
            buffer.on_read(self.rcv_nxt, self.rcv_nxt, Bytes::ZERO, now);
        }
        self.release_by_reading();
    }

    /// The application reads a segment that filled a gap and ends at `end`, and what had waited for it.
    fn read_from(&mut self, end: Seq, now: Time) {
        let extent = self.extent();
        if let Some(buffer) = &mut self.buffer {
            buffer.on_read(buffer.first_read(end, self.rcv_nxt), self.rcv_nxt, extent, now);
        }
        self.release_by_reading();
    }

    #[inline]
    fn release_by_reading(&mut self) {
        if (self.delayed_ack.leaves_when_read() && self.reassembly.is_empty()) || self.has_reopened() {
            self.acknowledge();
        }
    }

    /// How far above the next byte expected data have arrived.
    fn extent(&self) -> Bytes {
        self.reassembly.ranges().next_back().map_or(Bytes::ZERO, |range| range.end - self.rcv_nxt)
    }

    /// Reading has at least doubled a window that was small (Linux `tcp_cleanup_rbuf`): the sender may wait for it.
    #[inline]
    fn has_reopened(&self) -> bool {
        self.buffer.as_ref().is_some_and(|buffer| {
            let left = self.window.left(self.rcv_nxt);
            let room = || match &self.rledbat {
                None => buffer.offer().0,
                Some(rledbat) => rledbat.limited(buffer.offer().0),
            };
            buffer.is_small(left) && room() >= (left * 2).max(Bytes::new(1))
        })
    }

    /// The sender has seen the SYN|ACK.
    fn on_established(&mut self, now: Time) {
        self.handshake.on_answer(now);
        if let Some(buffer) = &mut self.buffer {
            buffer.on_established(now);
        }
    }

    #[inline]
    fn acknowledge_if(&mut self, leave: Leave) {
        match leave {
            Leave::AtOnce => self.acknowledge(),
            Leave::Quick => {
                self.stats.quick_acks += 1;
                self.acknowledge();
            }
            Leave::Later => {}
        }
    }

    /// Acknowledges everything that arrived.
    #[inline]
    fn acknowledge(&mut self) {
        self.answer(self.close.snd_nxt(), TcpFlags::NONE);
    }

    /// Acknowledges everything that arrived, with a packet of this sequence number and with these flags in addition to
    /// those of an ACK.
    #[inline]
    fn answer(&mut self, seq: Seq, flags: TcpFlags) {
        self.stats.acks += 1;
        self.stats.compressed_acks += u64::from(self.delayed_ack.held());
        self.stats.dsacks += u64::from(self.sack.has_duplicate());
        let extras = self.extras();
        let window = self.offer();
        let feedback = self.feedback.flags(self.delayed_ack.mark(), self.rcv_nxt);
        self.leave(seq, feedback | flags, extras, window);
        self.delayed_ack.on_ack_sent();
    }

    /// The window field of an ACK.
    #[inline]
    fn offer(&mut self) -> u16 {
        if self.attack.as_ref().is_some_and(|attack| attack.has_timer()) {
            // An optimist keeps nothing, and so has room for everything.
            return self.window.offer_most(self.rcv_nxt);
        }
        if self.rledbat.is_some() {
            return self.offer_limited();
        }
        let Some(buffer) = &self.buffer else { return self.window.offer(self.rcv_nxt) };
        let (size, low) = buffer.offer();
        if low {
            self.delayed_ack.on_low_memory();
        }
        self.window.offer_at_least(size, self.rcv_nxt)
    }

    /// An ACK with these flags, options and window field is due.
    #[inline]
    fn leave(&mut self, seq: Seq, flags: TcpFlags, extras: Option<Box<Extras>>, window: u16) {
        let (ack, ts_ecr) = (self.rcv_nxt, self.timestamps.echo());
        if self.attack.is_some() {
            self.divide(seq, ack, ts_ecr, window, flags);
        }
        self.due.push_back(Due { seq, ack, ts_ecr, extras, window, flags });
        self.timestamps.on_ack_sent(self.rcv_nxt);
    }
}

/// What ACK policies look at, borrowed separately from them.
#[inline]
fn connection<'a>(sizes: &SegmentSize, window: &Window, handshake: &'a Handshake) -> Connection<'a> {
    Connection { mss: sizes.estimate(), window: window.size(), handshake }
}
