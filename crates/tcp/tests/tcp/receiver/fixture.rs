//! A receiver under test: packets go in by sequence number and time, ACKs come out as plain numbers.

use std::collections::BTreeSet;

use windtunnel_tcp::{
    AckParams, AckPolicy, Endpoint, FeedbackScheme, HEADERS, HEADERS_WITHOUT_TIMESTAMPS, Receiver,
    SegmentReport, TcpParams, WindowScale,
};
use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::{Dscp, Ecn, Extras, FlowId, MdsCapability, Options, Packet, TcpFlags};

pub(super) const MSS: u64 = 1448;
pub(super) const RTT: Duration = Duration::from_millis(20);

pub(super) fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(super) fn endpoint(ecn: Ecn, mds: bool, headers: Bytes) -> Endpoint {
    Endpoint {
        flow: FlowId::new(7),
        mtu: Bytes::new(MSS) + headers,
        headers,
        iw: Bytes::new(MSS) * 10,
        paced: false,
        needs_ecn: false,
        ecn,
        feedback: match (ecn, mds) {
            (Ecn::NotEct, _) => FeedbackScheme::None,
            (_, true) => FeedbackScheme::Mds,
            (_, false) => FeedbackScheme::Rfc3168,
        },
        dscp: if mds { Dscp::MDS } else { Dscp::DEFAULT },
    }
}

pub(super) fn policy(policy: AckPolicy) -> AckParams {
    AckParams { policy, ..AckParams::default() }
}

/// An ACK as it left.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reply {
    pub(super) at: Time,
    pub(super) ack: u64,
    pub(super) blocks: Vec<(u64, u64)>,
    pub(super) flags: TcpFlags,
    pub(super) window: u64,
    pub(super) ts_ecr: Time,
    pub(super) size: u64,
}

impl Reply {
    pub(super) fn ece(&self) -> bool {
        self.flags.contains(TcpFlags::ECE)
    }

    pub(super) fn esce(&self) -> bool {
        self.flags.contains(TcpFlags::AE)
    }

    /// The acknowledged byte and the blocks: the content of an RFC's table.
    pub(super) fn table(&self) -> (u64, Vec<(u64, u64)>) {
        (self.ack, self.blocks.clone())
    }
}

/// A receiver and its clock.
pub(super) struct Bench {
    pub(super) receiver: Receiver,
    pub(super) now: Time,
    pub(super) acks: Vec<Reply>,
    pub(super) shift: u32,
    /// Where the options of ACKs were in memory.
    pub(super) addresses: BTreeSet<usize>,
    #[expect(clippy::vec_box, reason = "allocations")]
    pub(super) others: Vec<Box<Extras>>,
}

impl Bench {
    /// A receiver whose handshake took [`RTT`]; time starts when it is over.
    pub(super) fn new(params: &TcpParams, ack: AckParams, ecn: Ecn, mds: bool) -> Bench {
        Bench::connected(params, ack, ecn, mds, RTT)
    }

    /// A receiver without ECN whose handshake took `rtt`.
    pub(super) fn far(ack: AckParams, rtt: Duration) -> Bench {
        Bench::connected(&crate::fixed_window(), ack, Ecn::NotEct, false, rtt)
    }

    fn connected(params: &TcpParams, ack: AckParams, ecn: Ecn, mds: bool, rtt: Duration) -> Bench {
        let headers = if params.timestamps { HEADERS } else { HEADERS_WITHOUT_TIMESTAMPS };
        let receiver = Receiver::new(endpoint(ecn, mds, headers), params, ack);
        let mut bench = Bench {
            receiver,
            now: Time::from_nanos(1),
            acks: Vec::new(),
            addresses: BTreeSet::new(),
            others: Vec::new(),
            shift: WindowScale::new(&endpoint(ecn, mds, headers), params).shift,
        };
        let wants_ecn = ecn != Ecn::NotEct;
        let flags = TcpFlags::SYN.with_if(TcpFlags::ECE, wants_ecn).with_if(TcpFlags::CWR, wants_ecn);
        let mut syn = bench.packet(0, 0, flags, Ecn::NotEct);
        let mds_capable = mds.then_some(MdsCapability { log2_tau: 6 });
        syn.set_options(Options { sack_permitted: params.sack, mds_capable, ..Options::default() });
        bench.put(&syn);
        assert_eq!(bench.acks.len(), 1, "the SYN is answered");
        bench.acks.clear();
        bench.now += rtt;
        bench
    }

