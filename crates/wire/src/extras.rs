//! What few packets carry, in memory of its own: options, tunnels, and what a medium or a recorder notes on a packet.
//!
//! An endpoint learns of a packet what its headers say, and no more. That a packet has this memory tells nothing: captures
//! give it to every packet. So the part itself is not public, only what is in it, and [`Packet::options`] has none where the
//! header has none.

use std::sync::Arc;

use windtunnel_units::Time;

use crate::{Encapsulation, Options, Packet};

/// Parts that most packets lack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    options: Options,
    /// The headers inside the outermost one, in a tunnel.
    pub(crate) tunnels: Encapsulation,
    corrupted: bool,
    id: u64,
    content: Option<Arc<[u8]>>,
    arrivals: Option<Arc<[Time]>>,
}

impl From<Options> for Extras {
    fn from(options: Options) -> Extras {
        Extras { options, ..Extras::default() }
    }
}

impl Extras {
    /// The options.
    #[inline]
    pub const fn options(&self) -> &Options {
        &self.options
    }

    /// The options, to remove one.
    pub(crate) const fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }
}

impl Packet {
    /// The options that are in its header; `None` without any.
    #[inline]
    pub fn options(&self) -> Option<&Options> {
        self.extras.as_deref().map(Extras::options).filter(|options| !options.is_empty())
    }

    /// Its sender writes the options.
    pub fn set_options(&mut self, options: Options) {
        self.extras.get_or_insert_default().options = options;
    }

    /// Its sender writes the options, in memory that it has kept ([`Packet::take_extras`]).
    #[inline]
    pub fn set_extras(&mut self, extras: Option<Box<Extras>>) {
        self.extras = extras;
    }

    /// Takes the memory of a packet that has arrived, for another one.
    #[inline]
    pub fn take_extras(&mut self) -> Option<Box<Extras>> {
        self.extras.take()
    }

    /// True if it has more than the fields of this type.
    #[inline]
    pub const fn has_extras(&self) -> bool {
        self.extras.is_some()
    }

    /// The medium damages it: its receiver's checksum discards it.
    pub fn corrupt(&mut self) {
        self.extras.get_or_insert_default().corrupted = true;
    }

    /// True if it was damaged on its way.
    #[inline]
    pub fn is_corrupted(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.corrupted)
    }

    /// The packet's identity, where packets are told apart; else 0. Where they are captured, it is the same at every point
    /// of the path, and where single events are kept, in one queue.
    pub fn id(&self) -> u64 {
        self.extras.as_ref().map_or(0, |extras| extras.id)
    }

    /// A recorder tells packets apart.
    pub fn set_id(&mut self, id: u64) {
        self.extras.get_or_insert_default().id = id;
    }

    /// In a report on other packets: when each of them arrived, in an order that its transport defines.
    pub fn arrivals(&self) -> Option<&[Time]> {
        self.extras.as_ref()?.arrivals.as_deref()
    }

    /// A receiver reports when packets arrived.
    pub fn set_arrivals(&mut self, arrivals: Arc<[Time]>) {
        self.extras.get_or_insert_default().arrivals = Some(arrivals);
    }

    /// What a transport from elsewhere put into the packet, headers and all; ours say what they have to say in fields.
    pub fn content(&self) -> Option<&Arc<[u8]>> {
        self.extras.as_ref()?.content.as_ref()
    }

    /// A transport from elsewhere puts this into the packet.
    pub fn set_content(&mut self, content: Arc<[u8]>) {
        self.extras.get_or_insert_default().content = Some(content);
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Bytes;

    use super::*;
    use crate::{FlowId, IpFields, TcpOption};

    fn packet() -> Packet {
        Packet::new(FlowId::new(0), Bytes::new(52), Bytes::ZERO)
    }

    /// Nothing but an option that is in the header shows as options: no number of a recorder, no damage, no content, no
    /// tunnel, and no option that a middlebox has removed.
    #[test]
    fn options_are_those_of_the_header() {
        let hidden: [fn(&mut Packet); 6] = [
            |packet| packet.set_id(7),
            Packet::corrupt,
            |packet| packet.set_content(Arc::from([1].as_slice())),
            |packet| packet.set_arrivals(Arc::from([Time::ZERO].as_slice())),
            |packet| assert!(packet.encapsulate(IpFields::default(), Bytes::new(20))),
            |packet| {
                packet.set_options(Options { sack_permitted: true, ..Options::default() });
                assert!(packet.strip_option(TcpOption::SackPermitted));
            },
        ];
        for hide in hidden {
            let mut packet = packet();
            hide(&mut packet);
            assert!(packet.has_extras());
            assert_eq!(packet.options(), None);
        }
        let mut syn = packet();
        syn.set_id(7);
        syn.set_options(Options { sack_permitted: true, ..Options::default() });
        assert!(syn.options().is_some_and(|options| options.sack_permitted));
        assert_eq!(syn.id(), 7);
    }
}
