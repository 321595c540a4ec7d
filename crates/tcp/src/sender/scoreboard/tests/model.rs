//! Random events for the scoreboard and for a naive one: a plain list of segments, where every count walks the whole
//! list.

use proptest::collection::vec;
use proptest::prelude::*;

use super::super::*;
use super::transmission_order;

#[expect(clippy::struct_excessive_bools, reason = "each is a fact about the segment")]
#[derive(Clone, Debug)]
struct Naive {
    id: u64,
    seq: u64,
    end: u64,
    sent: Time,
    sacked: bool,
    lost: bool,
    retransmitted: bool,
    ever: bool,
}

impl Naive {
    fn in_network(&self) -> bool {
        !self.sacked && (!self.lost || self.retransmitted)
    }

    fn deliver(&mut self) {
        (self.sacked, self.lost, self.retransmitted) = (true, false, false);
    }
}

#[derive(Debug)]
struct Model {
    segments: Vec<Naive>,
    una: u64,
    nxt: u64,
    sent: u64,
}

impl Model {
    fn amount(&self, counts: impl Fn(&Naive) -> bool) -> Amount {
        let counted = self.segments.iter().filter(|segment| counts(segment));
        counted
            .map(|segment| Amount::one(Bytes::new(segment.end - segment.seq)))
            .fold(Amount::ZERO, |a, b| a + b)
    }

    fn lowest(&self, wanted: impl Fn(&Naive) -> bool) -> Option<SegmentId> {
        self.segments.iter().find(|segment| wanted(segment)).map(|segment| SegmentId(segment.id))
    }

    fn order(&self) -> Vec<u64> {
        let mut order: Vec<&Naive> = self.segments.iter().filter(|segment| segment.in_network()).collect();
        order.sort_by_key(|segment| segment.sent);
        order.iter().map(|segment| segment.id + 1).collect()
    }
}

/// The possible events. Positions are taken modulo the number of segments; bytes are counted from a little below the
/// head.
#[derive(Clone, Debug)]
enum Event {
    Send(u64),
    Retransmit(usize),
    RetransmitLost,
    AckByte(u64),
    AckSegments(usize),
    SackBytes(Vec<(u64, u64)>),
    SackSegments(Vec<(usize, usize)>),
    Lost(usize),
    OriginalLost(usize),
    AllLost,
    Unmark,
    ForgetSack,
    Passed(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => prop_oneof![4 => Just(100), 1 => 1..200u64].prop_map(Event::Send),
        2 => any::<usize>().prop_map(Event::Retransmit),
        5 => Just(Event::RetransmitLost),
        2 => any::<u64>().prop_map(Event::AckByte),
        2 => (0..8usize).prop_map(Event::AckSegments),
        2 => vec((any::<u64>(), any::<u64>()), 0..5).prop_map(Event::SackBytes),
        8 => vec((any::<usize>(), 0..6usize), 0..5).prop_map(Event::SackSegments),
        4 => any::<usize>().prop_map(Event::Lost),
        3 => any::<usize>().prop_map(Event::OriginalLost),
        1 => Just(Event::AllLost),
        1 => Just(Event::Unmark),
        1 => Just(Event::ForgetSack),
        4 => (0..20u64).prop_map(Event::Passed),
    ]
}

struct Walk {
    board: Scoreboard,
    model: Model,
    now: u64,
    passed: u64,
}

impl Walk {
    fn time(&self) -> Time {
        Time::from_nanos(self.now)
    }

    fn pick(&self, n: usize) -> Option<usize> {
        n.checked_rem(self.model.segments.len())
    }

    fn retransmit(&mut self, index: usize) {
        let now = self.time();
        let segment = &mut self.model.segments[index];
        self.board.on_retransmitted(SegmentId(segment.id), now, Snapshot::default());
        if !segment.sacked {
            (segment.retransmitted, segment.ever, segment.sent) = (true, true, now);
        }
    }

    fn ack(&mut self, una: u64) {
        let mut visited = Vec::new();
        let acked = self.board.on_ack(Seq::new(una), |id, segment| {
            visited.push((id.0, segment.seq.get(), segment.is_lost(), segment.ever_retransmitted()));
        });
        let (mut removed, mut delivered, mut expected) = (Amount::ZERO, Amount::ZERO, Vec::new());
        if una > self.model.una && una <= self.model.nxt {
            self.model.una = una;
            self.model.segments.retain(|segment| {
                if segment.end <= una {
                    let amount = Amount::one(Bytes::new(segment.end - segment.seq));
                    removed += amount;
                    if !segment.sacked {
                        delivered += amount;
                        expected.push((segment.id, segment.seq, segment.lost, segment.ever));
                    }
                }
                segment.end > una
            });
        }
        assert_eq!((acked.removed, acked.delivered), (removed, delivered));
        assert_eq!(visited, expected);
    }

