//! The parameter structs are the schema of a scenario: each parameter is described, each struct names
//! its source, unknown keys are errors, and an empty table means the defaults.

use schemars::schema_for;
use windtunnel_cc::{
    AvoidanceParams, ControllerParams, Kinds, MdsParams, Params, ResponseParams, SlowStartParams,
};

fn check<P: Params>() {
    let schema = schema_for!(P);
    assert_eq!(schema.get("additionalProperties"), Some(&false.into()), "{}", P::NAME);
    let properties = schema.get("properties").and_then(|p| p.as_object()).cloned().unwrap_or_default();
    assert!(schema.get("x-source").is_some() || properties.is_empty(), "{}: no source", P::NAME);
    for (key, property) in &properties {
        assert!(property.get("description").is_some(), "{}.{key} is not described", P::NAME);
    }
    let empty: P = serde_json::from_str("{}").expect("an empty table means the defaults");
    assert_eq!(empty, P::default());
    assert_eq!(empty.check(), Ok(()));
    assert!(serde_json::from_str::<P>(r#"{"nonsense": 1}"#).is_err(), "{}", P::NAME);
}

struct Check;

impl Kinds for Check {
    fn avoidance<P: Params + AvoidanceParams>(&mut self) {
        check::<P>();
    }

    fn slow_start<P: Params + SlowStartParams>(&mut self) {
        check::<P>();
    }

    fn response<P: Params + ResponseParams>(&mut self) {
        check::<P>();
    }

    fn controller<P: Params + ControllerParams>(&mut self) {
        check::<P>();
    }
}

#[test]
fn every_parameter_is_described() {
    windtunnel_cc::visit(&mut Check);
}

/// A tau of zero has no meaning and is refused where it is read.
#[test]
fn tau_is_at_least_one() {
    let error = serde_json::from_str::<MdsParams>(r#"{"tau": 0}"#).expect_err("tau = 0");
    assert!(error.to_string().contains("nonzero"), "{error}");
}
