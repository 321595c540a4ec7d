//! A queue: small packets first. ACKs, DNS and voice pass the data of transfers, as in home routers on slow uplinks
//! (Linux `sch_prio` with a filter by length). The queue has two bands and one limit; the band of large packets takes
//! any AQM.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_qdisc::{
    Aqm, AqmSlot, Backlog, Band, Gate, NoAqm, Parts, QueueCx, QueueDiscipline, QueueInit, QueueParams,
    QueueView, Room,
};
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Packet;

/// Parameters of the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Linux sch_prio"))]
pub struct SmallFirstParams {
    /// Packets up to this length go first.
    pub small: Bytes,
}

impl Default for SmallFirstParams {
    fn default() -> SmallFirstParams {
        SmallFirstParams { small: Bytes::new(128) }
    }
}

impl Params for SmallFirstParams {
    const NAME: &'static str = "small-first";
    const SUMMARY: &'static str = "Small packets leave before large ones, which any AQM manages";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.small == Bytes::ZERO {
            return Err(OutOfRange::new("small", self.small, "1 byte or more"));
        }
        Ok(())
    }
}

impl QueueParams for SmallFirstParams {
    fn slots(&self) -> &'static [AqmSlot] {
        &[AqmSlot { key: "aqm", summary: "What manages the large packets; if left out, the limit alone." }]
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let aqm: Box<dyn Aqm> = match parts.aqm() {
            Some(aqm) => aqm.build(&init.aqm()),
            None => Box::new(NoAqm),
        };
        Box::new(SmallFirst {
            small: self.small,
            gate: Gate::new(init.ecn),
            room: Room::new(init.limit),
            bands: [Band::new(), Band::new()],
            aqms: [Box::new(NoAqm), aqm],
            chosen: None,
        })
    }
}

/// The band of small packets, and that of all others.
const NAMES: [&str; 2] = ["small", "large"];

#[derive(Debug)]
struct SmallFirst {
    small: Bytes,
    gate: Gate,
    room: Room,
    bands: [Band; 2],
    aqms: [Box<dyn Aqm>; 2],
    /// The band whose head leaves next; later arrivals do not change it.
    chosen: Option<usize>,
}

impl SmallFirst {
    fn view(&self, band: usize, cx: &QueueCx) -> QueueView {
        let Backlog { packets, bytes } = self.bands[band].backlog();
        QueueView {
            now: cx.now,
            packets,
            bytes,
            all_bytes: self.backlog().bytes,
            head_waiting: self.bands[band].head_waiting(cx.now),
            rate: cx.rate,
        }
    }

    /// Takes the chosen packet past its AQM.
    fn release(&mut self, replaces: bool, cx: &mut QueueCx) -> Option<Packet> {
        let band = self.chosen.take()?;
        cx.enter_band(band);
        let packet = self.bands[band].pop()?;
        let view = self.view(band, cx);
        self.gate.release(&mut self.aqms[band], packet, replaces, &view, cx)
    }
}

impl QueueDiscipline for SmallFirst {
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        let band = usize::from(packet.size() > self.small);
        cx.enter_band(band);
        let mut arrival = self.gate.arrive(packet, cx);
        if !self.room.fits(self.backlog(), arrival.packet().size(), cx.rate) {
            match self.gate.refuse(&mut self.aqms[band], arrival, cx) {
                Some(refused) => arrival = refused,
                None => return,
            }
        }
        let view = self.view(band, cx);
        if let Some(packet) = self.gate.admit(&mut self.aqms[band], arrival, &view, cx) {
            self.bands[band].push(packet);
        }
    }

    fn choose(&mut self, cx: &mut QueueCx) -> Option<Bytes> {
        let first = self.bands.iter().position(|band| band.head().is_some());
        self.chosen = self.chosen.or(first);
        match self.chosen {
            Some(band) => self.bands[band].head().map(Packet::size),
            None => {
                self.aqms.iter_mut().for_each(|aqm| aqm.on_empty(cx.now));
                None
            }
        }
    }

    fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        self.release(false, cx)
    }

    fn dequeue(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let mut replaces = false;
        while self.choose(cx).is_some() {
            let packet = self.release(replaces, cx);
            if packet.is_some() {
                return packet;
            }
            replaces = true;
        }
        None
    }

    fn backlog(&self) -> Backlog {
        let [small, large] = [&self.bands[0], &self.bands[1]].map(Band::backlog);
        Backlog { packets: small.packets + large.packets, bytes: small.bytes + large.bytes }
    }

    fn next_timer(&self) -> Option<Time> {
        self.aqms[1].next_timer()
    }

    fn on_timer(&mut self, cx: &mut QueueCx) {
        let view = self.view(1, cx);
        self.aqms[1].on_timer(&view);
    }

    fn bands(&self) -> usize {
        NAMES.len()
    }

    fn band_name(&self, band: usize) -> String {
        NAMES[band].to_owned()
    }

    fn band_backlog(&self, band: usize) -> Backlog {
        self.bands[band].backlog()
    }

    fn probe_band(&self, band: usize, out: &mut dyn FnMut(&'static str, f64)) {
        self.aqms[band].probe(out);
    }
}
