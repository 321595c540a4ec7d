//! Quantities: parsing, printing, arithmetic.

use proptest::prelude::*;
use windtunnel_units::{Bytes, Duration, ParseError, Probability, Rate, Time};

/// Units of the scenario file (design section 6).
#[test]
fn parses_what_scenarios_say() {
    for (text, ns) in [
        ("20 ms", 20_000_000),
        ("20ms", 20_000_000),
        ("1.5 us", 1_500),
        ("0.1 ms", 100_000),
        ("2 min", 120_000_000_000),
        ("1e3 ns", 1000),
    ] {
        assert_eq!(text.parse::<Duration>().unwrap().as_nanos(), ns, "{text}");
    }
    for text in ["100mbit", "100MBIT", "100000kbit", "0.1gbit", "100 mbit/s"] {
        assert_eq!(text.parse::<Rate>().unwrap(), Rate::from_mbps(100), "as tc writes and reads it: {text}");
    }
    for text in ["100 Mbit/s", "100Mbit", "100 Mbps", "0.1 Gbit/s", "1e8 bit/s", "100_000 kbit"] {
        assert_eq!(text.parse::<Rate>().unwrap(), Rate::from_mbps(100), "{text}");
    }
    assert_eq!("250 kB".parse::<Bytes>().unwrap(), Bytes::new(250_000));
    assert_eq!("1 KiB".parse::<Bytes>().unwrap(), Bytes::new(1024));
    assert_eq!("1 %".parse::<Probability>().unwrap(), Probability::new(0.01).unwrap());
}

/// Messages name the unit, the nearest one, and why `bps` is refused.
#[test]
fn refuses_what_is_unclear() {
    let message = |r: Result<Rate, ParseError>| r.unwrap_err().to_string();
    assert!(message("100 mbps".parse()).contains("tc reads it as bytes per second"));
    assert!(message("100 bps".parse()).contains("write `bit/s`"));
    assert!(message("100".parse()).starts_with("`100` has no unit: add one of bit/s, kbit/s, "));
    assert!(message("100 Mbiit/s".parse()).contains("did you mean `Mbit/s`?"));
    assert!(message("-1 Mbit/s".parse()).contains("out of range"));
    assert!(message("NaN Mbit/s".parse()).contains("is not a rate"));
    assert!(message("inf Mbit/s".parse()).contains("is not a rate"));
    assert!(message("1e30 Mbit/s".parse()).contains("out of range"));
    assert!("5 eggs".parse::<Duration>().unwrap_err().to_string().contains("`eggs` is not a unit of a time"));
    assert!("101 %".parse::<Probability>().is_err());
}

/// A unit is suggested only where it means the same: no letter that changes the power of ten, no byte for a bit.
#[test]
fn suggests_only_what_means_the_same() {
    let hint = |message: String| {
        message.split("did you mean `").nth(1).and_then(|rest| rest.split('`').next()).map(str::to_owned)
    };
    let rate = |text: &str| hint(text.parse::<Rate>().unwrap_err().to_string());
    let time = |text: &str| hint(text.parse::<Duration>().unwrap_err().to_string());
    let size = |text: &str| hint(text.parse::<Bytes>().unwrap_err().to_string());
    for (text, unit) in
        [("100M", "Mbit/s"), ("10 Kb/s", "kbit/s"), ("10 Mbits/s", "Mbit/s"), ("10 gb/S", "Gb/s")]
    {
        assert_eq!(rate(text).as_deref(), Some(unit), "{text}");
    }
    for (text, unit) in
        [("60 sec", "s"), ("60 seconds", "s"), ("5 msec", "ms"), ("60 S", "s"), ("1 hours", "h")]
    {
        assert_eq!(time(text).as_deref(), Some(unit), "{text}");
    }
    assert_eq!(size("10 KB").as_deref(), Some("kB"));
    for text in ["10 MB/s", "10 Mbit/z", "10 xbit/s", "10 cbit/s"] {
        assert_eq!(rate(text), None, "{text}");
    }
    assert_eq!((time("20 mss"), time("20 m"), time("20 as")), (None, None, None));
    assert_eq!((size("10 kb"), size("10 Mbit"), size("10 XB")), (None, None, None));
}

