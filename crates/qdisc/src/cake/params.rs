//! CAKE's parameters, and what follows from them at a rate.
//!
//! Names are tc's (tc-cake(8)). Source of what is derived: Linux `sch_cake`; spec/queues-and-signalling section 10.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange, Rate};

use super::Cake;
use super::flow_queues::WAYS;
use super::framing::Cells;
use super::isolation::FlowMode;
use super::tins::Diffserv;
use crate::aqm::cobalt_law::CobaltLaw;
use crate::aqm::cobalt_schedule::Form;
use crate::discipline::QueueDiscipline;
use crate::ecn::EcnMode;
use crate::flows::FlowHash;
use crate::params::{AqmParams, QueueInit, QueueParams, QueuePlace};
use crate::spec::Parts;

/// Whether superfluous ACKs are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckFilter {
    /// No.
    #[default]
    Off,
    /// One, if there are two.
    On,
    /// Also a single one right before the arriving packet.
    Aggressive,
}

/// CAKE's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Linux sch_cake; tc-cake(8)",
    "x-title" = "CAKE",
    "x-traits" = ["marks", "fair", "target"]
))]
#[expect(clippy::struct_excessive_bools, reason = "tc's switches, independent of each other")]
pub struct CakeParams {
    /// The rate of the shaper; by default there is none.
    pub bandwidth: Option<Rate>,
    /// How traffic is divided into tins by its DSCP.
    pub diffserv: Diffserv,
    /// What is kept apart.
    pub flow_mode: FlowMode,
    /// How flows are told apart: for certain, or by a hash into sets of eight queues, as on a real CAKE.
    pub hash: FlowHash,
    /// Queues that a hash has to choose from, in each tin: a multiple of 8. Linux has 1024.
    pub flows: u32,
    /// COBALT's interval; about the longest usual round trip.
    pub rtt: Duration,
    /// COBALT's target. It is raised for tins with a low rate, and so is the interval.
    pub target: Duration,
    /// How much memory all packets may take: their lengths, and 256 bytes for each. By default four intervals at
    /// `bandwidth` but at least 4 MiB, and at most 10240 packets of full size.
    pub memlimit: Option<Bytes>,
    /// The bytes of headers that each packet has on the link behind the shaper.
    pub overhead: Bytes,
    /// The minimum length with these headers.
    pub mpu: Bytes,
    /// How the link behind the shaper cuts packets.
    pub atm: Cells,
    /// The longest packet on the link in front of the shaper, with its headers: COBALT's target allows for its time.
    pub mtu: Bytes,
    /// Whether the shaper is behind the bottleneck: packets that it drops have used the bandwidth, too.
    pub ingress: bool,
    /// Whether the DSCP is cleared once the tin is known. The MDS identifier is a DSCP.
    pub wash: bool,
    /// Whether ACKs that later ones replace are left out. Never with loss-free endpoints.
    pub ack_filter: AckFilter,
    /// Whether SCE is marked on a ramp that ends at the target.
    pub sce: bool,
    /// Whether SCE is marked on a ramp around the target, and at the target one packet in this many. More than 1024 is
    /// `sce_single`.
    pub sce_thresh: Option<u32>,
    /// Whether SCE is marked on a ramp that starts at the target.
    pub sce_single: bool,
    /// The link's headers below IP, in front of the shaper.
    #[serde(skip)]
    pub link_headers: Bytes,
}

impl Default for CakeParams {
    fn default() -> CakeParams {
        CakeParams {
            bandwidth: None,
            diffserv: Diffserv::default(),
            flow_mode: FlowMode::default(),
            hash: FlowHash::default(),
            flows: 1_024,
            rtt: Duration::from_millis(100),
            target: Duration::from_millis(5),
            memlimit: None,
            overhead: Bytes::ZERO,
            mpu: Bytes::ZERO,
            atm: Cells::default(),
            mtu: Bytes::new(1_500),
            ingress: false,
            wash: false,
            ack_filter: AckFilter::default(),
            sce: false,
            sce_thresh: None,
            sce_single: false,
            link_headers: Bytes::ZERO,
        }
    }
}