    fn sack(&mut self, bounds: &[(u64, u64)]) {
        let blocks: Vec<SackBlock> = bounds
            .iter()
            .map(|&(start, end)| SackBlock { start: Seq::new(start), end: Seq::new(end) })
            .collect();
        let mut visited = Vec::new();
        let delivered = self.board.on_sack(&blocks, |id, segment| visited.push((id.0, segment.is_sacked())));
        let (una, nxt) = (self.model.una, self.model.nxt);
        let mut expected = Vec::new();
        let mut amount = Amount::ZERO;
        for segment in &mut self.model.segments {
            let covered = bounds
                .iter()
                .take(4)
                .any(|&(start, end)| start > una && end <= nxt && start <= segment.seq && segment.end <= end);
            if covered && !segment.sacked {
                segment.deliver();
                amount += Amount::one(Bytes::new(segment.end - segment.seq));
                expected.push((segment.id, false));
            }
        }
        assert_eq!((visited, delivered), (expected, amount));
    }

    fn apply(&mut self, event: &Event) {
        self.now += 1;
        match event {
            &Event::Send(len) => {
                let id =
                    self.board.on_sent(self.board.nxt(), Bytes::new(len), self.time(), Snapshot::default());
                assert_eq!(id.0, self.model.sent);
                let (seq, end) = (self.model.nxt, self.model.nxt + len);
                let sent = self.time();
                let (sacked, lost, retransmitted, ever) = (false, false, false, false);
                self.model.segments.push(Naive {
                    id: id.0,
                    seq,
                    end,
                    sent,
                    sacked,
                    lost,
                    retransmitted,
                    ever,
                });
                (self.model.nxt, self.model.sent) = (end, self.model.sent + 1);
            }
            &Event::Retransmit(n) => {
                if let Some(index) = self.pick(n) {
                    self.retransmit(index);
                }
            }
            Event::RetransmitLost => {
                let lost = |segment: &Naive| segment.lost && !segment.retransmitted;
                if let Some(index) = self.model.segments.iter().position(lost) {
                    self.retransmit(index);
                }
            }
            &Event::AckByte(n) => {
                let below = self.model.una.saturating_sub(50);
                self.ack(below + n % (self.model.nxt - below + 100));
            }
            &Event::AckSegments(n) => {
                let una = self.model.segments.get(n).map_or(self.model.nxt, |segment| segment.seq);
                self.ack(una);
            }
            Event::SackBytes(blocks) => {
                let below = self.model.una.saturating_sub(50);
                let byte = |n: u64| below + n % (self.model.nxt - below + 100);
                let bounds: Vec<(u64, u64)> = blocks.iter().map(|&(a, b)| (byte(a), byte(b))).collect();
                self.sack(&bounds);
            }
            Event::SackSegments(blocks) => {
                let bounds: Vec<(u64, u64)> = blocks
                    .iter()
                    .filter_map(|&(first, more)| {
                        let first = self.pick(first)?;
                        let last = (first + more).min(self.model.segments.len() - 1);
                        Some((self.model.segments[first].seq, self.model.segments[last].end))
                    })
                    .collect();
                self.sack(&bounds);
            }
            &Event::Lost(n) => {
                if let Some(index) = self.pick(n) {
                    let segment = &mut self.model.segments[index];
                    let news = segment.in_network();
                    assert_eq!(self.board.mark_lost(SegmentId(segment.id)), news);
                    if news {
                        (segment.lost, segment.retransmitted) = (true, false);
                    }
                }
            }
            &Event::OriginalLost(n) => {
                if let Some(index) = self.pick(n) {
                    let segment = &mut self.model.segments[index];
                    let news = !segment.sacked && !segment.lost;
                    assert_eq!(self.board.mark_original_lost(SegmentId(segment.id)), news);
                    segment.lost |= news;
                }
            }
            Event::AllLost => {
                assert_eq!(self.board.mark_all_lost(), self.model.amount(Naive::in_network));
                for segment in self.model.segments.iter_mut().filter(|segment| !segment.sacked) {
                    (segment.lost, segment.retransmitted) = (true, false);
                }
            }
            Event::Unmark => {
                self.board.unmark_lost();
                self.model.segments.iter_mut().for_each(|segment| segment.lost = false);
            }
            Event::ForgetSack => {
                self.board.forget_sack();
                self.model.segments.iter_mut().for_each(|segment| segment.sacked = false);
            }
            &Event::Passed(more) => {
                self.passed = (self.passed + more).min(self.now);
                let before = |sent: Time| sent < Time::from_nanos(self.passed);
                let last =
                    self.board.last_sent_while(|segment| before(segment.sent())).map(QueuedSegment::seq);
                let in_network = self.model.segments.iter().filter(|segment| segment.in_network());
                let expected =
                    in_network.filter(|segment| before(segment.sent)).max_by_key(|segment| segment.sent);
                assert_eq!(last.map(Seq::get), expected.map(|segment| segment.seq));
            }
        }
    }