/// Serialisation times in the reference traces: 1500 B and 52 B (spec/mds section 2), truncated.
#[test]
fn transfer_times() {
    let t = |rate: u64, bytes: u64| Rate::from_bits_per_sec(rate).transfer_time(Bytes::new(bytes)).as_nanos();
    assert_eq!(t(100_000_000, 1500), 120_000);
    assert_eq!(t(30_000_000, 52), 13_866);
    assert_eq!(t(100_000_000_000, 1500), 120);
    assert_eq!(t(1_000, 1 << 40), 8_796_093_022_208_000_000, "no overflow before the division");
    assert_eq!(
        Rate::from_mbps(100) * Duration::from_millis(20),
        Bytes::new(250_000),
        "the bandwidth-delay product"
    );
}

/// Shares as people write them; 57 times 0.01 is not the number nearest to 0.57.
#[test]
fn percentages() {
    for (text, p, printed) in [
        ("75.07 %", 0.7507, "75.07 %"),
        ("57 %", 0.57, "57 %"),
        ("0.5", 0.5, "50 %"),
        ("100 %", 1.0, "100 %"),
        ("1e-3 %", 0.00001, "0.001 %"),
        ("0 %", 0.0, "0 %"),
        ("1e-7", 1e-7, "0.00001 %"),
    ] {
        let read = text.parse::<Probability>().unwrap();
        assert_eq!((read.get(), read.to_string().as_str()), (p, printed), "{text}");
    }
}

/// If a text is a quantity, it prints as a text that reads as the same.
fn stable<T>(text: &str) -> Result<(), TestCaseError>
where
    T: std::str::FromStr + std::fmt::Display + std::fmt::Debug + PartialEq,
    T::Err: std::fmt::Debug,
{
    if let Ok(quantity) = text.parse::<T>() {
        let printed = quantity.to_string();
        let again = printed.parse::<T>().unwrap();
        prop_assert_eq!(&again, &quantity, "{} is printed as {}", text, printed);
        prop_assert_eq!(again.to_string(), printed);
    }
    Ok(())
}

proptest! {
    /// Printing and parsing are inverse.
    #[test]
    fn round_trip(n in 0_u64..1_000_000_000_000_000) {
        let d = Duration::from_nanos(n);
        prop_assert_eq!(d.to_string().parse::<Duration>().unwrap(), d);
        let r = Rate::from_bits_per_sec(n);
        prop_assert_eq!(r.to_string().parse::<Rate>().unwrap(), r);
        let b = Bytes::new(n);
        prop_assert_eq!(b.to_string().parse::<Bytes>().unwrap(), b);
    }

    /// A text is printed as what reads back as the same quantity, whatever its unit; printed again, it is the same text.
    #[test]
    fn printing_is_stable(
        number in prop_oneof![
            (0_u64..100_000, 0_u32..6).prop_map(|(n, digits)| format!("{:.*}", digits as usize, n as f64 / 1e3)),
            any::<f64>().prop_map(|x| format!("{:e}", x.abs())),
            (0.0..1.0_f64).prop_map(|x| x.to_string()),
        ],
        time in proptest::sample::select(&["ns", "us", "ms", "s", "min", "h"][..]),
        rate in proptest::sample::select(&["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"][..]),
        size in proptest::sample::select(&["B", "kB", "MB", "GB", "KiB", "MiB", "GiB"][..]),
        share in proptest::sample::select(&["%", ""][..]),
    ) {
        stable::<Duration>(&format!("{number} {time}"))?;
        stable::<Time>(&format!("{number} {time}"))?;
        stable::<Rate>(&format!("{number} {rate}"))?;
        stable::<Bytes>(&format!("{number} {size}"))?;
        stable::<Probability>(&format!("{number} {share}"))?;
    }

    /// Every probability, also one that was computed, is printed as it is.
    #[test]
    fn probabilities_round_trip(p in prop_oneof![0.0..=1.0_f64, (0.0..=1.0_f64).prop_map(|x| x * 1e-12)]) {
        let p = Probability::new(p).unwrap();
        prop_assert_eq!(p.to_string().parse::<Probability>().unwrap(), p);
    }

    /// No text makes the parser panic.
    #[test]
    fn any_text(text in ".{0,40}") {
        let _ = text.parse::<Duration>();
        let _ = text.parse::<Rate>();
        let _ = text.parse::<Bytes>();
        let _ = text.parse::<Probability>();
    }
}
