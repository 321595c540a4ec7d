//! Shadows of a sender whose window is controllers: one that grows by a segment in each round trip and halves at a loss.

use windtunnel_cc::{Style, catalogue};
use windtunnel_trace::shadow::{Adopts, Cause, Followed, Heard, HeardAcks, HeardSends, Story};

const MSS: u64 = 1_000;
const RTT_NS: u64 = 50_000_000;
/// Windows in segments: a loss is found in the round trip with 24, and another with 19.
const WINDOWS: &[u64] =
    &[10, 20, 21, 22, 23, 24, 12, 13, 14, 15, 16, 17, 18, 19, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18];
const LOSSES: [usize; 2] = [5, 13];

/// The columns of such a sender's packets: each segment is acknowledged a round trip after it left.
#[derive(Default)]
struct Columns {
    sent_ns: Vec<u64>,
    seq: Vec<u64>,
    payload: Vec<u32>,
    kind: Vec<u8>,
    in_flight: Vec<u64>,
    sent_round: Vec<u32>,
    acked_ns: Vec<u64>,
    ack: Vec<u64>,
    acked: Vec<u64>,
    acked_round: Vec<u32>,
}

impl Columns {
    fn of_sender(windows: &[u64], losses: &[usize]) -> Columns {
        let mut columns = Columns::default();
        let mut nxt = 0;
        for (round, window) in windows.iter().enumerate() {
            let start = round as u64 * RTT_NS;
            // The last round trip's segments are acknowledged, each lets one leave, and the window's growth one more.
            let before = if round > 0 { windows[round - 1] } else { 0 };
            for n in 0..before {
                columns.acked_ns.push(start + n * 100_000);
                columns.ack.push(nxt - (before - 1 - n) * MSS);
                columns.acked.push(MSS);
                columns.acked_round.push(round as u32);
            }
            for n in 0..*window {
                columns.sent_ns.push(start + n * 100_000 + 50_000);
                // A retransmission of a segment from this round trip's start: found lost when the next one begins.
                let lost = n == 0 && round > 0 && losses.contains(&(round - 1));
                columns.kind.push(u8::from(lost));
                columns.seq.push(if lost { nxt - MSS } else { nxt });
                nxt += if lost { 0 } else { MSS };
                columns.payload.push(MSS as u32);
                columns.in_flight.push((n + 1).min(*window) * MSS);
                columns.sent_round.push(round as u32);
            }
        }
        columns
    }

    fn story(&self) -> Story {
        let (sends, acks) = (self.sent_ns.len(), self.acked_ns.len());
        Story::new(&Heard {
            mss: MSS,
            handshake_ns: Some(RTT_NS),
            answers_at_once: false,
            sends: HeardSends {
                t_ns: &self.sent_ns,
                seq: &self.seq,
                payload: &self.payload,
                kind: &self.kind,
                in_flight: &self.in_flight,
                round: &self.sent_round,
                back_ns: &vec![0; sends],
            },
            acks: HeardAcks {
                t_ns: &self.acked_ns,
                ack: &self.ack,
                acked: &self.acked,
                delivered: &self.acked,
                rtt_ns: &vec![RTT_NS; acks],
                in_flight: &vec![0; acks],
                round: &self.acked_round,
                kind: &vec![0; acks],
                marked: &vec![false; acks],
            },
            unused: &[],
        })
    }
}

fn follow(story: &Story, name: &str) -> Followed {
    adopting(story, name, Adopts::EachLoss)
}

fn adopting(story: &Story, name: &str, adopts: Adopts) -> Followed {
    let controllers = catalogue(Style::Linux);
    let params = controllers.iter().find(|params| params.name() == name).expect("a controller");
    story.follow(&**params, adopts)
}

/// Stretches hold no round trip with an answer to a loss; the flight is what was sent.
#[test]
fn a_story_has_stretches_and_episodes() {
    let story = Columns::of_sender(WINDOWS, &LOSSES).story();
    assert_eq!(story.flight, WINDOWS.iter().map(|window| window * MSS).collect::<Vec<_>>());
    let causes: Vec<_> = story.episodes.iter().map(|episode| (episode.before / MSS, episode.cause)).collect();
    assert_eq!(causes, [(24, Cause::Loss), (19, Cause::Loss)]);
    for (first, last) in &story.stretches {
        assert!(last > first && last - first < 17, "{first} to {last}");
        assert!(LOSSES.iter().all(|loss| last <= loss || first > loss), "{first} to {last}");
    }
}

/// RFC 5681: half of the window is left, and a segment per round trip is added, also in the one after the answer, which is
/// compared. Scalable TCP leaves seven eighths.
#[test]
fn reno_follows_reno_and_scalable_does_not() {
    let story = Columns::of_sender(WINDOWS, &LOSSES).story();
    let [reno, scalable] = ["reno", "scalable"].map(|name| follow(&story, name));
    for (episode, after) in story.episodes.iter().zip(&reno.after) {
        let left = episode.before as f64 / 2.0 + MSS as f64;
        assert!((after - left).abs() <= MSS as f64, "{after} of {}", episode.before);
        assert!((after - episode.after as f64).abs() <= MSS as f64, "{after} and {}", episode.after);
    }
    for (episode, after) in story.episodes.iter().zip(&scalable.after) {
        assert!((after - episode.before as f64 * 0.875).abs() <= MSS as f64, "{after} of {}", episode.before);
    }
    let later = || story.stretches.iter().filter(|(first, _)| *first > LOSSES[0]);
    assert!(later().count() >= 2, "{:?}", story.stretches);
    for (first, last) in later() {
        let grown = reno.window[*last] - reno.window[*first];
        let segments = (last - first) as f64 * MSS as f64;
        assert!((grown - segments).abs() <= MSS as f64, "{grown} in {first} to {last}");
    }
}

/// A sender keeps its window, and loses in every other round trip. IIAD takes two thirds of a segment for each loss
/// (Bansal, Balakrishnan 2001): next to the flight that is nothing, over all losses it is more than a segment each two.
#[test]
fn small_answers_add_up_where_the_window_stays_the_shadows_own() {
    let (windows, losses) = ([30; 42], (1..40).step_by(2).collect::<Vec<_>>());
    let story = Columns::of_sender(&windows, &losses).story();
    let left = |adopts| {
        let window = adopting(&story, "iiad", adopts).window;
        window.iter().rev().find(|window| window.is_finite()).copied().unwrap_or(f64::NAN) / MSS as f64
    };
    assert!((left(Adopts::EachLoss) - 30.0).abs() <= 1.0, "{}", left(Adopts::EachLoss));
    let all = 30.0 - losses.len() as f64 * 2.0 / 3.0;
    // Between two losses it grows by less than a segment in thirty round trips.
    assert!((left(Adopts::FirstLoss) - all).abs() <= 2.0, "{} not {all}", left(Adopts::FirstLoss));
}

/// Equal input, equal answer; nothing to hear is no stretch.
#[test]
fn shadows_are_deterministic() {
    let story = Columns::of_sender(WINDOWS, &LOSSES).story();
    let [one, two] = [(), ()].map(|()| follow(&story, "cubic"));
    assert_eq!(one.after, two.after);
    let bits =
        |followed: &Followed| followed.window.iter().map(|window| window.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&one), bits(&two));
    let nothing = Columns::default().story();
    assert!(nothing.stretches.is_empty() && nothing.episodes.is_empty() && nothing.flight.is_empty());
}
