//! One run on several threads: parts of it run next to each other, window by window, and give the same result.
//!
//! Each part is a [`Simulation`] with the numbers of all links, flows and lines, and has some of them (`division.rs`, `split.rs`).
//! Parts meet at the end of each window and exchange packets; a window is no longer than the shortest delay between two
//! parts. Windows also end where the recorder's clock ticks, as its rows need all parts. What one loop would have decided
//! by order (rows, sums of all flows) is put together from what each part has noted ([`crate::recorder`]).
//! docs/decisions/0053-parts.md.

mod absent;
mod crew;
mod division;
mod part;
mod split;
mod ways;

use std::sync::MutexGuard;

use windtunnel_units::{Bytes, Duration, Time};

use self::crew::{Crew, Job};
use self::division::Division;
use self::part::ELSEWHERE;
use super::{MemoryExceeded, Simulation};
use crate::link::Link;
use crate::network::{Network, Transport, UnfitFlow};
use crate::recorder::{Log, Recorder, Shared, Sink};
use crate::result::{RunResult, Stalled};

pub(super) use part::Part;

/// A window is to have about this many events, so that a caller that wants to stop the run does not wait long.
const ENOUGH: u64 = 60_000;

/// A window with fewer events is run by one thread: others would take longer to begin.
const FEW: u64 = 300;

/// The rows of an interval are made by one thread if they are fewer.
const FEW_ROWS: usize = 100;

/// This number of entries in the log of a part is merged before the recorder's clock ticks.
const MANY: usize = 1 << 16;

/// A run, on one thread or on several.
#[derive(Debug)]
pub enum Run {
    /// On one.
    Alone(Box<Simulation>),
    /// On several.
    Shared(Box<Parts>),
}

/// The work of parts in the windows of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// The number of parts.
    pub parts: usize,
    /// Windows.
    pub windows: u64,
    /// Events in all windows.
    pub events: u64,
    /// Those of the part that had most in its window, in all windows.
    pub most: u64,
    /// No part gets ahead of another by more; none if no packet goes from one to another.
    pub ahead: Option<Duration>,
}

/// A run in parts.
#[derive(Debug)]
pub struct Parts {
    /// The whole: its recorder, its plan, and names.
    whole: Simulation,
    crew: Crew,
    division: Division,
    /// How long a window may be.
    span: Duration,
    /// When the next event of any part is due.
    next: Time,
    /// The last time of the plan, if it matters whether anything moves after it.
    last_planned: Time,
    /// Some flow is loss-free.
    may_stall: bool,
    /// What has reached all receivers until the last point of their sum.
    reached: Bytes,
    /// Events of the latest window.
    latest: u64,
    /// Rows of the latest interval.
    rows: usize,
    /// Events of the plan and of the recorder's clock.
    planned: u64,
    balance: Balance,
}

impl Run {
    /// Prepares a network to run on at most `threads` threads. Returns also why it does not, if it does not run on several.
    ///
    /// # Errors
    /// As [`Simulation::try_new`].
    pub fn new(network: Network, threads: usize) -> Result<(Run, Option<String>), UnfitFlow> {
        Run::make(network, threads, threads, false)
    }

    /// The same with at most `parts` parts, which take turns on the threads, wherever a delay allows it: for tests, and to
    /// count what each part has to do.
    ///
    /// # Errors
    /// As [`Simulation::try_new`].
    pub fn in_parts(
        network: Network,
        parts: usize,
        threads: usize,
    ) -> Result<(Run, Option<String>), UnfitFlow> {
        Run::make(network, parts, threads, true)
    }

    fn make(
        network: Network,
        parts: usize,
        threads: usize,
        anyway: bool,
    ) -> Result<(Run, Option<String>), UnfitFlow> {
        let foreign = network.flows.iter().find(|flow| matches!(flow.transport, Transport::Foreign(_)));
        let foreign = foreign.map(|flow| format!("{} uses a stack from elsewhere", flow.name));
        let mut simulation = Simulation::try_new(network)?;
        let division = if parts < 2 {
            return Ok((Run::Alone(Box::new(simulation)), None));
        } else if let Some(why) = foreign {
            Err(why)
        } else if let Some(why) = simulation.recorder.is_indivisible() {
            Err(why.to_owned())
        } else if simulation.schedule.is_watching() {
            Err("a change waits for the state of a flow (`when`)".to_owned())
        } else {
            Division::of(&simulation, parts.min(MOST), anyway)
        };
        Ok(match division {
            Err(why) => (Run::Alone(Box::new(simulation)), Some(why)),
            Ok(division) => {
                let parts = division.split(&mut simulation);
                (Run::Shared(Box::new(Parts::new(simulation, parts, division, threads))), None)
            }
        })
    }

    /// On how many parts it runs.
    pub fn balance(&self) -> Balance {
        match self {
            Run::Alone(_) => Balance { parts: 1, ..Balance::default() },
            Run::Shared(parts) => parts.balance,
        }
    }

