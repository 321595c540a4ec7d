//! Invariants of any run at any moment.
//!
//! Packets are conserved, time does not run backwards, and the run makes progress: events in which no packet moves
//! belong to the recorder and to timers, whose number in a given time is limited. A stream is delivered in order and
//! once: the receiver delivers the data below RCV.NXT, SND.UNA <= RCV.NXT <= SND.NXT, and none of these goes back
//! (except SND.NXT of bsd42, which retransmits its window from SND.UNA on). A sender that still has data to deliver has
//! a packet in flight or a timer set.

use crate::outcome::claims;
use windtunnel_scenario::{FlowGroup, Scenario, Transport, compile};
use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::{Simulation, StreamState, Summary};
use windtunnel_tcp::HEADERS;
use windtunnel_units::{Bytes, Duration, Seq, Time};

use crate::outcome;

/// Events between two looks at the run.
const LOOK: u64 = 200;

/// The most links, delay lines and elements in one direction.
const MOST_HOPS: u64 = 32;

/// More than any path can hold.
const LARGEST_WINDOW: Bytes = Bytes::new(1 << 50);

/// Runs a scenario, up to a number of events. Returns its summary, unless there were more.
///
/// # Panics
/// If an invariant is violated; the message says which.
pub(crate) fn check(scenario: &Scenario, most_events: u64) -> Option<Summary> {
    let mut observer = Observer::new(scenario);
    while observer.simulation.next_event() < observer.simulation.end() {
        if observer.simulation.events() >= most_events {
            return None;
        }
        observer.go_on();
    }
    let end = observer.simulation.end();
    observer.simulation.run_until(end);
    let streams: Vec<StreamState> = observer.simulation.streams().collect();
    let result = observer.simulation.finish();
    outcome::check(scenario, &result, &streams);
    Some(result.summary)
}

/// A run, and what was observed of it.
#[derive(Debug)]
struct Observer<'s> {
    scenario: &'s Scenario,
    simulation: Simulation,
    streams: Vec<StreamState>,
    /// The flows that retransmit a whole window (go-back-N), so that their SND.NXT goes back.
    go_back: Vec<bool>,
    /// Flows whose receiver acknowledges what has not arrived.
    optimists: Vec<bool>,
    /// When a packet last moved, and how many events there had been by then.
    moved: (u64, Time, u64),
}

