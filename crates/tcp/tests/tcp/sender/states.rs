//! What a controller hears of the sender's states, and the reductions that it asks for itself.

use std::sync::{Arc, Mutex};

use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, Control, Needs, PathView, Phase, Trigger,
};
use windtunnel_tcp::CaState;
use windtunnel_units::Bytes;

use super::harness::{Lab, MSS, Script, Setup, at, lost};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    Congestion(Trigger),
    Rto,
    Recovered,
    State(CaState),
}

/// Holds a window, halves it when congestion is reported, and asks for a reduction at one of the ACKs.
#[derive(Debug)]
struct Witness {
    cwnd: Bytes,
    acks_until_wish: Option<u32>,
    log: Arc<Mutex<Vec<Heard>>>,
}

impl Witness {
    fn hear(&self, heard: Heard) {
        self.log.lock().expect("one thread").push(heard);
    }
}

impl CongestionControl for Witness {
    fn needs(&self) -> Needs {
        Needs { states: true, own_reductions: true, ..Needs::default() }
    }

    fn on_ack(&mut self, _ack: &AckSample, _path: &PathView) {
        self.acks_until_wish = self.acks_until_wish.map(|left| left.saturating_sub(1));
    }

    fn on_congestion(&mut self, event: &CongestionEvent, _path: &PathView) -> bool {
        self.hear(Heard::Congestion(event.trigger));
        self.cwnd = self.cwnd / 2;
        true
    }

    fn on_rto(&mut self, _new_episode: bool, _path: &PathView) {
        self.hear(Heard::Rto);
    }

    fn on_recovered(&mut self, _path: &PathView) {
        self.hear(Heard::Recovered);
    }

    fn on_state(&mut self, state: CaState, _path: &PathView) {
        self.hear(Heard::State(state));
    }

    fn asks_reduction(&mut self) -> bool {
        self.acks_until_wish.take_if(|left| *left == 0).is_some()
    }

    fn control(&self) -> Control {
        Control { phase: Phase::CongestionAvoidance, ssthresh: self.cwnd, ..Control::window(self.cwnd) }
    }
}

/// Transfers 200 segments with a window of 40.
fn transfer(script: Script, acks_until_wish: Option<u32>) -> (Lab, Vec<Heard>) {
    let log = Arc::default();
    let witness = Witness { cwnd: MSS * 40, acks_until_wish, log: Arc::clone(&log) };
    let mut lab = Lab::with(Box::new(witness), Setup::default(), script);
    lab.write(200);
    lab.run_to_the_end();
    let heard = log.lock().expect("one thread").clone();
    (lab, heard)
}

/// spec/congestion-control section 1.1: a reduction is reported before the state that it belongs to, and the end of an
/// episode before the state that follows (Linux `tcp_init_cwnd_reduction`, `tcp_end_cwnd_reduction`).
#[test]
fn states_follow_their_events() {
    let (_, heard) = transfer(lost([60]), None);
    let expected = [
        Heard::State(CaState::Disorder),
        Heard::Congestion(Trigger::Loss),
        Heard::State(CaState::Recovery),
        Heard::Recovered,
        Heard::State(CaState::Open),
    ];
    assert_eq!(heard, expected);
}

/// spec/congestion-control section 1.12: a timeout is answered before the state becomes Loss.
#[test]
fn a_timeout_enters_loss() {
    let (_, heard) = transfer(lost(190..250), None);
    let rto = heard.iter().position(|heard| *heard == Heard::Rto).expect("a timeout");
    assert_eq!(heard[rto + 1], Heard::State(CaState::Loss));
    assert_eq!(heard.last(), Some(&Heard::State(CaState::Open)));
}

/// A reduction that the controller asks for runs as one for CE does, once, but is none of ECN's (Linux `tcp_enter_cwr`).
#[test]
fn a_controller_starts_a_reduction() {
    let (lab, heard) = transfer(Script::default(), Some(30));
    let expected = [
        Heard::Congestion(Trigger::Controller),
        Heard::State(CaState::Cwr),
        Heard::Recovered,
        Heard::State(CaState::Open),
    ];
    assert_eq!(heard, expected);
    assert_eq!(lab.sender.cwnd(), MSS * 20);
    assert_eq!(lab.sender.stats().ecn_reductions, 0);
}

/// While a loss is repaired, a wish is not granted: the window was reduced already.
#[test]
fn a_running_reduction_is_the_only_one() {
    let (_, heard) = transfer(lost([60]), Some(75));
    assert_eq!(heard.iter().filter(|heard| matches!(heard, Heard::Congestion(_))).count(), 1, "{heard:?}");
}

/// A loss that a tail loss probe repaired is an episode of one ACK: CWR starts and ends with it (RFC 8985 section 7.4.2; Linux
/// `tcp_process_tlp_ack`).
#[test]
fn a_repair_by_the_probe_is_an_episode() {
    let log = Arc::default();
    let witness = Witness { cwnd: MSS * 40, acks_until_wish: None, log: Arc::clone(&log) };
    let mut lab = Lab::with(Box::new(witness), Setup::default(), lost([9]));
    lab.write(10);
    lab.run_until(at(400));
    lab.write(1);
    lab.run_to_the_end();
    assert_eq!(lab.sender.stats().tlps, 1);
    let expected = [
        Heard::Congestion(Trigger::Loss),
        Heard::State(CaState::Cwr),
        Heard::Recovered,
        Heard::State(CaState::Open),
    ];
    assert_eq!(*log.lock().expect("one thread"), expected);
    assert_eq!(lab.sender.cwnd(), MSS * 20);
}
