//! What comes from outside while a run goes on: it starts flows whose ends are elsewhere, wakes them, and ends the run.

use windtunnel_units::{Duration, Time};

use super::Simulation;
use crate::endpoint::Ends;

impl Simulation {
    /// The plan does not start the flows from `first` on: they begin from outside, one after the other. Until then they
    /// have no rows of intervals.
    pub fn await_flows(&mut self, first: usize) {
        self.recorder.rows_of(first);
    }

    /// The next of those begins now.
    pub fn begin(&mut self, flow: usize) {
        self.recorder.rows_of(flow + 1);
        self.start_flow(flow);
    }

    /// The halves of a flow over a stack from elsewhere have other timers than when the loop asked last, because something
    /// has happened to them outside.
    pub fn wake(&mut self, flow: usize) {
        let Ends::Foreign(halves) = &self.flows[flow].ends else { return };
        let [sender, receiver] = [halves.sender.next_timer(), halves.receiver.next_timer()];
        self.flows[flow].sender_event = sender;
        self.timers.set(self.sender_timer(flow), sender.max(self.now));
        self.flows[flow].receiver_event = receiver;
        self.timers.set(self.receiver_timer(flow), receiver.max(self.now));
    }

    /// Handles all events up to `now`, those of that time included: what happens outside at `now` comes after them.
    pub fn catch_up(&mut self, now: Time) {
        let now = now.max(self.now);
        self.run_until(now + Duration::from_nanos(1));
        self.now = now.min(self.end);
    }

    /// The run ends at `end`, which is not before now.
    pub fn end_at(&mut self, end: Time) {
        self.end = end.max(self.now);
    }
}
