//! The state of queues, as the table `aqm`: a row for each band.
//!
//! A fair queue has a band for each flow that it has met, and most of them are idle: such a band has rows only where
//! its numbers have changed.

use windtunnel_qdisc::QueueDiscipline;
use windtunnel_units::Time;

use super::budget::Budget;
use super::columns::Table;
use super::state::StateRows;

/// The rows of all queues.
#[derive(Debug)]
pub(crate) struct QueueStates {
    rows: StateRows,
    /// The subjects of each queue's bands.
    bands: Vec<Vec<usize>>,
}

impl QueueStates {
    pub(crate) fn new(queues: usize, budget: &Budget) -> QueueStates {
        let rows = StateRows::new("aqm", &["queue", "band"], budget);
        QueueStates { rows, bands: vec![Vec::new(); queues] }
    }

    /// Adds the rows of the queue `index`: those of bands that have changed and, with `all`, also the row of a queue
    /// with a single unchanged band.
    pub(crate) fn push(&mut self, now: Time, index: usize, queue: &dyn QueueDiscipline, all: bool) {
        let bands = queue.bands();
        let subjects = &mut self.bands[index];
        for band in subjects.len()..bands {
            subjects.push(self.rows.add(&[index as u32, band as u32], &|out| queue.probe_band(band, out)));
        }
        for (band, subject) in subjects.iter().enumerate() {
            if !self.rows.has(*subject) {
                continue;
            }
            let probe = |out: &mut dyn FnMut(&'static str, f64)| queue.probe_band(band, out);
            if all && bands == 1 {
                self.rows.push(now, *subject, &probe);
            } else {
                self.rows.push_changed(now, *subject, &probe);
            }
        }
    }

    /// The table; none if no queue has state.
    pub(crate) fn into_table(self) -> Option<Table> {
        self.rows.into_table()
    }
}
