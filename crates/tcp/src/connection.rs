//! The states of a connection (RFC 9293 section 3.3.2).

/// The state of one end of a connection, in the order in which a connection passes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConnectionState {
    /// There is no connection (any more).
    #[default]
    Closed,
    /// Waits for a SYN.
    Listen,
    /// Its SYN is sent.
    SynSent,
    /// It has answered a SYN.
    SynReceived,
    /// Data can flow.
    Established,
    /// Its application has closed; its FIN is not acknowledged, and may not have been sent yet.
    FinWait1,
    /// Its FIN is acknowledged.
    FinWait2,
    /// Both ends have closed, and its FIN is not acknowledged.
    Closing,
    /// Both FINs are acknowledged; the other end may not know that yet.
    TimeWait,
    /// The other end has closed, and it has answered with its own FIN.
    LastAck,
}

impl ConnectionState {
    /// The name in RFC 9293.
    pub const fn name(self) -> &'static str {
        match self {
            ConnectionState::Closed => "CLOSED",
            ConnectionState::Listen => "LISTEN",
            ConnectionState::SynSent => "SYN-SENT",
            ConnectionState::SynReceived => "SYN-RECEIVED",
            ConnectionState::Established => "ESTABLISHED",
            ConnectionState::FinWait1 => "FIN-WAIT-1",
            ConnectionState::FinWait2 => "FIN-WAIT-2",
            ConnectionState::Closing => "CLOSING",
            ConnectionState::TimeWait => "TIME-WAIT",
            ConnectionState::LastAck => "LAST-ACK",
        }
    }
}
