//! What a scenario may say, and the messages about one that is wrong.

mod bad_input;
mod files;
mod fuzz;
mod generate;
mod good_input;
mod hostile;
mod impossible;
mod invariants;
mod linux;
mod listing;
mod mutate;
mod outcome;
mod overrides;
mod places;
mod queues;
mod random;
mod red;
mod registry;
mod relations;
mod round_trip;
mod schema;
mod sparse;
mod tables;
mod whole;
mod wrong_types;
mod zeros;
