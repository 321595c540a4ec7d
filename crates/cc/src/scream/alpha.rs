//! The averaged share of marked packets (section "Receiving ECN-CE for L4S").

use windtunnel_units::{Duration, Time};

/// The gain while the share rises: a burst of marks is answered within a few updates.
const L4S_AVG_G_UP: f64 = 1.0 / 8.0;
/// The gain while it falls.
const L4S_AVG_G_DOWN: f64 = 1.0 / 128.0;
/// The average is updated at least this often.
const LONGEST_UPDATE: Duration = Duration::from_millis(10);

/// The average, and the packets since its last update.
#[derive(Debug, Default)]
pub(super) struct Alpha {
    average: f64,
    delivered: u64,
    marked: u64,
    updated: Option<Time>,
}

impl Alpha {
    pub(super) const fn get(&self) -> f64 {
        self.average
    }

    /// Packets arrived, some of them marked.
    pub(super) fn on_delivery(&mut self, delivered: u32, marked: u32, now: Time, srtt: Duration) {
        self.delivered += u64::from(delivered);
        self.marked += u64::from(marked);
        let due = self.updated.is_none_or(|last| now.since(last) >= LONGEST_UPDATE.min(srtt));
        if due && self.delivered > 0 {
            self.update();
            self.updated = Some(now);
        }
    }

    fn update(&mut self) {
        let share = (self.marked as f64 / self.delivered as f64).min(1.0);
        self.average = if share >= self.average {
            self.average + L4S_AVG_G_UP * (share - self.average)
        } else {
            self.average * (1.0 - L4S_AVG_G_DOWN)
        };
        self.delivered = 0;
        self.marked = 0;
    }
}