impl<'s> Observer<'s> {
    fn new(scenario: &'s Scenario) -> Observer<'s> {
        let simulation = Simulation::new(compile(scenario));
        let go_back =
            scenario.flows().map(|(group, _)| matches!(group.transport, Transport::Bsd42(_))).collect();
        let optimists = scenario.flows().map(|(group, _)| claims(&group.transport)).collect();
        Observer { scenario, simulation, streams: Vec::new(), go_back, optimists, moved: (0, Time::ZERO, 0) }
    }

    /// Runs some events, then checks.
    fn go_on(&mut self) {
        let simulation = &mut self.simulation;
        let (before, last) = (simulation.now(), simulation.events() + LOOK);
        while simulation.events() < last && simulation.next_event() < simulation.end() {
            simulation.run_until(simulation.next_event() + Duration::from_nanos(1));
        }
        assert!(simulation.now() >= before, "time ran back from {before} to {}", simulation.now());
        self.conservation();
        self.progress();
        self.streams();
    }

    fn conservation(&self) {
        let s = &self.simulation;
        let (sent, duplicated) = (s.sent(), s.duplicated());
        let (arrived, corrupted, lost, within) = (s.arrived(), s.corrupted(), s.lost(), s.in_network());
        assert_eq!(
            sent + duplicated,
            arrived + corrupted + lost + within,
            "at {}: {sent} sent, {duplicated} doubled, but {arrived} arrived, {corrupted} damaged, {lost} lost, {within} on their way",
            s.now(),
        );
    }

    /// While no packet enters or leaves the network, the only events are the recorder's ticks, writes of applications,
    /// at most two timers per microsecond for each flow, and the hops of packets on their way.
    fn progress(&mut self) {
        let s = &self.simulation;
        let packets = s.sent() + s.arrived() + s.corrupted() + s.lost();
        if packets > self.moved.0 {
            self.moved = (packets, s.now(), s.events());
            return;
        }
        let span = s.now() - self.moved.1;
        let ticks = span.as_nanos() / self.scenario.record.interval.as_nanos();
        let flows = self.scenario.flows();
        let timers: u64 =
            flows.map(|(group, _)| 2 * (span.as_nanos() / 1000 + 1) + writes(group, span)).sum();
        let hops = MOST_HOPS * s.in_network();
        let events = s.events() - self.moved.2;
        assert!(
            events <= 20_000 + ticks + timers + hops,
            "{events} events in {span} up to {} moved no packet",
            s.now()
        );
    }

    fn streams(&mut self) {
        let now = self.simulation.now();
        let streams: Vec<StreamState> = self.simulation.streams().collect();
        for stream in &streams {
            if let Some(fault) = self.fault(stream) {
                panic!("at {now}: {fault}: {stream:?}");
            }
        }
        // Connections that arrive during the run take over the places of finished ones.
        let fixed =
            !self.scenario.flows.iter().any(|f| matches!(f.application, ApplicationConfig::Poisson(_)));
        // In the order of flows; a stream appears when its flow starts.
        let of =
            |flow: usize| streams.binary_search_by_key(&flow, |stream| stream.flow).map(|at| &streams[at]);
        let pairs = self.streams.iter().filter(|_| fixed).map(|before| (before, of(before.flow)));
        for (before, after) in pairs {
            let after = after.unwrap_or_else(|_| panic!("at {now}: a stream disappeared: {before:?}"));
            let nxt_back = after.nxt < before.nxt && !self.go_back[after.flow];
            let back = after.una < before.una || after.rcv_nxt < before.rcv_nxt || nxt_back;
            assert!(!back, "at {now}: a stream went back from {before:?} to {after:?}");
        }
        self.streams = streams;
    }

    fn fault(&self, stream: &StreamState) -> Option<&'static str> {
        let fin = u64::from(stream.ended);
        let below = Bytes::new(stream.rcv_nxt.get().saturating_sub(Seq::FIRST_DATA.get() + fin));
        let begun = |seq: Seq| seq.max(Seq::FIRST_DATA);
        // If a segment is wrongly considered lost, its original and its retransmission are both in the network. The
        // first segment counts as a whole even if a part of it is acknowledged.
        let room = (stream.nxt - stream.una + self.scenario.mtu) * 2;
        let waits = !stream.drained && stream.timer == Time::NEVER && self.simulation.in_network() == 0;
        let left_behind = stream.in_host > Bytes::ZERO && self.simulation.in_network() == 0;
        let faults = [
            (left_behind, "the sender counts packets in its host, but there are none"),
            (
                stream.delivered != below && !self.optimists[stream.flow],
                "the delivered data are not those below RCV.NXT",
            ),
            (begun(stream.una) > begun(stream.rcv_nxt), "more is acknowledged than was received"),
            (
                begun(stream.rcv_nxt) > begun(stream.nxt)
                    && !self.go_back[stream.flow]
                    && !self.optimists[stream.flow],
                "more is received than was sent",
            ),
            (stream.in_flight > room, "more is in flight than outstanding"),
            (stream.cwnd < self.scenario.mtu - HEADERS, "a window below one segment"),
            (stream.cwnd > LARGEST_WINDOW, "a window out of all bounds"),
            (waits, "waits for nothing"),
        ];
        faults.into_iter().find_map(|(holds, fault)| holds.then_some(fault))
    }
}

/// Writes of an application that writes a segment whenever one is due; the least segment has 8 bytes.
fn writes(group: &FlowGroup, span: Duration) -> u64 {
    match &group.application {
        ApplicationConfig::OnOff(on_off) => on_off.rate.map_or(0, |rate| (rate * span).get() / 8),
        _ => 0,
    }
}
