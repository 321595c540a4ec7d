//! From a packet's flow to its band.
//!
//! A real queue knows a flow by the hash of its addresses, ports and protocol, so that two flows can share a band. A
//! simulated one can also know flows apart for certain, which is the default: collisions are then no part of what is
//! measured.
//!
//! Addresses and ports are those that flows have in captures: host `n mod 254` of two networks for documentation (RFC
//! 5737), and ports from 40000 and 5201 on for each 254 flows. The hash is Bob Jenkins' `lookup3` (2006, public domain)
//! over them and a salt, as Linux did; both directions of a flow hash alike, because no queue sees both.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_wire::FlowId;

/// How flows are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowHash {
    /// For certain: each flow has a band of its own.
    #[default]
    Perfect,
    /// By a hash of addresses, ports and protocol with a salt of the queue's own: flows can share a band.
    Jenkins,
}

/// How a hash becomes a bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Buckets {
    /// This many, each for an equal part of all hashes.
    Scaled(u32),
    /// The bits under a mask.
    Masked(u32),
}

/// Gives flows their bands: numbers from 0 on, in the order in which bands are first used.
#[derive(Clone, Debug)]
pub(crate) struct Classifier {
    hash: FlowHash,
    buckets: Buckets,
    salt: u32,
    /// By flow; `UNKNOWN` for one that has not been met.
    bands: Vec<u32>,
    /// By bucket, where flows are hashed.
    band_of_bucket: BTreeMap<u32, u32>,
    /// The flow or bucket of each band.
    keys: Vec<u32>,
}

impl Classifier {
    const UNKNOWN: u32 = u32::MAX;

    pub(crate) fn new(hash: FlowHash, buckets: Buckets, seed: u64) -> Classifier {
        let salt = (seed ^ (seed >> 32)) as u32;
        Classifier {
            hash,
            buckets,
            salt,
            bands: Vec::new(),
            band_of_bucket: BTreeMap::new(),
            keys: Vec::new(),
        }
    }

    /// Returns the band of a flow; for a new band, this is the number of bands so far.
    #[inline]
    pub(crate) fn band_of(&mut self, flow: FlowId) -> usize {
        match self.bands.get(flow.index()) {
            Some(&band) if band != Classifier::UNKNOWN => band as usize,
            _ => self.assign(flow),
        }
    }

    #[cold]
    fn assign(&mut self, flow: FlowId) -> usize {
        if self.bands.len() <= flow.index() {
            self.bands.resize(flow.index() + 1, Classifier::UNKNOWN);
        }
        let next = self.keys.len() as u32;
        let (key, band) = match self.hash {
            FlowHash::Perfect => (flow.get(), next),
            FlowHash::Jenkins => {
                let bucket = self.bucket(flow);
                (bucket, *self.band_of_bucket.entry(bucket).or_insert(next))
            }
        };
        if band == next {
            self.keys.push(key);
        }
        self.bands[flow.index()] = band;
        band as usize
    }

    fn bucket(&self, flow: FlowId) -> u32 {
        let hash = hash(flow, self.salt);
        match self.buckets {
            Buckets::Scaled(n) => ((u64::from(hash) * u64::from(n)) >> 32) as u32,
            Buckets::Masked(mask) => hash & mask,
        }
    }

    /// Changes the salt. Without a hash nothing changes.
    pub(crate) fn perturb(&mut self) {
        if self.hash == FlowHash::Jenkins {
            self.salt = jenkins([self.salt; 3], self.salt);
            self.bands.fill(Classifier::UNKNOWN);
        }
    }

    /// What a band is for.
    pub(crate) fn name(&self, band: usize) -> String {
        match self.hash {
            FlowHash::Perfect => format!("flow {}", self.keys[band]),
            FlowHash::Jenkins => format!("bucket {}", self.keys[band]),
        }
    }
}

/// The hash of a flow with a salt.
pub(crate) fn hash(flow: FlowId, salt: u32) -> u32 {
    jenkins(five_tuple(flow), salt)
}

