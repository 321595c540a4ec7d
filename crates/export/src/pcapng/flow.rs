//! A flow's names on the wire: addresses, ports, and where its numbers start (spec/queues-and-signalling section 18.1).
//!
//! IPv4 addresses are those for documentation (RFC 5737), with 254 hosts in either network. Only runs with more flows
//! use more than one pair of ports: soon above 5201 there are ports whose protocols an analyser would try to decode.
//! The connections that arrive during a run are those of many clients to one server: the sender's host and port are the
//! connection's own, the receiver's are those of its flow. The numbers of both ends start where no other connection's do.
//! IPv6 addresses are in `2001:db8::/32` (RFC 3849), Ethernet ones are locally administered.

use super::Row;

/// Hosts in an IPv4 network for documentation.
const HOSTS: u32 = 254;

/// The properties that all packets of a flow share.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// The MSS option on its SYN: the largest IP packet minus 40 bytes, with any options (RFC 6691).
    pub mss: u16,
    /// Its packets have the timestamps option (RFC 7323).
    pub timestamps: bool,
    /// It offers SACK (RFC 2018).
    pub sack: bool,
    /// It offers "Multiplicative Decrease Scaling". Its packets say whether they carry the option, and with which tau.
    pub mds: Option<MdsOffer>,
}

/// The capabilities in the handshake's experimental option (spec/queues-and-signalling section 17.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MdsOffer {
    /// The receiver sends an ACK at each change between SCE and no SCE.
    pub state_change_acks: bool,
    /// The receiver acknowledges each segment at once.
    pub immediate_acks: bool,
}

/// The source and destination of a packet, and where the numbers of the two ends start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub(super) source: Host,
    pub(super) destination: Host,
}

impl Ends {
    pub(super) fn of(row: &Row) -> Ends {
        let connection = row.connection;
        let sender = Host { index: connection, connection, side: Side::Sender };
        let receiver = Host { index: row.flow, connection, side: Side::Receiver };
        if row.is_ack_direction() {
            Ends { source: receiver, destination: sender }
        } else {
            Ends { source: sender, destination: receiver }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Sender,
    Receiver,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host {
    /// Among the hosts of its side: its addresses and its port follow from it.
    index: u32,
    connection: u32,
    side: Side,
}

impl Host {
    /// Hosts count from 1.
    fn number(self) -> u32 {
        self.index.wrapping_add(1)
    }

    pub(super) fn ipv4(self) -> [u8; 4] {
        let host = (self.index % HOSTS) as u8 + 1;
        match self.side {
            Side::Sender => [192, 0, 2, host],
            Side::Receiver => [198, 51, 100, host],
        }
    }

    pub(super) fn ipv6(self) -> [u8; 16] {
        let net = match self.side {
            Side::Sender => 1,
            Side::Receiver => 2,
        };
        let n = self.number().to_be_bytes();
        [0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, net, 0, 0, 0, 0, n[0], n[1], n[2], n[3]]
    }

    pub(super) fn ethernet(self) -> [u8; 6] {
        let side = match self.side {
            Side::Sender => 1,
            Side::Receiver => 2,
        };
        let n = self.number().to_be_bytes();
        [0x02, side, n[0], n[1], n[2], n[3]]
    }

    pub(super) fn port(self) -> u16 {
        const SENDERS: u16 = 40_000;
        const RECEIVERS: u16 = 5201;
        let n = (self.index / HOSTS % u32::from(u16::MAX - SENDERS)) as u16;
        match self.side {
            Side::Sender => SENDERS + n,
            Side::Receiver => RECEIVERS + n,
        }
    }

    /// The initial sequence number.
    pub(super) fn isn(self) -> u32 {
        self.origin()
    }

    /// The timestamp clock at the start of the run, in milliseconds: never 0, which would mean "none" in an echo.
    pub(super) fn clock(self) -> u32 {
        self.origin()
    }

    /// The sender's start at a thousand per connection, the receiver's half a million higher.
    fn origin(self) -> u32 {
        let data = self.connection.wrapping_add(1).wrapping_mul(1000);
        match self.side {
            Side::Sender => data,
            Side::Receiver => data.wrapping_add(500_000),
        }
    }
}
