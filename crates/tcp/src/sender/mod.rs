//! The sender of a TCP with loss, as Linux has it: one file per mechanism, each with its switch in [`TcpParams`].
//!
//! A state machine without input or output: ACKs and times go in, packets are polled. The order of work for one ACK
//! is that of spec/congestion-control section 1.1, because results depend on it; [`Sender::on_ack`] is its table of
//! contents.

mod ack;
mod ack_request;
mod buffer;
mod classic;
mod close;
mod detection;
mod dsack;
mod ecn;
mod expected;
mod feedback;
mod frto;
mod handshake;
mod info;
mod jitter;
mod limits;
mod max_flight;
mod metrics;
mod pacing;
mod pipe_ack;
mod prr;
mod push;
mod rack;
mod recovery;
mod reordering;
mod reset;
mod rfc6675;
mod rto;
mod rtt;
mod scoreboard;
mod skip;
mod small_queues;
mod stats;
mod tlp;
mod transmit;
mod tso;
mod undo;
mod validation;
mod windowed_min;

use std::sync::Arc;

pub use limits::Limited;
pub use stats::SenderStats;

pub use windtunnel_cc::CaState;
use windtunnel_cc::rate_sample::RateSampler;
use windtunnel_cc::{CongestionControl, Control, ExitReason, Needs, PacingNeed, Phase};
use windtunnel_prefetch::prefetch;
use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::{Ecn, Packet, TcpFlags};

use crate::ack_report::AckReport;
use crate::config::{Endpoint, WindowScale};
use crate::params::{LossDetection, TcpParams};
use crate::paws;
use ack::Ack;
use ack_request::AckRequests;
use buffer::SendBuffer;
use classic::Inflating;
use close::Close;
use detection::Detector;
use ecn::EcnSender;
use expected::Predicted;
use frto::Frto;
use handshake::Handshake;
use jitter::Jitter;
use limits::Limits;
use pacing::Pacer;
use prr::Prr;
use push::Push;
use rack::Rack;
use reordering::Reordering;
use rfc6675::Rfc6675;
use rto::{Backoff, Timer, TimerKind};
use rtt::RttEstimator;
use scoreboard::Scoreboard;
use skip::Skip;
use small_queues::SmallQueues;
use tlp::Tlp;
use transmit::Forced;
use tso::Tso;
use undo::Undo;
use validation::Validation;

/// A TCP sender.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the connection")]
#[derive(Debug)]
pub struct Sender {
    endpoint: Endpoint,
    mss: Bytes,
    /// Shared with all connections that have the same.
    params: Arc<TcpParams>,
    handshake: Handshake,
    close: Close,

    // The data to send.
    unsent: Bytes,
    push: Push,
    /// Without it there is room for everything.
    buffer: Option<Box<SendBuffer>>,
    /// The right edge of the receive window.
    window_end: Seq,
    /// The scale of the window field.
    window_scale: WindowScale,
    /// The largest window that the receiver offered.
    largest_window: Bytes,
    /// The window of the last ACK; kept for controllers that are told of deliveries.
    reported_window: Bytes,
    /// The segment that leaves next, regardless of cwnd.
    forced: Option<Forced>,
    /// No retransmissions until the next ACK or timer.
    only_new: bool,

    // The data that were sent.
    board: Scoreboard,
    rate: RateSampler,
    last_sent: Time,
    /// Data were sent since the last flight started.
    idle: bool,
    /// New data were sent since a time at which nothing could be sent.
    sent_since_pause: bool,
    ts_recent: Time,

    // Time.
    rtt: RttEstimator,
    timer: Timer,
    backoff: Backoff,
    pacer: Pacer,
    tso: Tso,
    /// The end of the wait for pacing, for the processor, or for the host's queue.
    wake: Time,
    jitter: Option<Box<Jitter>>,
    small_queues: Option<Box<SmallQueues>>,
    tlp: Tlp,
    skip: Option<Box<Skip>>,
    ack_requests: Option<Box<AckRequests>>,

    // Congestion.
    cc: Box<dyn CongestionControl>,
    /// The window in force.
    cwnd: Bytes,
    /// What the controller needs, as it stated when the connection was made.
    needs: Needs,
    state: CaState,
    /// SND.NXT when the episode started.
    high_seq: Seq,
    prr: Prr,
    ecn: EcnSender,
    validation: Validation,

    // Losses.
    detector: Detector,
    rack: Rack,
    /// Only with this detection of losses.
    rfc6675: Option<Box<Rfc6675>>,
    reordering: Reordering,
    /// SND.NXT when the last recovery by duplicate ACKs started (RFC 6582).
    recover: Seq,
    partial_acked: bool,
    inflating: Inflating,
    newly_lost: Bytes,
    /// Segments that D-SACKs reported.
    dsacked: u64,
    /// The timer caused the entry to Loss.
    timed_out: bool,
    frto: Frto,
    undo: Undo,

    limits: Limits,
    stats: SenderStats,
    /// What takes a short way.
    predicted: Predicted,
}