impl CakeParams {
    /// Linux's CAKE keeps no lower rate: 64 bytes in a second.
    const LEAST_BANDWIDTH: Rate = Rate::from_bits_per_sec(512);

    /// No path has a longer round trip.
    const LONGEST_RTT: Duration = Duration::from_secs(1_000);

    /// tc's for `overhead` and `mpu`.
    const MOST_FRAMING: Bytes = Bytes::new(256);

    /// Larger thresholds are `sce_single`.
    const MOST_THRESH: u32 = 1_024;

    /// What a flow may send in one turn at this rate: less than a packet where that would take long (`cake_set_rate`).
    ///
    /// Linux has 1514 bytes at most, whatever the MTU and `overhead` are: a full packet with Ethernet's header, which Linux
    /// counts where there is no `overhead`. Where this link has fewer headers, the quantum is shorter by the difference,
    /// so that it remains a full packet. With `overhead` both count that in its place.
    pub(super) fn quantum(&self, rate: Option<Rate>) -> Bytes {
        const MOST: Bytes = Bytes::new(1_514);
        const ETHERNET: Bytes = Bytes::new(14);
        let most = if self.overhead == Bytes::ZERO { MOST - ETHERNET + self.link_headers } else { MOST };
        match rate {
            None => most,
            Some(rate) => Bytes::new(rate.bits_per_sec() / 8 / 4_096).min(most).max(Bytes::new(300)),
        }
    }

    /// COBALT at this rate: a target of less than one and a half packets' time would never be met.
    pub(super) fn law(&self, rate: Option<Rate>) -> CobaltLaw {
        let mtu_time = rate.map_or(Duration::ZERO, |rate| rate.transfer_time(self.mtu));
        let target = self.target.max(mtu_time * 3 / 2);
        let interval = (self.rtt + target.saturating_sub(self.target)).max(target * 2);
        CobaltLaw { form: Form::Cake, interval, target, mtu_time, overflow: None }
    }

    /// How much memory packets may take.
    pub(super) fn memory_limit(&self) -> Bytes {
        const PACKETS: u64 = 10_240;
        const LEAST: Bytes = Bytes::new(4 << 20);
        self.memlimit.unwrap_or_else(|| {
            let most = self.mtu * PACKETS;
            self.bandwidth.map_or(most, |rate| (rate * (self.rtt * 4)).max(LEAST).min(most))
        })
    }

    /// The probability of SCE at the target, if there is a ramp.
    pub(super) fn knee(&self) -> Option<f64> {
        match self.sce_thresh {
            Some(thresh) if thresh <= CakeParams::MOST_THRESH => Some(1.0 / f64::from(thresh)),
            Some(_) => Some(0.0),
            None if self.sce_single => Some(0.0),
            None => self.sce.then_some(1.0),
        }
    }

    fn check_sce(&self) -> Result<(), OutOfRange> {
        const ONE: &str = "left out with `sce` or `sce_single`: there is one ramp";
        match self.sce_thresh {
            Some(0) => Err(OutOfRange::new("sce_thresh", 0, "at least 1")),
            Some(thresh) if self.sce || self.sce_single => Err(OutOfRange::new("sce_thresh", thresh, ONE)),
            None if self.sce && self.sce_single => {
                Err(OutOfRange::new("sce_single", true, "left out with `sce`: there is one ramp"))
            }
            _ => Ok(()),
        }
    }

    fn check_framing(&self) -> Result<(), OutOfRange> {
        for (key, value) in [("overhead", self.overhead), ("mpu", self.mpu)] {
            if value > CakeParams::MOST_FRAMING {
                return Err(OutOfRange::new(key, value, "at most 256 B"));
            }
        }
        if self.mtu < Bytes::new(300) || self.mtu > Bytes::new(65_535) {
            return Err(OutOfRange::new("mtu", self.mtu, "from 300 B to 65535 B"));
        }
        Ok(())
    }
}

