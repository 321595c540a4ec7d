//! Algorithms of one's own in windtunnel: one of each kind that a crate outside of its workspace can register.
//!
//! An algorithm is a struct with its parameters, which implements [`windtunnel_algorithm::Params`] (what it is called, what is
//! allowed) and the trait of its family (how it is built). [`registry`] adds them to windtunnel's own; from there on parser,
//! messages, schema and listing know them.

mod binomial;
mod ledbat;
mod limited;
mod small_first;
mod step;

pub use binomial::BinomialParams;
pub use ledbat::LedbatParams;
pub use limited::LimitedParams;
pub use small_first::SmallFirstParams;
pub use step::StepParams;

use windtunnel_scenario::{Registry, RegistryError};

/// Windtunnel's algorithms and those of this crate.
///
/// # Errors
/// If two algorithms have one name.
pub fn registry() -> Result<Registry, RegistryError> {
    let mut registry = Registry::default();
    registry.register_controller::<LedbatParams>()?;
    registry.register_avoidance::<BinomialParams>()?;
    registry.register_slow_start::<LimitedParams>()?;
    registry.register_aqm::<StepParams>()?;
    registry.register_queue::<SmallFirstParams>()?;
    Ok(registry)
}
