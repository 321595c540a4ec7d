//! A queue that others replace while traffic goes on, as an operator tries out AQMs on a busy line.
//!
//! From each time on, packets enter the next queue. What is in the queues before leaves first, in its order: nothing is
//! lost. (`tc qdisc replace` of Linux drops what is in the old queue.) A queue that has not had its turn exists all the
//! same, and its control law has settled, like that of the queue of any link.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{OutOfRange, Time};
use windtunnel_wire::Packet;

use super::{Children, InOrder, several};
use crate::accounts::QueueCx;
use crate::discipline::QueueDiscipline;
use crate::hand_on::hand_on_queue;
use crate::params::{ChildSlot, QueueInit, QueueParams};
use crate::spec::{ChildSpec, Parts};

/// The most queues that replace others.
const MOST: usize = 100;

/// The parameters of a queue that others replace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Linux tc-qdisc(8), replace; here without loss", "x-title" = "Replaced", "x-traits" = ["holds"]))]
pub struct ReplacedParams {
    /// When the second queue of `children` replaces the first, the third one the second, and so on, in order of time.
    pub at: Vec<Time>,
}

impl Params for ReplacedParams {
    const NAME: &'static str = "replaced";
    const SUMMARY: &'static str = "A queue that others replace at certain times; what is in it leaves first";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.at.len() > MOST {
            return Err(OutOfRange::new("at", self.at.len(), "at most 100 times"));
        }
        if self.at.first().is_some_and(|at| *at == Time::ZERO) {
            return Err(OutOfRange::new(
                "at",
                Time::ZERO,
                "more than 0 s, before which there is no queue to replace",
            ));
        }
        match self.at.windows(2).find(|pair| pair[0] >= pair[1]) {
            Some(pair) => {
                Err(OutOfRange::new("at", pair[1], "in order of time, each later than the one before"))
            }
            None => Ok(()),
        }
    }
}

impl QueueParams for ReplacedParams {
    fn children(&self) -> Vec<ChildSlot> {
        several(self.at.len() + 1)
    }

    fn check_children(&self, children: &[Vec<ChildSpec>]) -> Result<(), OutOfRange> {
        let queues = children.iter().map(Vec::len).sum::<usize>();
        if queues == self.at.len() + 1 {
            return Ok(());
        }
        let allowed = "one time less than there are queues in `children`";
        Err(OutOfRange::new("at", format!("{} times", self.at.len()), allowed))
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let queues = InOrder::waiting(Children::new(parts, init));
        Box::new(Replaced { queues, at: self.at.clone(), current: 0 })
    }
}

/// The queues: one of them takes packets now.
#[derive(Debug)]
struct Replaced {
    queues: InOrder,
    at: Vec<Time>,
    current: usize,
}

impl QueueDiscipline for Replaced {
    hand_on_queue! {
        self => self.queues.children;
        peeks backlog learn_hosts next_timer on_timer bands band_backlog probe_band
    }
    hand_on_queue! {
        self => self.queues;
        choose serve dequeue next_ready
    }

    fn band_name(&self, band: usize) -> String {
        format!("queue {band}")
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        while self.at.get(self.current).is_some_and(|at| *at <= cx.now) {
            self.current += 1;
        }
        self.queues.children.enqueue(self.current, packet, cx);
    }
}