impl Sender {
    /// Prefetches the memory that the next ACK needs in addition to this: the oldest segment and the controller.
    #[inline]
    pub fn prefetch(&self) {
        self.board.prefetch();
        prefetch(&*self.cc);
    }

    /// A sender for `endpoint` under the controller `cc`.
    pub fn new(endpoint: Endpoint, params: &Arc<TcpParams>, cc: Box<dyn CongestionControl>) -> Sender {
        let mss = endpoint.mss();
        let (cwnd, needs) = (cc.cwnd(), cc.needs());
        let sender = Sender {
            endpoint,
            mss,
            handshake: Handshake::new(params),
            close: Close::new(),
            unsent: Bytes::ZERO,
            push: Push::new(params.write_size, params.send_buffer.is_some()),
            buffer: SendBuffer::new(params, &endpoint, needs.send_buffer_windows),
            window_end: Seq::FIRST_DATA,
            window_scale: WindowScale::new(&endpoint, params),
            largest_window: Bytes::ZERO,
            reported_window: Bytes::ZERO,
            forced: None,
            only_new: false,
            board: Scoreboard::new(needs.loss_reports),
            rate: RateSampler::new(needs.rate_samples),
            last_sent: Time::ZERO,
            idle: true,
            sent_since_pause: false,
            ts_recent: Time::ZERO,
            rtt: RttEstimator::new(params),
            timer: Timer::idle(),
            backoff: Backoff::default(),
            pacer: Pacer::new(endpoint.paced || needs.pacing == PacingNeed::Always, params)
                .pacing_the_first(needs.paces_first)
                .repacing(needs.repaces),
            tso: Tso::new(params, mss),
            wake: Time::NEVER,
            jitter: Jitter::new(params.jitter, params.jitter_seed ^ u64::from(endpoint.flow.get())),
            small_queues: SmallQueues::new(params),
            tlp: Tlp::new(params.tlp && params.sack),
            skip: Skip::new(params),
            ack_requests: AckRequests::new(params),
            cwnd,
            needs,
            cc,
            state: CaState::Open,
            high_seq: Seq::SYN,
            prr: Prr::new(params.reduction, cwnd / mss),
            ecn: EcnSender::new(&endpoint, params),
            validation: Validation::new(params, endpoint.iw, mss),
            detector: Detector::new(params),
            rack: Rack::default(),
            rfc6675: (params.loss_detection == LossDetection::Rfc6675).then(|| Box::new(Rfc6675::new(mss))),
            reordering: Reordering::new(params.dupthresh, mss),
            recover: Seq::SYN,
            partial_acked: false,
            inflating: Inflating::default(),
            newly_lost: Bytes::ZERO,
            dsacked: 0,
            timed_out: false,
            frto: Frto::Off,
            undo: Undo::default(),
            limits: Limits::default(),
            stats: SenderStats::default(),
            predicted: Predicted::NONE,
            params: Arc::clone(params),
        };
        Sender { predicted: sender.predicted(), ..sender }
    }

    /// The application adds `bytes` to its stream; [`Bytes::MAX`] is an endless one.
    pub fn write(&mut self, bytes: Bytes) {
        if self.has_closed() {
            return;
        }
        if self.unsent == Bytes::ZERO {
            self.push.begin_call(self.board.nxt());
        }
        match &mut self.buffer {
            Some(buffer) => {
                buffer.write(bytes);
                self.fill_buffer();
            }
            None => self.unsent = Bytes::new(self.unsent.get().saturating_add(bytes.get())),
        }
    }

    /// The application writes no more. Data not sent yet are dropped; data already sent are still delivered.
    pub fn stop(&mut self) {
        self.unsent = Bytes::ZERO;
        if let Some(buffer) = &mut self.buffer {
            buffer.stop();
        }
    }

    /// A packet arrived from the receiver; call [`Sender::poll_transmit`] afterwards.
    #[inline]
    pub fn on_ack(&mut self, packet: &Packet, now: Time) -> AckReport {
        if self.expects(packet) {
            let mut ack = self.take_expected_ack(packet, now);
            return self.conclude::<true>(&mut ack, packet);
        }
        self.on_unexpected(packet, now)
    }

    /// The long way of an ACK.
    #[inline(never)]
    fn on_unexpected(&mut self, packet: &Packet, now: Time) -> AckReport {
        if !self.handshake.established() || packet.flags.contains(TcpFlags::SYN) {
            return self.on_handshake_packet(packet, now);
        }
        if !packet.flags.contains(TcpFlags::ACK) || packet.ack > self.board.nxt() {
            return AckReport::default();
        }
        if paws::rejects(packet.ts_val, self.ts_recent) && self.is_overtaken(packet) {
            return AckReport::default();
        }
        if self.skip.is_some() && self.exposes_receiver(packet) {
            return AckReport::default();
        }
        let mut ack = self.take_ack(packet, now);
        self.conclude::<false>(&mut ack, packet)
    }

