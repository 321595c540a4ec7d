//! What an ACK's options hold (spec/queues-and-signalling section 18.1; RFC 9768 section 3.2.3.3).

use windtunnel_tcp::{
    AckPolicy, EcnPp, Endpoint, FeedbackScheme, HEADERS, HEADERS_WITHOUT_TIMESTAMPS, Receiver, TcpParams,
};
use windtunnel_units::Time;
use windtunnel_wire::{Ecn, Options, TcpFlags};

use super::fixture::{Bench, MSS, endpoint, policy};

/// Five blocks and AccECN: the option comes before all but two SACK blocks, where a counter has changed. 40 bytes
/// hold three blocks next to timestamps (12 + 28), or two and an option of 8 (12 + 20 + 8); without, four (36), or
/// three and an option (28 + 8).
#[test]
fn sack_and_accecn_share_the_room() {
    for (timestamps, ecn, blocks, option) in [
        (true, Ecn::NotEct, 3, 0),
        (true, Ecn::Ect0, 2, 8),
        (true, Ecn::Ce, 2, 8),
        (false, Ecn::NotEct, 4, 0),
        (false, Ecn::Ect0, 3, 8),
        (false, Ecn::Ce, 3, 8),
    ] {
        let params = TcpParams { timestamps, ecn_pp: EcnPp::Off, ..crate::fixed_window() };
        let headers = if timestamps { HEADERS } else { HEADERS_WITHOUT_TIMESTAMPS };
        let mut bench = Bench::new(&params, policy(AckPolicy::Immediate), Ecn::Ect0, false);
        let endpoint = Endpoint { feedback: FeedbackScheme::AccEcn, ..endpoint(Ecn::Ect0, false, headers) };
        bench.receiver = Receiver::new(endpoint, &params, policy(AckPolicy::Immediate));
        let mut syn = bench.packet(0, 0, TcpFlags::SYN.with_ace(0b111), Ecn::NotEct);
        syn.set_options(Options { sack_permitted: true, ..Options::default() });
        bench.put(&syn);
        for n in 0..5 {
            bench.segment_with(1 + 2 * n, ecn);
        }
        let last = bench.take().pop().expect("an ACK");
        let sack = 4 + 8 * last.blocks.len() as u64;
        assert_eq!(
            (last.blocks.len(), last.size - headers.get() - sack),
            (blocks, option),
            "timestamps {timestamps}, {ecn:?}"
        );
    }
}

/// An ACK in order has no options besides timestamps, whether SACK was agreed on or not.
#[test]
fn none_without_a_cause() {
    for sack in [true, false] {
        let params = TcpParams { sack, ..crate::fixed_window() };
        let mut bench = Bench::new(&params, policy(AckPolicy::Immediate), Ecn::NotEct, false);
        let data = bench.packet(1, MSS, TcpFlags::ACK, Ecn::NotEct);
        bench.receiver.on_segment(&data, bench.now);
        let ack = bench.receiver.poll_ack(bench.now).expect("an ACK");
        assert!(!ack.has_extras(), "SACK {sack}");
    }
}

/// RFC 2018 section 2: the receiver permits and sends SACK only if the SYN permitted it.
#[test]
fn sack_needs_the_sender() {
    for sack_permitted in [true, false] {
        let params = crate::fixed_window();
        let mut bench = Bench::plain(AckPolicy::Immediate);
        bench.receiver =
            Receiver::new(endpoint(Ecn::NotEct, false, HEADERS), &params, policy(AckPolicy::Immediate));
        let mut syn = bench.packet(0, 0, TcpFlags::SYN, Ecn::NotEct);
        syn.set_options(Options { sack_permitted, ..Options::default() });
        bench.receiver.on_segment(&syn, Time::from_nanos(1));
        let answer = bench.receiver.poll_ack(Time::from_nanos(1)).expect("a SYN|ACK");
        assert_eq!(answer.options().is_some_and(|options| options.sack_permitted), sack_permitted);
        bench.segment(1);
        assert_eq!(bench.take()[0].blocks.len(), usize::from(sack_permitted));
    }
}