    fn check(&self) {
        let (board, model) = (&self.board, &self.model);
        let all = model.amount(|_| true);
        let sacked = model.amount(|segment| segment.sacked);
        let lost = model.amount(|segment| segment.lost);
        let retransmitted = model.amount(|segment| segment.retransmitted);
        let counted = [board.outstanding(), board.sacked(), board.lost(), board.retransmitted()];
        assert_eq!(counted, [all, sacked, lost, retransmitted]);
        assert_eq!(board.in_flight(), all + retransmitted - sacked - lost);
        assert_eq!((board.una().get(), board.nxt().get()), (model.una, model.nxt));
        assert_eq!(board.is_empty(), model.segments.is_empty());
        assert_eq!(board.head(), model.lowest(|_| true));
        assert_eq!(board.last(), model.segments.last().map(|segment| SegmentId(segment.id)));
        assert_eq!(board.head_is_sacked(), model.segments.first().is_some_and(|segment| segment.sacked));
        let to_send = model.lowest(|segment| segment.lost && !segment.retransmitted);
        assert_eq!((board.next_lost(), board.all_lost_retransmitted()), (to_send, to_send.is_none()));
        assert_eq!(
            board.highest_sacked().map(Seq::get),
            model.segments.iter().rfind(|segment| segment.sacked).map(|segment| segment.end)
        );
        assert_eq!(
            board.last_unsacked().map(|last| last.0),
            model.segments.iter().rfind(|segment| !segment.sacked).map(|segment| segment.id)
        );
        assert_eq!(transmission_order(board), model.order());
        for segment in &model.segments {
            let id = SegmentId(segment.id);
            let kept = board.get(id).expect("an outstanding segment");
            assert_eq!(
                (kept.seq().get(), kept.end().get(), kept.sent()),
                (segment.seq, segment.end, segment.sent)
            );
            assert_eq!(kept.is_in_network(), segment.in_network());
            assert_eq!(board.queue.find(kept.seq()), Some(id.0));
            assert_eq!(
                board.next_unsacked(id),
                model.lowest(|other| other.id >= segment.id && !other.sacked)
            );
        }
        let ranges: Amount =
            board.sacked_from_top().fold(Amount::ZERO, |sum, (_, bytes)| sum + Amount { segments: 0, bytes });
        assert_eq!(ranges.bytes, sacked.bytes, "the ranges are what is SACKed");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    /// Whatever is sent, lost, sent again, acknowledged and SACKed, honestly or not: every count, every answer and
    /// every visit equals the naive scoreboard's.
    #[test]
    fn as_the_naive_scoreboard(events in vec(event(), 1..150)) {
        let model = Model { segments: Vec::new(), una: 1, nxt: 1, sent: 0 };
        let mut walk = Walk { board: Scoreboard::new(false), model, now: 0, passed: 0 };
        for event in &events {
            walk.apply(event);
            walk.check();
        }
    }

    /// Without SACK the counts stay within what is outstanding, and nothing remains when all is acknowledged.
    #[test]
    fn duplicate_acks_are_bounded(events in vec((0..6u8, 1..5u64), 1..200)) {
        let mut board = Scoreboard::new(false);
        for (now, (event, n)) in (0..).map(Time::from_nanos).zip(events) {
            match event {
                0 | 1 => {
                    board.on_sent(board.nxt(), Bytes::new(100 * n), now, Snapshot::default());
                }
                2 => {
                    let before = board.sacked();
                    let counted = board.on_duplicate_ack();
                    prop_assert_eq!(before + counted.delivered, board.sacked());
                    prop_assert!(!counted.unexplained || counted.delivered.is_zero());
                }
                3 => {
                    let above = SegmentId(board.head().map_or(0, |head| head.0) + n);
                    let una = board.get(above).map_or(board.nxt(), QueuedSegment::seq);
                    let acked = board.on_ack(una, |_, _| ());
                    prop_assert!(acked.delivered.segments <= acked.removed.segments);
                    prop_assert_eq!(acked.removed.is_zero(), acked.delivered.is_zero(), "one of them was a hole");
                }
                4 => {
                    board.mark_head_lost();
                }
                _ => if let Some(lost) = board.next_lost() {
                    board.on_retransmitted(lost, now, Snapshot::default());
                },
            }
            let (sacked, lost, outstanding) = (board.sacked(), board.lost(), board.outstanding());
            prop_assert!(sacked.segments + lost.segments <= outstanding.segments);
            prop_assert!(sacked.bytes + lost.bytes <= outstanding.bytes);
            prop_assert_eq!(board.in_flight(), outstanding + board.retransmitted() - sacked - lost);
        }
        board.on_ack(board.nxt(), |_, _| ());
        prop_assert_eq!([board.sacked(), board.lost(), board.retransmitted(), board.in_flight()], [Amount::ZERO; 4]);
    }
}