/// The addresses of a flow's ends and its ports, as captures have them. Protocols are the same for all flows of a pair
/// of ports, and left out.
pub(crate) fn five_tuple(flow: FlowId) -> [u32; 3] {
    const HOSTS: u32 = 254;
    const PORTS: u32 = 65_535 - 40_000;
    let (host, port) = (flow.get() % HOSTS + 1, flow.get() / HOSTS % PORTS);
    [0xc000_0200 | host, 0xc633_6400 | host, (40_000 + port) << 16 | (5_201 + port)]
}

/// Three words and a salt, mixed as `lookup3` ends.
pub(crate) fn jenkins(words: [u32; 3], salt: u32) -> u32 {
    const START: u32 = 0xdead_beef + (3 << 2);
    let [mut a, mut b, mut c] = words.map(|word| word.wrapping_add(START).wrapping_add(salt));
    let mix = |to: &mut u32, from: u32, turn: u32| *to = (*to ^ from).wrapping_sub(from.rotate_left(turn));
    mix(&mut c, b, 14);
    mix(&mut a, c, 11);
    mix(&mut b, a, 25);
    mix(&mut c, b, 16);
    mix(&mut a, c, 4);
    mix(&mut b, a, 14);
    mix(&mut c, b, 24);
    c
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bands(hash: FlowHash, buckets: u32, seed: u64, flows: u32) -> Vec<usize> {
        let mut classifier = Classifier::new(hash, Buckets::Scaled(buckets), seed);
        (0..flows).map(|flow| classifier.band_of(FlowId::new(flow))).collect()
    }

    /// Ends of flows are in the networks for documentation (RFC 5737), 254 hosts in each; then ports count on.
    #[test]
    fn ends_of_flows() {
        let ends = |host: u8, port: u32| {
            let address = |net: [u8; 3]| u32::from_be_bytes([net[0], net[1], net[2], host]);
            [address([192, 0, 2]), address([198, 51, 100]), (40_000 + port) << 16 | (5_201 + port)]
        };
        assert_eq!(
            [0, 1, 253, 254, 509].map(|flow| five_tuple(FlowId::new(flow))),
            [ends(1, 0), ends(2, 0), ends(254, 0), ends(1, 1), ends(2, 2)]
        );
    }

    /// Certain knowledge gives each flow its own band; a hash with one bucket gives all the same; the same flow always
    /// has the same band, and another salt other collisions.
    #[test]
    fn collisions() {
        assert_eq!(bands(FlowHash::Perfect, 1, 1, 5), [0, 1, 2, 3, 4]);
        assert_eq!(bands(FlowHash::Jenkins, 1, 1, 5), [0; 5]);
        assert_eq!(bands(FlowHash::Jenkins, 16, 1, 40), bands(FlowHash::Jenkins, 16, 1, 40));
        assert_ne!(bands(FlowHash::Jenkins, 16, 1, 40), bands(FlowHash::Jenkins, 16, 2, 40));
    }

    /// As many flows as buckets use 1 - 1/e of the buckets, if the hash is uniform: of 1024, 647.3 with a standard
    /// deviation of 10.0; four of them are allowed, for each of ten salts.
    #[test]
    fn uniform() {
        for seed in 0..10 {
            let used = bands(FlowHash::Jenkins, 1_024, seed, 1_024).into_iter().max().unwrap() + 1;
            assert!((607..=688).contains(&used), "{used} with {seed}");
        }
    }

    /// A new salt moves flows; bands that are used keep their numbers and names.
    #[test]
    fn perturbed() {
        let mut classifier = Classifier::new(FlowHash::Jenkins, Buckets::Scaled(64), 1);
        let of = |classifier: &mut Classifier| {
            (0..50).map(|flow| classifier.band_of(FlowId::new(flow))).collect::<Vec<_>>()
        };
        let before = of(&mut classifier);
        let name = classifier.name(3);
        classifier.perturb();
        assert_ne!(of(&mut classifier), before);
        assert_eq!(classifier.name(3), name);
    }
}