impl Params for CakeParams {
    const NAME: &'static str = "cake";
    const SUMMARY: &'static str = "Common Applications Kept Enhanced: a shaper, tins by DSCP, fair queueing of hosts and flows, COBALT for each flow";

    fn check(&self) -> Result<(), OutOfRange> {
        if let Some(rate) = self.bandwidth.filter(|rate| *rate < CakeParams::LEAST_BANDWIDTH) {
            return Err(OutOfRange::new("bandwidth", rate, "at least 512 bit/s"));
        }
        let ways = WAYS as u32;
        if !(ways..=65_536).contains(&self.flows) || !self.flows.is_multiple_of(ways) {
            return Err(OutOfRange::new("flows", self.flows, "a multiple of 8 from 8 to 65536"));
        }
        if self.target.is_zero() || self.target >= self.rtt {
            return Err(OutOfRange::new("target", self.target, "more than 0 s and less than rtt"));
        }
        if self.rtt > CakeParams::LONGEST_RTT {
            return Err(OutOfRange::new("rtt", self.rtt, "at most 1000 s"));
        }
        if self.memlimit == Some(Bytes::ZERO) {
            return Err(OutOfRange::new("memlimit", Bytes::ZERO, "more than 0 B"));
        }
        self.check_framing()?;
        self.check_sce()
    }
}

impl QueueParams for CakeParams {
    /// Linux's; its switches for SCE are of another CAKE, which shares ECT(1) with MDS.
    fn default_ecn_mode(&self, _aqms: &[Option<Arc<dyn AqmParams>>]) -> EcnMode {
        if self.sce || self.sce_single || self.sce_thresh.is_some() { EcnMode::Mds } else { EcnMode::Rfc3168 }
    }

    fn placed(&self, place: &QueuePlace, is_given: &dyn Fn(&str) -> bool) -> Option<Arc<dyn QueueParams>> {
        let mut placed = self.clone();
        placed.link_headers = place.overhead;
        if !is_given("mtu") {
            placed.mtu += place.overhead;
        }
        Some(Arc::new(placed))
    }