    /// As [`Simulation::run_slice`]. The number of events is a hint: windows are handled as a whole.
    pub fn run_slice(&mut self, until: Time, events: u64) -> bool {
        match self {
            Run::Alone(simulation) => simulation.run_slice(until, events),
            Run::Shared(parts) => parts.run_slice(until, events),
        }
    }

    /// As [`Simulation::end`].
    pub fn end(&self) -> Time {
        self.whole().end()
    }

    /// As [`Simulation::now`].
    pub fn now(&self) -> Time {
        self.whole().now()
    }

    /// As [`Simulation::limit_memory`].
    pub fn limit_memory(&mut self, limit: Bytes) {
        self.whole_mut().limit_memory(limit);
    }

    /// As [`Simulation::stream_to`].
    pub fn stream_to(&mut self, sink: Box<dyn Sink>, enough: Bytes) {
        self.whole_mut().stream_to(sink, enough);
    }

    /// As [`Simulation::memory`].
    pub fn memory(&self) -> Bytes {
        let of_parts = match self {
            Run::Alone(_) => Bytes::ZERO,
            Run::Shared(parts) => parts.crew.parts().map(|part| part.memory()).sum(),
        };
        self.whole().memory() + of_parts
    }

    /// As [`Simulation::check_memory`].
    pub fn check_memory(&mut self) -> Result<(), MemoryExceeded> {
        match self {
            Run::Alone(simulation) => simulation.check_memory(),
            Run::Shared(parts) => parts.check_memory(),
        }
    }

    /// As [`Simulation::finish_within`].
    pub fn finish_within(self) -> Result<RunResult, MemoryExceeded> {
        match self {
            Run::Alone(simulation) => simulation.finish_within(),
            Run::Shared(parts) => parts.finish(),
        }
    }

    fn whole(&self) -> &Simulation {
        match self {
            Run::Alone(simulation) => simulation,
            Run::Shared(parts) => &parts.whole,
        }
    }

    fn whole_mut(&mut self) -> &mut Simulation {
        match self {
            Run::Alone(simulation) => simulation,
            Run::Shared(parts) => &mut parts.whole,
        }
    }
}

/// The most parts of a run.
const MOST: usize = 1024;

/// The parts while they stand still.
type Still<'a> = Vec<MutexGuard<'a, Simulation>>;

impl Parts {
    fn new(whole: Simulation, parts: Vec<Simulation>, division: Division, threads: usize) -> Parts {
        let loss_free = |part: &Simulation| part.flows.iter().filter(|flow| flow.ends.is_loss_free()).count();
        let loss_free: usize = parts.iter().map(loss_free).sum();
        let last_planned = whole.schedule.planned().last().map_or(Time::NEVER, |(at, _)| *at);
        let next = parts.iter().map(Simulation::next_event).min().unwrap_or(Time::NEVER);
        Parts {
            span: Duration::from_millis(1),
            next,
            last_planned: if loss_free > 0 { last_planned } else { Time::NEVER },
            may_stall: loss_free > 0,
            reached: Bytes::ZERO,
            latest: 0,
            rows: 0,
            planned: 0,
            balance: Balance { parts: parts.len(), ahead: division.ahead, ..Balance::default() },
            crew: Crew::new(parts, threads),
            whole,
            division,
        }
    }

    fn run_slice(&mut self, until: Time, events: u64) -> bool {
        let until = until.min(self.whole.end);
        let mut left = events;
        while self.whole.stalled.is_none() {
            let stop = self.whole.recorder.next_tick().min(self.last_planned);
            if self.next.min(stop) >= until {
                self.whole.now = self.whole.now.max(until);
                return true;
            }
            if left == 0 {
                return false;
            }
            if stop <= self.next {
                self.stop(stop);
                continue;
            }
            let ahead = self.division.ahead.map_or(self.span, |ahead| ahead.min(self.span));
            self.run_window(until.min(stop).min(self.next + ahead));
            left = left.saturating_sub(self.latest.max(1));
        }
        true
    }

    /// Runs all parts up to `end`, and exchanges packets.
    fn run_window(&mut self, end: Time) {
        let before: Vec<u64> = self.crew.parts().map(|part| part.handled).collect();
        self.crew.run(Job::Until(end), self.latest < FEW);
        let mut parts: Still<'_> = self.crew.parts().collect();
        let events = || parts.iter().zip(&before).map(|(part, before)| part.handled - before);
        let (sum, most) = (events().sum(), events().max().unwrap_or(0));
        self.latest = sum;
        self.balance.windows += 1;
        self.balance.events += sum;
        self.balance.most += most;
        self.span = if sum > ENOUGH {
            self.span / 2
        } else if sum < ENOUGH / 4 {
            self.span * 2
        } else {
            self.span
        };
        self.span = self.span.clamp(Duration::from_micros(1), Duration::from_secs(1));
        exchange(&mut parts, &self.division);
        self.next = next_event(&parts);
        if parts.iter().any(|part| part.part.as_ref().is_some_and(|part| part.log.len() >= MANY)) {
            self.whole.recorder.merge_rows(&mut parts, &mut self.reached);
        }
        drop(parts);
        self.whole.now = end;
        // One event for all that is planned at one time.
        while self.whole.schedule.next() < end {
            self.count_planned();
        }
    }

