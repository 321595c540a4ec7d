//! What limits a rate in front of a queue: token buckets that shape.

mod bucket;
mod tbf;

pub(crate) use bucket::TokenBucket;
pub use tbf::{Tbf, TbfParams};

use crate::discipline::QueueDiscipline;

/// Reports the numbers of a queue with one inside: its own, and those of the other that have other names.
fn probe_around(
    child: &dyn QueueDiscipline,
    own: &[(&'static str, f64)],
    out: &mut dyn FnMut(&'static str, f64),
) {
    for (name, value) in own {
        out(name, *value);
    }
    child.probe(&mut |name, value| {
        if own.iter().all(|(taken, _)| *taken != name) {
            out(name, value);
        }
    });
}
