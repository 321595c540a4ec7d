//! The state of queues: the table `aqm`, a row for each band, and the table `qdisc`, a row for each discipline that has
//! bands, with what it knows in addition to them.
//!
//! A fair queue has a band for each flow that it has met, and most of them are idle: such a band has rows only where
//! its numbers have changed.

use windtunnel_qdisc::QueueDiscipline;
use windtunnel_units::Time;

use super::budget::Budget;
use super::columns::Table;
use super::outlet::Outlet;
use super::state::{Probe, StateRows};

/// The rows of all queues.
#[derive(Debug)]
pub(crate) struct QueueStates {
    rows: StateRows,
    /// The subjects of each queue's bands.
    bands: Vec<Vec<usize>>,
    disciplines: StateRows,
    /// The subject of each discipline that has bands.
    banded: Vec<Option<usize>>,
}

impl QueueStates {
    /// A queue that does not have exactly one band when it is new has others than itself.
    pub(crate) fn new<'q>(
        queues: impl Iterator<Item = &'q dyn QueueDiscipline>,
        budget: &Budget,
    ) -> QueueStates {
        let rows = StateRows::new("aqm", &["queue", "band"], budget).comparing();
        let mut disciplines = StateRows::new("qdisc", &["queue"], budget);
        let banded: Vec<Option<usize>> = queues
            .enumerate()
            .map(|(index, queue)| {
                (queue.bands() != 1).then(|| disciplines.add(&[index as u32], &|out| queue.probe(out)))
            })
            .collect();
        QueueStates { rows, bands: vec![Vec::new(); banded.len()], disciplines, banded }
    }

    /// Adds the rows of the queue `index`: those of bands that have changed and, with `all`, also the row of a queue
    /// with a single unchanged band, and that of a discipline.
    pub(crate) fn push(&mut self, now: Time, index: usize, queue: &dyn QueueDiscipline, all: bool) {
        let bands = queue.bands();
        let subjects = &mut self.bands[index];
        for band in subjects.len()..bands {
            subjects.push(self.rows.add(&[index as u32, band as u32], &|out| queue.probe_band(band, out)));
        }
        for (band, subject) in subjects.iter().enumerate() {
            push(&mut self.rows, now, *subject, all && bands == 1, &|out| queue.probe_band(band, out));
        }
        if let Some(subject) = self.banded[index] {
            push(&mut self.disciplines, now, subject, all, &|out| queue.probe(out));
        }
    }

    /// An empty record of the same queues, for a part of the run.
    pub(super) fn twin(&self, budget: &Budget) -> QueueStates {
        QueueStates {
            rows: self.rows.twin(budget),
            bands: vec![Vec::new(); self.bands.len()],
            disciplines: self.disciplines.twin(budget),
            banded: self.banded.clone(),
        }
    }

    /// Takes over the rows of the queue `index` from the record of a part, those of bands and of its discipline from these
    /// on.
    pub(super) fn copy_rows(
        &mut self,
        from: &QueueStates,
        [band, discipline]: [usize; 2],
        index: usize,
    ) -> [usize; 2] {
        let (subjects, theirs) = (&mut self.bands[index], &from.bands[index]);
        for like in &theirs[subjects.len()..] {
            subjects.push(self.rows.add_like(&from.rows, *like));
        }
        // Bands are recorded in their order.
        let mut bands = theirs.iter().zip(subjects);
        let same = |subject| bands.find(|(theirs, _)| **theirs == subject).map(|(_, own)| *own);
        let band = self.rows.copy_rows(&from.rows, band, same);
        let own = self.banded[index];
        let same = |subject| own.filter(|own| *own == subject);
        [band, self.disciplines.copy_rows(&from.disciplines, discipline, same)]
    }

    /// No row is left.
    pub(super) fn clear(&mut self) {
        self.rows.clear();
        self.disciplines.clear();
    }

    /// The number of rows.
    pub(super) fn count(&self) -> usize {
        self.rows.count() + self.disciplines.count()
    }

    pub(super) fn hand_over(&mut self, outlet: &mut Outlet) {
        self.rows.hand_over(outlet);
        self.disciplines.hand_over(outlet);
    }

    /// The tables; none if no queue has state.
    pub(crate) fn into_tables(self) -> impl Iterator<Item = Table> {
        [self.rows.into_table(), self.disciplines.into_table()].into_iter().flatten()
    }
}

/// Adds a row of `subject` if it has numbers, an unchanged one only if `all` are wanted.
fn push(rows: &mut StateRows, now: Time, subject: usize, all: bool, probe: &dyn Fn(Probe<'_>)) {
    if !rows.has(subject) {
        return;
    }
    if all {
        rows.push(now, subject, probe);
    } else {
        rows.push_changed(now, subject, probe);
    }
}