    /// The plan's next time has come, or that of the recorder's clock.
    fn count_planned(&mut self) {
        let now = self.whole.schedule.next();
        while self.whole.schedule.due(now).is_some() {}
        self.planned += 1;
    }

    /// All events before `now` have been handled. The recorder's clock ticks at this time, or the plan ends: before all
    /// other events of it.
    fn stop(&mut self, now: Time) {
        let ticks = self.whole.recorder.next_tick() <= now;
        if ticks {
            self.crew.run(Job::Rows(now), self.rows < FEW_ROWS);
        }
        let mut parts: Still<'_> = self.crew.parts().collect();
        let whole = &mut self.whole;
        whole.now = now;
        if ticks {
            whole.recorder.merge_rows(&mut parts, &mut self.reached);
            let owners = (&*self.division.flows, &*self.division.links);
            self.rows = whole.recorder.end_interval_of_parts(now, &mut parts, owners);
        }
        if self.last_planned <= now {
            self.last_planned = Time::NEVER;
        }
        for part in &mut parts {
            if part.next_plan <= now {
                part.follow_plan_of_part(now);
            }
        }
        while whole.schedule.due(now).is_some() {}
        self.planned += 1;
        let stalled =
            if self.may_stall { whole.stall_of_parts(parts.iter().map(|part| &**part)) } else { None };
        exchange(&mut parts, &self.division);
        self.next = next_event(&parts);
        if let Some(why) = stalled {
            whole.stalled = Some(Stalled { t_s: now.as_secs_f64(), why });
            whole.end = now;
        }
    }

    fn check_memory(&mut self) -> Result<(), MemoryExceeded> {
        let held: Bytes = self.crew.parts().map(|part| part.memory()).sum();
        self.whole.check_memory_with(held)
    }

    fn finish(mut self) -> Result<RunResult, MemoryExceeded> {
        self.run_slice(self.whole.end, u64::MAX);
        let mut parts: Still<'_> = self.crew.parts().collect();
        self.whole.recorder.merge_rows(&mut parts, &mut self.reached);
        drop(parts);
        let parts = self.crew.take_parts();
        self.division.gather(&mut self.whole, parts);
        self.whole.handled += self.planned;
        self.whole.finish_within()
    }
}

/// Packets change parts, and each flow's own part hears of what was lost elsewhere.
fn exchange(parts: &mut Still<'_>, division: &Division) {
    for from in 0..parts.len() {
        for to in 0..parts.len() {
            let mut packets = std::mem::take(&mut own(&mut parts[from]).outbox[to]);
            let inbox = &mut own(&mut parts[to]).inbox[from];
            if inbox.is_empty() {
                std::mem::swap(inbox, &mut packets);
            } else {
                inbox.append(&mut packets);
            }
            own(&mut parts[from]).outbox[to] = packets;
        }
        let mut touched = std::mem::take(&mut own(&mut parts[from]).touched);
        for flow in touched.drain(..) {
            tell(parts, division, from, flow as usize);
        }
        own(&mut parts[from]).touched = touched;
    }
}

/// Packets of a flow were lost or doubled in the part `from`: tells the flow's own part.
fn tell(parts: &mut Still<'_>, division: &Division, from: usize, flow: usize) {
    // A connection that arrived is in the part of all of its way.
    let Some(home) = division.flows.get(flow).map(|home| usize::from(*home)) else { return };
    let Ok([from, home]) = parts.get_disjoint_mut([from, home]) else { return };
    let change = from.flows[flow].in_network.wrapping_sub(ELSEWHERE).cast_signed();
    from.flows[flow].in_network = ELSEWHERE;
    let within = &mut home.flows[flow].in_network;
    *within = within.saturating_add_signed(change);
    home.recorder.lost_elsewhere(flow, &mut from.recorder);
}

/// When the next event of any part is due, or the next packet arrives that has changed parts.
fn next_event(parts: &Still<'_>) -> Time {
    let next = |part: &MutexGuard<'_, Simulation>| {
        let earliest = part.part.as_ref().map_or(Time::NEVER, |part| part.earliest);
        part.next_event().min(earliest)
    };
    parts.iter().map(next).min().unwrap_or(Time::NEVER)
}

fn own(part: &mut Simulation) -> &mut Part {
    part.part.as_mut().expect("it is a part")
}

impl Shared for MutexGuard<'_, Simulation> {
    fn recorder(&mut self) -> &mut Recorder {
        &mut self.recorder
    }

    fn record(&mut self) -> (&mut Recorder, &mut Log) {
        let part = &mut **self;
        let log = &mut part.part.as_mut().expect("it is a part").log;
        (&mut part.recorder, log)
    }

    fn link(&mut self, index: usize) -> &mut Link {
        &mut self.links[index]
    }
}
