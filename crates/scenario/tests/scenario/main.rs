//! What a scenario may say, and what is said about one that is wrong.

mod bad_input;
mod fuzz;
mod good_input;
mod linux;
mod mutate;
mod overrides;
mod registry;
mod round_trip;
mod schema;
