//! The states of C4, and what each sends.

/// A state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Initial {
        /// Eras in a row in which the nominal rate did not grow.
        flat: u32,
    },
    Resuming {
        eras: u32,
    },
    Recovery {
        /// The state before.
        after: Before,
        drains: bool,
        /// A signal led here, or came since.
        congested: bool,
    },
    Cruising {
        eras: u32,
    },
    Probing {
        /// The path is known to mark CE.
        gentle: bool,
    },
    Pushing {
        eras: u32,
    },
}

/// What Recovery follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// Initial or Resuming, which have no rate to compare with.
    Start,
    Cruising,
    Probing,
    Pushing,
}

impl State {
    pub(super) const START: State = State::Initial { flat: 0 };

    /// The rate sent, relative to the nominal one. Resuming has a rate of its own; its packets are sent faster than the nominal rate.
    pub(super) const fn alpha(self) -> f64 {
        match self {
            State::Initial { .. } | State::Resuming { .. } => 2.0,
            State::Recovery { drains: false, .. } => 15.0 / 16.0,
            State::Recovery { drains: true, .. } => 7.0 / 8.0,
            State::Cruising { .. } => 1.0,
            State::Probing { gentle: false } => 17.0 / 16.0,
            State::Probing { gentle: true } => 33.0 / 32.0,
            State::Pushing { .. } => 5.0 / 4.0,
        }
    }

    /// Its number in results, in the order of this list.
    pub(super) const fn number(self) -> f64 {
        match self {
            State::Initial { .. } => 0.0,
            State::Resuming { .. } => 1.0,
            State::Recovery { .. } => 2.0,
            State::Cruising { .. } => 3.0,
            State::Probing { .. } => 4.0,
            State::Pushing { .. } => 5.0,
        }
    }

    pub(super) const fn is_initial(self) -> bool {
        matches!(self, State::Initial { .. })
    }

    pub(super) const fn before(self) -> Before {
        match self {
            State::Initial { .. } | State::Resuming { .. } => Before::Start,
            State::Recovery { after, .. } => after,
            State::Cruising { .. } => Before::Cruising,
            State::Probing { .. } => Before::Probing,
            State::Pushing { .. } => Before::Pushing,
        }
    }
}