    /// What follows from an ACK that the scoreboard has taken. An `EXPECTED` one changes no state, and the connection has
    /// nothing that looks at each ACK.
    #[expect(clippy::inline_always, reason = "compiled for each way of an ACK")]
    #[inline(always)]
    fn conclude<const EXPECTED: bool>(&mut self, ack: &mut Ack, packet: &Packet) -> AckReport {
        let now = ack.now;
        if EXPECTED {
            self.undo.settle();
        } else {
            if self.needs.delivery_reports {
                self.report_delivery(ack, packet);
            }
            self.process_probe(ack);
            self.process_state(ack);
        }
        let sample = self.rate.finish(now, ack.delivered.bytes, self.rtt.min());
        self.inform_controller(ack, &sample);
        self.update_window(ack);
        if !EXPECTED && self.needs.own_reductions {
            self.reduce_on_request(ack);
        }
        self.update_pacing();
        if ack.restart_timer {
            self.restart_timer(now);
        }
        if !EXPECTED {
            self.conclude_others(packet, now);
        }
        let news = (ack.delivered - ack.twice).bytes;
        self.stats.delivered += news;
        AckReport { rtt: ack.rtt, ece: ack.ece, esce: ack.esce, newly_delivered: news }
    }

    /// What few connections have, and few ACKs say.
    #[inline]
    fn conclude_others(&mut self, packet: &Packet, now: Time) {
        if let Some(jitter) = &mut self.jitter {
            jitter.on_ack(now);
        }
        if self.skip.is_some() {
            self.fill_hole();
        }
        if self.ack_requests.is_some() {
            self.consider_ack_request(now);
        }
        if packet.flags.contains(TcpFlags::FIN) {
            self.on_fin(packet);
        }
        if packet.ecn == Ecn::Ce {
            self.on_marked_ack();
        }
    }

    /// When [`Sender::on_timer`] wants to be called.
    #[inline]
    pub fn next_timer(&self) -> Option<Time> {
        let next = self.timer.due.min(self.wake).min(self.handshake.due());
        (next != Time::NEVER).then_some(next)
    }

    /// The time asked for by [`Sender::next_timer`] has come; harmless before. Call [`Sender::poll_transmit`]
    /// afterwards.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.wake {
            self.wake = Time::NEVER;
        }
        self.handshake.on_timer(now);
        if now < self.timer.due || self.timer.due == Time::NEVER {
            return;
        }
        match self.timer.kind {
            TimerKind::Retransmission => self.on_timeout(now),
            TimerKind::LossProbe => self.on_probe_timeout(now),
            TimerKind::Reordering => self.on_reordering_timeout(now),
            TimerKind::WindowProbe => {
                self.timer = Timer::idle();
                self.forced = Some(Forced::WindowProbe);
            }
        }
    }
}

/// The values that an observer sees.
impl Sender {
    /// Totals.
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// The memory of what it keeps about segments in flight.
    pub fn memory(&self) -> Bytes {
        self.board.memory()
    }

    /// Gives memory back that is not in use: for a connection that is idle, of many.
    pub fn give_back(&mut self) {
        self.board.give_back();
    }

    /// What the controller wants now.
    pub fn control(&self) -> Control {
        self.cc.control()
    }

    /// The window in force: the controller's; PRR's while cwnd is being reduced; Reno's inflated one in fast recovery.
    pub fn cwnd(&self) -> Bytes {
        self.cwnd + self.inflation()
    }

    /// Bytes in the network, as far as is known (RFC 6675's pipe).
    pub fn in_flight(&self) -> Bytes {
        self.board.in_flight().bytes
    }

    /// The smoothed round-trip time; zero before the first sample.
    pub fn srtt(&self) -> Duration {
        self.rtt.srtt()
    }

    /// The mean deviation of the round-trip time.
    pub fn rttvar(&self) -> Duration {
        self.rtt.rttvar()
    }

    /// The least round-trip time of the last 300 s; zero before the first sample.
    pub fn min_rtt(&self) -> Duration {
        self.rtt.min()
    }

    /// The retransmission timeout, back-off included.
    pub fn rto(&self) -> Duration {
        self.timeout()
    }

    /// Only cwnd keeps the next segment from leaving.
    pub fn cwnd_limited(&self) -> bool {
        !self.has_room()
    }

    /// The controller is in slow start.
    pub fn in_slow_start(&self) -> bool {
        self.cc.control().phase == Phase::SlowStart
    }

    /// Why slow start ended, once it has.
    pub fn slow_start_exit(&self) -> Option<ExitReason> {
        self.cc.slow_start_exit()
    }

    /// Named internal numbers of the controller: `out(name, value)`.
    pub fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.cc.probe(out);
    }

    /// The first byte not acknowledged.
    pub const fn snd_una(&self) -> Seq {
        self.board.una()
    }

    /// The next byte to be sent.
    pub const fn snd_nxt(&self) -> Seq {
        self.board.nxt()
    }

    /// The state of congestion control.
    pub const fn state(&self) -> CaState {
        self.state
    }

    /// What keeps the next segment from leaving.
    pub const fn limited_by(&self) -> Limited {
        self.limits.current()
    }

    /// Everything that was written is acknowledged, and so is the FIN if the application has closed.
    pub fn is_drained(&self) -> bool {
        self.unsent == Bytes::ZERO && self.board.is_empty() && !self.fin_waits() && !self.is_writing()
    }
}
