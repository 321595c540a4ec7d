//! The names of keys, from a scenario file's top.

use crate::model::{Scenario, Shape};

/// A key of the group of flows with this index.
pub(super) fn of_flow(group: usize, key: &str) -> String {
    format!("flow[{group}].{key}")
}

/// A key of the link with this index.
pub(super) fn of_link(scenario: &Scenario, link: usize, key: &str) -> String {
    match (&scenario.shape, link) {
        (Shape::Dumbbell, 0) => format!("bottleneck.{key}"),
        (Shape::Dumbbell, _) => format!("reverse.{key}"),
        (Shape::Graph(_), link) => format!("link[{link}].{key}"),
    }
}
