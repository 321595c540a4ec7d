//! A queue as it is described: a discipline and what is nested in it, AQMs and queues of its own, to any depth.

use std::sync::Arc;

use windtunnel_units::OutOfRange;

use crate::discipline::QueueDiscipline;
use crate::ecn::{EcnMode, EcnPolicy};
use crate::fifo::FifoParams;
use crate::limit::Limit;
use crate::params::{AqmParams, ChildSlot, QueueInit, QueueParams, Takes};

/// A discipline and its parts.
#[derive(Clone, Debug)]
pub struct QueueSpec {
    /// The discipline's parameters.
    pub params: Arc<dyn QueueParams>,
    /// What is nested in it.
    pub parts: Parts,
}

/// What a description nests in a discipline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// An entry for each of [`QueueParams::slots`], with nothing for a key that was left out.
    pub aqms: Vec<Option<Arc<dyn AqmParams>>>,
    /// A list for each of [`QueueParams::children`]; none is empty.
    pub children: Vec<Vec<ChildSpec>>,
}

/// A queue inside of another.
#[derive(Clone, Debug, PartialEq)]
pub struct ChildSpec {
    /// Its discipline.
    pub spec: QueueSpec,
    /// How much it holds; if nothing is said, as much as the queue around it is told to hold.
    pub limit: Option<Limit>,
    /// How it reads the ECN field; if nothing is said, as the queue around it.
    pub ecn_mode: Option<EcnMode>,
}

impl PartialEq for QueueSpec {
    fn eq(&self, other: &QueueSpec) -> bool {
        *self.params == *other.params && self.parts == other.parts
    }
}

impl From<QueueSpec> for ChildSpec {
    fn from(spec: QueueSpec) -> ChildSpec {
        ChildSpec { spec, limit: None, ecn_mode: None }
    }
}

impl QueueSpec {
    /// A discipline with nothing in its slots, and with FIFOs as its children.
    pub fn new(params: impl QueueParams) -> QueueSpec {
        QueueSpec::of(Arc::new(params))
    }

    /// The same for parameters of any discipline.
    pub fn of(params: Arc<dyn QueueParams>) -> QueueSpec {
        let children = |slot: &ChildSlot| match slot.takes {
            Takes::One => vec![ChildSpec::fifo()],
            Takes::List(count) => vec![ChildSpec::fifo(); count],
        };
        let parts = Parts {
            aqms: vec![None; params.slots().len()],
            children: params.children().iter().map(children).collect(),
        };
        QueueSpec { params, parts }
    }

    /// The same with an AQM under `key`.
    ///
    /// # Panics
    /// If the discipline has no such slot.
    #[must_use]
    pub fn with(mut self, key: &str, aqm: impl AqmParams) -> QueueSpec {
        let slot = self.params.slots().iter().position(|slot| slot.key == key);
        self.parts.aqms[slot.expect("a slot of the discipline")] = Some(Arc::new(aqm));
        self
    }

    /// The same with these queues under `key`.
    ///
    /// # Panics
    /// If the discipline takes no queues there.
    #[must_use]
    pub fn around(
        mut self,
        key: &str,
        children: impl IntoIterator<Item = impl Into<ChildSpec>>,
    ) -> QueueSpec {
        let slot = self.params.children().iter().position(|slot| slot.key == key);
        let children = children.into_iter().map(Into::into).collect();
        self.parts.children[slot.expect("a key of the discipline")] = children;
        self
    }

    /// Whether the parameters of the discipline and of all that is nested in it are within what they are defined for.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        self.params.check()?;
        self.parts.aqms.iter().flatten().try_for_each(|aqm| aqm.check())?;
        self.params.check_aqms(&self.parts.aqms)?;
        for (slot, children) in self.params.children().iter().zip(&self.parts.children) {
            if children.is_empty() {
                return Err(OutOfRange::new(slot.key, "an empty list", "at least one queue"));
            }
        }
        self.params.check_children(&self.parts.children)?;
        self.parts.children.iter().flatten().try_for_each(|child| child.spec.check())
    }

    /// How it reads the ECN field by default.
    pub fn default_ecn_mode(&self) -> EcnMode {
        self.params.default_ecn_mode(&self.parts.aqms)
    }

    /// What the discipline is told when it is built with this limit and seed, and with its own defaults.
    pub fn init(&self, limit: Limit, seed: u64) -> QueueInit {
        let ecn = EcnPolicy { mode: self.default_ecn_mode(), ..EcnPolicy::default() };
        QueueInit { ecn, ..QueueInit::new(limit, seed) }
    }

    /// An empty queue.
    ///
    /// # Panics
    /// If [`QueueSpec::check`] finds fault, or [`QueueParams::check_ecn_mode`].
    pub fn build(&self, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        if let Err(error) = self.check().and_then(|()| self.params.check_ecn_mode(init.ecn.mode)) {
            panic!("{error}");
        }
        self.params.build(&self.parts, init)
    }
}

impl Parts {
    /// The AQM of a discipline with one slot.
    pub fn aqm(&self) -> Option<&Arc<dyn AqmParams>> {
        self.aqms.iter().flatten().next()
    }

    /// The queues inside of a discipline that `init` describes, by key: empty, each with a random stream of its own.
    pub fn build_children(&self, init: &QueueInit) -> Vec<Vec<Box<dyn QueueDiscipline>>> {
        let mut seeds = (1..).map(|position| child_seed(init.seed, position));
        let mut build = |child: &ChildSpec| {
            let mode = child.ecn_mode.unwrap_or(init.ecn.mode);
            child.spec.build(&QueueInit {
                ecn: EcnPolicy { mode, ..init.ecn },
                limit: child.limit.unwrap_or(init.limit),
                seed: seeds.next().unwrap_or_default(),
                age: init.age,
            })
        };
        self.children.iter().map(|children| children.iter().map(&mut build).collect()).collect()
    }

    /// The queue inside of a discipline that has one key, which takes one.
    ///
    /// # Panics
    /// If there is none.
    pub fn build_child(&self, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        self.build_children(init).into_iter().flatten().next().expect("a queue inside")
    }
}

impl ChildSpec {
    fn fifo() -> ChildSpec {
        QueueSpec::new(FifoParams::default()).into()
    }
}

/// The seed of the child at this position, so that those of a parent, its children and their bands differ in all bits:
/// `SplitMix64` (Steele, Lea and Flood 2014, figure 16).
const fn child_seed(seed: u64, position: u64) -> u64 {
    let z = seed.wrapping_add(position.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
