//! Custom algorithms in windtunnel: one of each kind that a crate outside its workspace can register.
//!
//! An algorithm is a struct with its parameters, which implements [`windtunnel_algorithm::Params`] (its name and the
//! allowed values) and the trait of its family (how it is built). [`registry`] adds them to windtunnel's own
//! algorithms; parser, messages, schema and listing then include them.

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
/// If two algorithms have the same name.
pub fn registry() -> Result<Registry, RegistryError> {
    let mut registry = Registry::default();
    registry.register_controller::<LedbatParams>()?;
    registry.register_avoidance::<BinomialParams>()?;
    registry.register_slow_start::<LimitedParams>()?;
    registry.register_aqm::<StepParams>()?;
    registry.register_queue::<SmallFirstParams>()?;
    Ok(registry)
}
