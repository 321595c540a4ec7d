//! What limits a rate in front of a queue: shapers, which delay packets, and policers, which mark or lose them.

mod bucket;
mod police;
mod policed;
mod ramppolice;
mod tbf;
mod virtual_queue;
mod vqpolice;

use windtunnel_algorithm::kinds;

use crate::discipline::QueueDiscipline;
use crate::kinds::Kinds;
use crate::params::{ChildSlot, Takes};

pub(crate) use bucket::TokenBucket;
use policed::{Policed, Policer, Ruling};
use virtual_queue::VirtualQueue;

kinds! {
    pub(crate) fn visit(Kinds::queue);
    tbf: TbfParams;
    police: PoliceParams;
    vqpolice: VqPoliceParams;
    ramppolice: RampPoliceParams;
}

/// The key of the queue behind a policer.
fn behind() -> Vec<ChildSlot> {
    const SUMMARY: &str = "The queue behind the policer; if left out, a FIFO.";
    vec![ChildSlot { key: "child", summary: SUMMARY, takes: Takes::One }]
}

/// Where numbers are reported to.
type Out<'o> = &'o mut dyn FnMut(&'static str, f64);

/// Reports the numbers of a queue with one inside: its own, and those of the other that have other names.
fn probe_around(child: &dyn QueueDiscipline, own: &dyn Fn(Out<'_>), out: Out<'_>) {
    own(out);
    child.probe(&mut |name, value| {
        let mut is_taken = false;
        own(&mut |taken, _| is_taken |= taken == name);
        if !is_taken {
            out(name, value);
        }
    });
}
