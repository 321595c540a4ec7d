//! The ends of what a parameter can be written as: each value is refused by the name of a key, or the algorithm works.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use windtunnel_cc::{
    AnyParams, AvoidanceParams, ControllerParams, Kinds, Params, ResponseParams, SlowStartParams, Style,
    WindowedConfig,
};
use windtunnel_units::{Bytes, Duration};

use crate::driver::{CE, CLEAN, Driver, MSS, SCE, init};

/// Values of every type that a parameter has.
fn extremes() -> Vec<Value> {
    vec![
        json!(0),
        json!(1),
        json!(-1),
        json!(255),
        json!(u32::MAX),
        json!(u64::MAX),
        json!(0.0),
        json!(-0.5),
        json!(0.5),
        json!(1e-9),
        json!(1e6),
        json!(true),
        json!(false),
        json!("0 s"),
        json!("1 ns"),
        json!("1000000 s"),
        json!("0 B"),
        json!("1 B"),
        json!("1000 TB"),
        json!("0 bit/s"),
        json!("1000 Tbit/s"),
        json!("0 %"),
        json!("100 %"),
    ]
}

/// Those parameters that differ from the defaults in one extreme value, and that the kind accepts.
fn accepted<P: Params>() -> Vec<P> {
    let schema = schemars::schema_for!(P);
    let properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut accepted = Vec::new();
    for key in properties.keys() {
        for value in extremes() {
            let table = Value::Object(Map::from_iter([(key.clone(), value.clone())]));
            let Ok(params) = serde_json::from_value::<P>(table) else { continue };
            match Params::check(&params) {
                Ok(()) => accepted.push(params),
                Err(refused) => {
                    assert!(properties.contains_key(refused.key), "{}: {key} = {value}: {refused}", P::NAME);
                }
            }
        }
    }
    accepted
}

/// Round trips with marks, losses, timeouts and idle times: the window stays between a segment and what a number can
/// hold, and no number that is reported is infinite.
fn exercise(config: &dyn ControllerParams) {
    let mut flow = Driver::of(config.build(init(MSS * 10)), Duration::from_millis(20));
    for n in 0..200_u64 {
        match n % 40 {
            11 => flow.lose(),
            19 => flow.idle(Duration::from_secs(2)),
            29 => flow.time_out(true),
            31 => flow.undo(),
            _ => {}
        }
        flow.rtt = Duration::from_millis(20 + n % 7 * 10);
        let marks = [CLEAN, CLEAN, CE, SCE][(n / 10 % 4) as usize];
        flow.ack(Duration::from_millis(5), 1 + n % 3, marks);
        let cwnd = flow.cwnd();
        assert!((MSS..Bytes::new(1 << 62)).contains(&cwnd), "{cwnd} with {config:?}");
        flow.cc.probe(&mut |name, value| assert!(!value.is_infinite(), "{name} with {config:?}"));
    }
}

fn exercise_windowed(config: &WindowedConfig) {
    for style in [Style::Document, Style::Linux] {
        let mut config = config.clone();
        config.resolve(style);
        if AnyParams::check(&config).is_ok() {
            exercise(&config);
        }
    }
}

struct Exercise;

impl Kinds for Exercise {
    fn avoidance<P: Params + AvoidanceParams>(&mut self) {
        for params in accepted::<P>() {
            exercise_windowed(&WindowedConfig { avoidance: Arc::new(params), ..WindowedConfig::default() });
        }
    }

    fn slow_start<P: Params + SlowStartParams>(&mut self) {
        for params in accepted::<P>() {
            exercise_windowed(&WindowedConfig { slow_start: Arc::new(params), ..WindowedConfig::default() });
        }
    }

    fn response<P: Params + ResponseParams>(&mut self) {
        for params in accepted::<P>() {
            exercise_windowed(&WindowedConfig { response: Arc::new(params), ..WindowedConfig::default() });
        }
    }

    fn controller<P: Params + ControllerParams>(&mut self) {
        for params in accepted::<P>() {
            exercise(&params);
        }
    }
}

#[test]
fn extremes_are_refused_or_work() {
    windtunnel_cc::visit(&mut Exercise);
}