    /// A Linux receiver without ECN.
    pub(super) fn plain(ack: AckPolicy) -> Bench {
        Bench::new(&crate::fixed_window(), policy(ack), Ecn::NotEct, false)
    }

    pub(super) fn packet(&self, seq: u64, len: u64, flags: TcpFlags, ecn: Ecn) -> Packet {
        let mut packet = Packet::new(FlowId::new(7), HEADERS + Bytes::new(len), Bytes::new(len));
        packet.seq = Seq::new(seq);
        packet.flags = flags;
        packet.ecn = ecn;
        packet.ts_val = self.now;
        packet
    }

    /// `packet` arrives now.
    pub(super) fn put(&mut self, packet: &Packet) -> SegmentReport {
        let report = self.receiver.on_segment(packet, self.now);
        self.collect();
        report
    }

    /// The bytes from `start` up to `end` arrive now.
    pub(super) fn bytes(&mut self, start: u64, end: u64) -> SegmentReport {
        self.marked(start, end, TcpFlags::NONE, Ecn::NotEct)
    }

    /// The same with TCP flags and a code point.
    pub(super) fn marked(&mut self, start: u64, end: u64, flags: TcpFlags, ecn: Ecn) -> SegmentReport {
        self.put(&self.packet(start, end - start, TcpFlags::ACK | flags, ecn))
    }

    /// The `n`-th full segment of the stream arrives now.
    pub(super) fn segment(&mut self, n: u64) -> SegmentReport {
        self.segment_with(n, Ecn::NotEct)
    }

    /// The same with a code point.
    pub(super) fn segment_with(&mut self, n: u64, ecn: Ecn) -> SegmentReport {
        self.marked(1 + n * MSS, 1 + (n + 1) * MSS, TcpFlags::NONE, ecn)
    }

    /// Time passes; timers run out at their time.
    pub(super) fn wait(&mut self, span: Duration) -> SegmentReport {
        let end = self.now + span;
        let mut report = SegmentReport::default();
        while let Some(timer) = self.receiver.next_timer().filter(|timer| *timer <= end) {
            assert!(timer >= self.now, "a timer in the past");
            self.now = timer;
            report += self.receiver.on_timer(timer);
            self.collect();
            assert!(self.receiver.next_timer().is_none_or(|next| next > timer), "the timer is served");
        }
        self.now = end;
        report
    }

    /// The ACKs that left since the last call.
    pub(super) fn take(&mut self) -> Vec<Reply> {
        std::mem::take(&mut self.acks)
    }

    /// The same as in a table of an RFC.
    pub(super) fn table(&mut self) -> Vec<(u64, Vec<(u64, u64)>)> {
        self.take().iter().map(Reply::table).collect()
    }

    fn collect(&mut self) {
        while let Some(mut packet) = self.receiver.poll_ack(self.now) {
            let blocks = packet.options().map_or(Vec::new(), |options| {
                options.sack.as_slice().iter().map(|block| (block.start.get(), block.end.get())).collect()
            });
            assert_eq!(packet.payload(), Bytes::ZERO);
            assert_eq!((packet.ecn, packet.dscp), (Ecn::NotEct, Dscp::DEFAULT), "pure ACKs");
            assert!(!packet.is_corrupted());
            self.acks.push(Reply {
                at: self.now,
                ack: packet.ack.get(),
                blocks,
                flags: packet.flags,
                window: u64::from(packet.window) << self.shift,
                ts_ecr: packet.ts_ecr,
                size: packet.size().get(),
            });
            if packet.has_extras() {
                packet.corrupt();
            }
            packet.take_extras().into_iter().for_each(|extras| self.give_back(extras));
        }
    }

    /// The ACK has arrived. What its options held must not appear in another ACK; and if the receiver did not keep them,
    /// another allocation would take their place.
    fn give_back(&mut self, extras: Box<Extras>) {
        self.addresses.insert(std::ptr::from_ref(&*extras).addr());
        self.receiver.take_back(extras);
        self.others.push(Box::default());
    }
}
