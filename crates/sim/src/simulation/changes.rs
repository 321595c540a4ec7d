//! What happens by plan: at its time, or when the state of a controller calls for it.

use std::collections::VecDeque;

use windtunnel_units::Time;

use super::Simulation;
use crate::flow::Flow;
use crate::network::{Action, Plan, UnfitFlow};
use crate::result::ChangeSummary;
use crate::schedule::When;

/// An action at a time, and the condition that called for it.
#[derive(Debug)]
struct Dated {
    at: Time,
    action: Action,
    when: Option<Box<When>>,
}

/// All that is planned.
#[derive(Debug)]
pub(super) struct Schedule {
    /// Actions at times, in order: small, since a million flows start.
    planned: VecDeque<(Time, Action)>,
    /// Actions that a state has called for, in order of time.
    called: VecDeque<Dated>,
    /// Actions that wait for a state.
    waiting: Vec<(Box<When>, Action)>,
    /// The changes that happened, but for starts and stops at their times.
    happened: Vec<Dated>,
}

impl Schedule {
    pub(super) fn new((plan, waiting): Plan) -> Schedule {
        Schedule { planned: plan.into(), called: VecDeque::new(), waiting, happened: Vec::new() }
    }

    /// What is planned, in order.
    pub(super) fn planned(&self) -> impl Iterator<Item = &(Time, Action)> {
        self.planned.iter()
    }

    /// The flows that will start, each as often as it will.
    pub(super) fn starts(&self) -> impl Iterator<Item = usize> {
        let planned = self.planned.iter().map(|(_, action)| action);
        let all = planned.chain(self.waiting.iter().map(|(_, action)| action));
        all.filter_map(|action| if let Action::Start(flow) = action { Some(*flow) } else { None })
    }

    /// Checks that conditions are about columns that their flows have.
    pub(super) fn check(&self, flows: &[Flow], name: impl Fn(usize) -> String) -> Result<(), UnfitFlow> {
        for (when, _) in &self.waiting {
            let When { flow, column, .. } = &**when;
            let flow = *flow as usize;
            let mut columns = Vec::new();
            flows[flow].ends.state(&mut |name, _| columns.push(name));
            if !columns.contains(&column.as_str()) {
                let why = format!("its state has no column `{column}`; it has {}", columns.join(", "));
                return Err(UnfitFlow { flow: name(flow), why });
            }
        }
        Ok(())
    }

    /// When something is next due.
    pub(super) fn next(&self) -> Time {
        let planned = self.planned.front().map_or(Time::NEVER, |(at, _)| *at);
        self.called.front().map_or(planned, |called| called.at.min(planned))
    }

    /// True while something waits for a state.
    #[inline]
    pub(super) const fn is_watching(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// What is due at `now`; call until there is nothing.
    pub(super) fn due(&mut self, now: Time) -> Option<Action> {
        if self.next() > now {
            return None;
        }
        if self.planned.front().is_some_and(|(at, _)| *at <= now) {
            let (at, action) = self.planned.pop_front()?;
            if !matches!(action, Action::Start(_) | Action::Stop(_)) {
                self.happened.push(Dated { at, action, when: None });
            }
            return Some(action);
        }
        let called = self.called.pop_front()?;
        let action = called.action;
        self.happened.push(called);
        Some(action)
    }

    /// `flow` has heard of an ACK: plans what its state calls for.
    fn watch(&mut self, flow: usize, state: &Flow, now: Time) {
        let called = &mut self.called;
        self.waiting.retain(|(when, action)| {
            if when.flow as usize != flow || now < when.not_before {
                return true;
            }
            let mut value = f64::NAN;
            state.ends.state(&mut |name, number| {
                if name == when.column {
                    value = number;
                }
            });
            let holds = when.holds(value);
            if holds {
                let at = now + when.after;
                let index = called.partition_point(|other| other.at <= at);
                called.insert(index, Dated { at, action: *action, when: Some(when.clone()) });
            }
            !holds
        });
    }

    /// What happened, in order, and what did not because its condition was never met.
    fn summary(&self, describe: impl Fn(Action) -> String) -> Vec<ChangeSummary> {
        let text = |when: &When| when.to_string();
        let happened = self.happened.iter().map(|Dated { at, action, when }| ChangeSummary {
            t_s: Some(at.as_secs_f64()),
            what: describe(*action),
            when: when.as_deref().map(text),
        });
        let late = self.called.iter().filter_map(|called| Some((called.when.as_deref()?, called.action)));
        let waiting = self.waiting.iter().map(|(when, action)| (&**when, *action));
        let never = waiting.chain(late).map(|(when, action)| ChangeSummary {
            t_s: None,
            what: describe(action),
            when: Some(text(when)),
        });
        happened.chain(never).collect()
    }
}

impl Simulation {
    /// What changed during the run, and what did not because its condition was never met.
    pub(super) fn changes(&self) -> Vec<ChangeSummary> {
        self.schedule.summary(|action| self.describe(action))
    }

    /// What an action does, in words.
    fn describe(&self, action: Action) -> String {
        let recorder = &self.recorder;
        match action {
            Action::Start(flow) => format!("{} starts", recorder.flow_name(flow)),
            Action::Stop(flow) => format!("{} stops", recorder.flow_name(flow)),
            Action::ChangeLink(link, number) => {
                format!("{}: {}", recorder.queue_name(link), self.link_changes[link][number])
            }
            Action::SwitchOn(element) => format!("{} begins", recorder.element_name(element)),
            Action::SwitchOff(element) => format!("{} ends", recorder.element_name(element)),
            Action::SetApplicationRate(flow, rate) => format!("{}: rate {rate}", recorder.flow_name(flow)),
        }
    }

    fn change_link(&mut self, link: usize, number: usize) {
        let change = &self.link_changes[link][number];
        if let Some(rate) = change.rate {
            self.links[link].set_rate(rate);
        }
        if let Some(limit) = change.limit {
            self.links[link].set_limit(limit.into());
        }
        if let (Some(delay), Some(line)) = (change.delay, self.link_lines[link]) {
            self.lines[line as usize].set_delay(delay, change.reorder);
        }
    }

    /// All that is due now happens.
    pub(super) fn follow_plan(&mut self) {
        while let Some(action) = self.schedule.due(self.now) {
            self.act(action);
        }
    }

    pub(super) fn act(&mut self, action: Action) {
        match action {
            Action::Start(flow) => self.start_flow(flow),
            Action::Stop(flow) => self.stop_flow(flow),
            Action::ChangeLink(link, number) => self.change_link(link, number),
            Action::SwitchOn(element) => self.elements[element].switch(true),
            Action::SwitchOff(element) => self.elements[element].switch(false),
            Action::SetApplicationRate(flow, rate) => {
                self.flows[flow].ends.set_rate(rate, self.now);
                self.send_now(flow);
            }
        }
    }

    /// A flow has heard of an ACK, and something waits for a state.
    #[cold]
    #[inline(never)]
    pub(super) fn watch(&mut self, flow: usize) {
        self.schedule.watch(flow, &self.flows[flow], self.now);
        self.schedule_plan();
    }
}
