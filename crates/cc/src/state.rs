//! The states of congestion control, as Linux numbers them (net/ipv4/tcp.h, `tcp_ca_state`; spec/congestion-control
//! section 1.1).

/// The sender's view of the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CaState {
    /// Nothing is wrong.
    #[default]
    Open = 0,
    /// Data arrived out of order, or were reported twice; no loss is declared.
    Disorder = 1,
    /// An echo of congestion is being answered.
    Cwr = 2,
    /// A loss is being answered and repaired.
    Recovery = 3,
    /// The retransmission timer expired.
    Loss = 4,
}

impl CaState {
    /// The name in results.
    pub const fn name(self) -> &'static str {
        match self {
            CaState::Open => "Open",
            CaState::Disorder => "Disorder",
            CaState::Cwr => "CWR",
            CaState::Recovery => "Recovery",
            CaState::Loss => "Loss",
        }
    }

    /// cwnd is on its way to a new ssthresh.
    #[inline]
    pub const fn is_reducing(self) -> bool {
        matches!(self, CaState::Cwr | CaState::Recovery)
    }
}
