//! What a sender's numbers were after each departure, told where they have changed.

use super::Version;
use super::record::{Millis, Text};
use crate::packets::Row;

/// The numbers are told this many times per round trip, and at most once in this time.
const TIMES_PER_ROUND: u64 = 8;
const LEAST_GAP_NS: u64 = 1_000_000;

/// States of Linux.
pub(super) const RECOVERY: u8 = 3;
pub(super) const LOSS: u8 = 4;
const CWR: u8 = 2;
/// The limit of a sender that has nothing to send.
const APPLICATION: u8 = 1;

/// The numbers of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Told {
    cwnd: u64,
    ssthresh: u64,
    srtt_ns: u64,
    in_flight: u64,
    latest_ns: u64,
    least_ns: u64,
}

/// What was told of a sender.
#[derive(Debug, Default)]
pub(super) struct State {
    told: Told,
    /// When its numbers are told next, if ssthresh stays.
    due_ns: u64,
    latest_ns: u64,
    least_ns: Option<u64>,
    congestion: Option<&'static str>,
    /// How many of a controller's own modes were told.
    modes: usize,
}

impl State {
    /// An acknowledgement has shown a round-trip time.
    pub(super) fn round_trip(&mut self, rtt_ns: u64) {
        self.latest_ns = rtt_ns;
        self.least_ns = Some(self.least_ns.map_or(rtt_ns, |least| least.min(rtt_ns)));
    }

    /// The controller's own modes that were entered up to `t_ns`.
    pub(super) fn modes(&mut self, t_ns: u64, modes: &[(u64, String)], version: Version, text: &mut Text) {
        while let Some((at, mode)) = modes.get(self.modes).filter(|(at, _)| *at <= t_ns) {
            let old = self.modes.checked_sub(1).and_then(|n| modes.get(n)).map(|(_, mode)| mode.as_str());
            congestion_state(*at, old, mode, None, version, text);
            self.modes += 1;
        }
    }

    /// A packet has left; `own_modes`: the controller has modes of its own.
    pub(super) fn after(&mut self, row: &Row, own_modes: bool, version: Version, text: &mut Text) {
        if row.cwnd == 0 {
            return;
        }
        let now = Told {
            cwnd: row.cwnd,
            ssthresh: row.ssthresh,
            srtt_ns: row.srtt_ns,
            in_flight: row.in_flight,
            latest_ns: self.latest_ns,
            least_ns: self.least_ns.unwrap_or(0),
        };
        if now != self.told && (row.t_ns >= self.due_ns || now.ssthresh != self.told.ssthresh) {
            metrics(row.t_ns, &self.told, &now, version, text);
            self.told = now;
            self.due_ns = row.t_ns + (row.srtt_ns / TIMES_PER_ROUND).max(LEAST_GAP_NS);
        }
        if own_modes {
            return;
        }
        let (congestion, trigger) = name(row);
        if self.congestion != Some(congestion) {
            congestion_state(row.t_ns, self.congestion, congestion, trigger, version, text);
            self.congestion = Some(congestion);
        }
    }
}

/// The state of RFC 9002 section 7.3, and what led to it.
const fn name(row: &Row) -> (&'static str, Option<&'static str>) {
    match row.state {
        LOSS => ("recovery", Some("pto")),
        RECOVERY => ("recovery", Some("loss")),
        CWR => ("recovery", Some("ecn")),
        _ if row.limit == APPLICATION => ("application_limited", None),
        _ if row.cwnd < row.ssthresh => ("slow_start", None),
        _ => ("congestion_avoidance", None),
    }
}

fn congestion_state(
    t_ns: u64,
    old: Option<&str>,
    new: &str,
    trigger: Option<&str>,
    version: Version,
    text: &mut Text,
) {
    let event = match version {
        Version::V03 => "recovery:congestion_state_updated",
        Version::Current => "quic:congestion_state_updated",
    };
    text.event(t_ns, event, |data| {
        if let Some(old) = old {
            data.text("old", old);
        }
        data.text("new", new);
        if let Some(trigger) = trigger {
            data.text("trigger", trigger);
        }
    });
}

/// Those numbers that differ from what was told before.
fn metrics(t_ns: u64, told: &Told, now: &Told, version: Version, text: &mut Text) {
    let event = match version {
        Version::V03 => "recovery:metrics_updated",
        Version::Current => "quic:recovery_metrics_updated",
    };
    text.event(t_ns, event, |data| {
        for (key, before, value) in [
            ("min_rtt", told.least_ns, now.least_ns),
            ("smoothed_rtt", told.srtt_ns, now.srtt_ns),
            ("latest_rtt", told.latest_ns, now.latest_ns),
        ] {
            if value != before {
                data.number(key, Millis(value));
            }
        }
        for (key, before, value) in [
            ("congestion_window", told.cwnd, now.cwnd),
            ("bytes_in_flight", told.in_flight, now.in_flight),
            ("ssthresh", told.ssthresh, now.ssthresh),
        ] {
            // An infinite ssthresh is not told.
            if value != before && value != u64::MAX {
                data.number(key, value);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(state: &mut State, row: Row) -> String {
        let mut text = Text::default();
        state.after(&row, false, Version::Current, &mut text);
        let mut out = String::new();
        text.take(|bytes| {
            out = String::from_utf8_lossy(bytes).into_owned();
            Ok(())
        })
        .expect("nothing is written");
        out
    }

    /// Only what has changed, eight times in a round trip of 80 ms, and at once where ssthresh changes.
    #[test]
    fn numbers_are_told_when_they_are_due() {
        let mut state = State::default();
        state.round_trip(81_000_000);
        let row =
            Row { cwnd: 14_480, ssthresh: u64::MAX, srtt_ns: 80_000_000, in_flight: 1448, ..Row::default() };
        let first = told(&mut state, row);
        assert!(first.contains(
            "\"min_rtt\":81,\"smoothed_rtt\":80,\"latest_rtt\":81,\"congestion_window\":14480,\"bytes_in_flight\":1448}"
        ));
        assert!(first.contains("\"new\":\"slow_start\""));
        assert_eq!(told(&mut state, Row { t_ns: 9_000_000, in_flight: 2896, ..row }), "", "not yet");
        let due = told(&mut state, Row { t_ns: 10_000_000, in_flight: 2896, ..row });
        assert!(due.ends_with("\"data\":{\"bytes_in_flight\":2896}}\n"), "{due}");
        let lost = told(&mut state, Row { t_ns: 10_000_001, ssthresh: 7240, state: RECOVERY, ..row });
        assert!(lost.contains("\"ssthresh\":7240"), "{lost}");
        assert!(
            lost.contains("{\"old\":\"slow_start\",\"new\":\"recovery\",\"trigger\":\"loss\"}"),
            "{lost}"
        );
    }

    /// The modes of a controller stand in place of those of RFC 9002.
    #[test]
    fn own_modes() {
        let modes = [(0, "startup".to_owned()), (5, "drain".to_owned())];
        let (mut state, mut text) = (State::default(), Text::default());
        state.modes(4, &modes, Version::V03, &mut text);
        state.after(&Row { cwnd: 1, ..Row::default() }, true, Version::V03, &mut text);
        state.modes(5, &modes, Version::V03, &mut text);
        text.take(|bytes| {
            let lines = String::from_utf8_lossy(bytes).into_owned();
            assert_eq!(lines.matches("recovery:congestion_state_updated").count(), 2, "{lines}");
            assert!(lines.contains("{\"old\":\"startup\",\"new\":\"drain\"}"));
            Ok(())
        })
        .expect("nothing is written");
    }
}
