//! Applications by themselves: parameters, and the counts of receivers of datagrams.

use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::media::Frames;
use super::receipts::Receipts;
use super::*;

/// Defaults are valid and survive a trip through a scenario's text; arrivals need either their number or their load.
#[test]
fn parameters_are_checked() {
    macro_rules! check {
        ($($variant:ident($params:ty)),* $(,)?) => {$(
            let params = <$params>::default();
            let text = serde_json::to_string(&params).unwrap();
            assert_eq!(serde_json::from_str::<$params>(&text).unwrap(), params);
            ApplicationConfig::$variant(params).params().check().unwrap();
        )*};
    }
    check!(
        Transfer(TransferParams),
        OnOff(OnOffParams),
        RequestResponse(RequestResponseParams),
        Media(MediaParams),
        Cbr(CbrParams),
        Probe(ProbeParams),
    );
    let key = |params| ApplicationConfig::Poisson(params).params().check().map_err(|error| error.key);
    let load = Some(Rate::from_mbps(1));
    assert_eq!(key(PoissonParams::default()), Err("arrivals"));
    assert_eq!(key(PoissonParams { load, ..PoissonParams::default() }), Ok(()));
    assert_eq!(key(PoissonParams { arrivals: Some(5.0), ..PoissonParams::default() }), Ok(()));
    assert_eq!(key(PoissonParams { arrivals: Some(5.0), load, ..PoissonParams::default() }), Err("load"));
    let short = ProbeParams { size: Bytes::new(43), ..ProbeParams::default() };
    assert_eq!(ApplicationConfig::Probe(short).params().check().map_err(|error| error.key), Err("size"));
}

/// 10 frames, the first one 5 times as large as the others, have the rate of 10 mean frames, to a byte.
#[test]
fn key_frames_keep_the_rate() {
    let params = MediaParams {
        rate: Rate::from_bits_per_sec(1_000_003),
        frame_interval: Duration::from_millis(40),
        keyframe_every: 10,
        keyframe_ratio: 5.0,
        ..MediaParams::default()
    };
    let mut frames = Frames::new(&params);
    let sizes: Vec<u64> = (0..1000).map(|_| frames.next_frame().get()).collect();
    // 1,000,003 / 8 * 0.04 s = 5000.015 bytes on average; less than a byte is still to come.
    assert!((5_000_014..=5_000_015).contains(&sizes.iter().sum::<u64>()));
    assert!(sizes.chunks(10).all(|group| group[0] > 4 * group[1] && group[1].abs_diff(group[9]) <= 1));
}

/// By hand: 1, 2, 5 (3 and 4 missing), 3 late, 5 again, and 6 after a jump longer than the memory.
#[test]
fn receipts_know_what_is_new() {
    let mut receipts = Receipts::new();
    let mut receive = |number: u64, delay_us: u64| {
        let receipt = receipts.record(number, Time::ZERO, Time::ZERO + Duration::from_micros(delay_us));
        (receipt.new, receipt.expected, receipts.missing(), receipt.variation.map(Duration::as_nanos))
    };
    assert_eq!(receive(1, 50), (true, 1, 0, None));
    assert_eq!(receive(2, 70), (true, 1, 0, Some(20_000)));
    assert_eq!(receive(5, 40), (true, 3, 2, Some(30_000)));
    assert_eq!(receive(3, 40), (true, 0, 1, Some(0)));
    assert_eq!(receive(5, 40), (false, 0, 1, Some(0)));
    assert_eq!(receive(10_000, 40), (true, 9_995, 9_995, Some(0)));
    assert_eq!(receive(6, 40), (false, 0, 9_995, Some(0)), "too late to tell");
    assert_eq!(receive(9_000, 40), (true, 0, 9_994, Some(0)));
}