    fn build(&self, _parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        Box::new(Cake::new(self, init))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Behind a link with headers of this length.
    fn behind(headers: u64, mut params: CakeParams) -> CakeParams {
        params.link_headers = Bytes::new(headers);
        params.mtu += params.link_headers;
        params
    }

    /// Linux's `cake_set_rate`: at most 1514 bytes, whatever `overhead` and the MTU are, 1/4096 of the bytes per second, and
    /// at least 300. Packets on Ethernet have 1514 bytes, unless `overhead` takes the header's place. Where a link has no
    /// headers, a full packet of 1500 bytes is a quantum, as one of 1514 is on Ethernet.
    #[test]
    fn quanta() {
        let plain = CakeParams::default;
        let of_18 = || CakeParams { overhead: Bytes::new(18), ..plain() };
        let jumbo = || CakeParams { mtu: Bytes::new(9_000), ..plain() };
        for (params, most) in [
            (behind(14, plain()), 1_514),
            (behind(14, jumbo()), 1_514),
            (behind(14, of_18()), 1_514),
            (of_18(), 1_514),
            (plain(), 1_500),
            (jumbo(), 1_500),
        ] {
            let at =
                |kbps: Option<u64>| params.quantum(kbps.map(|n| Rate::from_bits_per_sec(n * 1_000))).get();
            // 1 Gbit/s, 32.768 Mbit/s and 1 Mbit/s: 30517, 1000 and 30 bytes by the rate.
            assert_eq!([None, Some(1_000_000), Some(32_768), Some(1_000)].map(at), [most, most, 1_000, 300]);
        }
    }

    /// The spec's test points, with the 14 bytes of Ethernet's header in Linux: at 50 Mbit/s a quantum of 1514 bytes and
    /// a target of 5 ms; at 1 Mbit/s a quantum of 300 bytes, a target of 18.17 ms and an interval of 113.2 ms. `overhead`
    /// changes none of them.
    #[test]
    fn derived() {
        let params = behind(14, CakeParams { overhead: Bytes::new(40), ..CakeParams::default() });
        let at = |rate| {
            let CobaltLaw { interval, target, .. } = params.law(rate);
            (params.quantum(rate).get(), target.as_millis_f64(), interval.as_millis_f64())
        };
        assert_eq!(at(None), (1_514, 5.0, 100.0));
        assert_eq!(at(Some(Rate::from_mbps(50))), (1_514, 5.0, 100.0));
        let (quantum, target, interval) = at(Some(Rate::from_mbps(1)));
        assert!((target - 18.168).abs() < 1e-9 && (interval - 113.168).abs() < 1e-9);
        assert_eq!(quantum, 300);
        // At 100 kbit/s the target is 181.68 ms, and the interval twice that, above 100 + 181.68 - 5.
        assert!((at(Some(Rate::from_bits_per_sec(100_000))).2 - 363.36).abs() < 1e-9);
    }

    /// Four intervals at the bandwidth, at least 4 MiB, at most 10240 packets.
    #[test]
    fn memory() {
        let of = |mbps: Option<u64>| {
            let bandwidth = mbps.map(Rate::from_mbps);
            CakeParams { bandwidth, ..CakeParams::default() }.memory_limit().get()
        };
        assert_eq!([of(Some(10)), of(Some(100)), of(Some(200))], [4 << 20, 5_000_000, 10_000_000]);
        assert_eq!([of(Some(1_000)), of(None)], [15_360_000; 2]);
        let set = CakeParams { memlimit: Some(Bytes::new(9)), ..CakeParams::default() };
        assert_eq!(set.memory_limit().get(), 9);
    }

    /// tc's three ramps (spec/queues-and-signalling section 15.2): `sce` has its knee at 1, `sce-thresh N` at 1/N,
    /// and `sce-single` at 0, which an N above 1024 is, too.
    #[test]
    fn knees() {
        let plain = CakeParams::default;
        for (params, knee) in [
            (plain(), None),
            (CakeParams { sce: true, ..plain() }, Some(1.0)),
            (CakeParams { sce_thresh: Some(1), ..plain() }, Some(1.0)),
            (CakeParams { sce_thresh: Some(20), ..plain() }, Some(0.05)),
            (CakeParams { sce_thresh: Some(1_024), ..plain() }, Some(1.0 / 1_024.0)),
            (CakeParams { sce_thresh: Some(1_025), ..plain() }, Some(0.0)),
            (CakeParams { sce_single: true, ..plain() }, Some(0.0)),
        ] {
            assert_eq!(params.knee(), knee, "{params:?}");
        }
    }

    /// The ends of the ranges that are named in refusals are within them.
    #[test]
    fn ends_of_the_ranges() {
        let plain = CakeParams::default;
        for params in [
            CakeParams { bandwidth: Some(Rate::from_bits_per_sec(512)), ..plain() },
            CakeParams { flows: 8, ..plain() },
            CakeParams { flows: 65_536, ..plain() },
            CakeParams { rtt: Duration::from_secs(1_000), ..plain() },
            CakeParams { overhead: Bytes::new(256), mpu: Bytes::new(256), ..plain() },
            CakeParams { mtu: Bytes::new(300), ..plain() },
            CakeParams { mtu: Bytes::new(65_535), ..plain() },
        ] {
            assert_eq!(params.check(), Ok(()), "{params:?}");
        }
        let longer = CakeParams { mtu: Bytes::new(65_537), ..plain() };
        assert!(longer.check().is_err(), "no IP packet is longer");
    }
}
