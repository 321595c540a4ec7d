//! Parameters: an algorithm's name, what can be set, and which values are allowed.

use std::any::Any;
use std::fmt::Debug;

#[cfg(feature = "schema")]
use serde_json::{Map, Value};
use windtunnel_units::OutOfRange;

use crate::schema::Described;

/// The parameters of an algorithm, and its name.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
/// use windtunnel_algorithm::{AnyParams, OutOfRange, Params};
///
/// /// Parameters of a queue that marks every n-th packet.
/// #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
/// #[serde(default, deny_unknown_fields)]
/// #[schemars(extend("x-source" = "this example"))]
/// struct EveryNthParams {
///     /// Packets per mark.
///     n: u32,
/// }
///
/// impl Default for EveryNthParams {
///     fn default() -> EveryNthParams {
///         EveryNthParams { n: 100 }
///     }
/// }
///
/// impl Params for EveryNthParams {
///     const NAME: &'static str = "every-nth";
///     const SUMMARY: &'static str = "Marks every n-th packet";
///
///     fn check(&self) -> Result<(), OutOfRange> {
///         if self.n == 0 {
///             return Err(OutOfRange::new("n", self.n, "at least 1"));
///         }
///         Ok(())
///     }
/// }
///
/// let params: &dyn AnyParams = &EveryNthParams::default();
/// assert_eq!((params.name(), &params.to_map()["n"]), ("every-nth", &100.into()));
/// ```
pub trait Params: Clone + Debug + Default + PartialEq + Send + Sync + Described + 'static {
    /// The name in scenarios and results: the kernel's where there is one.
    const NAME: &'static str;

    /// Other names for the algorithm.
    const ALIASES: &'static [&'static str] = &[];

    /// What the algorithm does, in one line without a full stop.
    const SUMMARY: &'static str;

    /// Checks that the algorithm is defined for all values.
    ///
    /// # Errors
    /// The first value for which the algorithm is not defined.
    fn check(&self) -> Result<(), OutOfRange> {
        Ok(())
    }
}

/// Parameters of any algorithm: [`Params`] without the type. An algorithm that is not written in Rust implements this
/// itself.
pub trait AnyParams: Any + Debug + Send + Sync {
    /// The name in scenarios and results.
    fn name(&self) -> &str;

    /// Returns the parameters by name, as in a scenario file. Parameters that are not set are omitted, because TOML has
    /// no null.
    #[cfg(feature = "schema")]
    fn to_map(&self) -> Map<String, Value>;

    /// Checks that the algorithm is defined for all values.
    ///
    /// # Errors
    /// The first value for which the algorithm is not defined.
    fn check(&self) -> Result<(), OutOfRange>;

    /// Returns true if the algorithm's code is not compiled into the program. A result then depends on more than the
    /// scenario and the version, and says so.
    fn is_foreign(&self) -> bool {
        false
    }
}

impl<P: Params> AnyParams for P {
    fn name(&self) -> &str {
        P::NAME
    }

    #[cfg(feature = "schema")]
    fn to_map(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(mut map)) => {
                map.retain(|_, value| !value.is_null());
                map
            }
            _ => Map::new(),
        }
    }

    fn check(&self) -> Result<(), OutOfRange> {
        Params::check(self)
    }
}

#[cfg(feature = "schema")]
impl PartialEq for dyn AnyParams {
    /// Parameters are equal if they belong to the same algorithm and have the same values.
    fn eq(&self, other: &dyn AnyParams) -> bool {
        self.name() == other.name() && self.to_map() == other.to_map()
    }
}
