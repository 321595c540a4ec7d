//! How queues are described: the parameters of AQMs and disciplines as two open sets.
//!
//! An AQM's parameters build the AQM ([`BuildAqm`]). An AQM written once for its type is then available without the
//! type: as one AQM among several in a discipline ([`AqmParams`]), and as a queue of its own, first in, first out and
//! compiled for that AQM ([`QueueParams`]). A discipline's parameters build the discipline; where it takes AQMs or queues
//! of its own, it names the keys ([`QueueParams::slots`], [`QueueParams::children`]) and receives what the description
//! has under them ([`Parts`]).

use std::sync::Arc;

use windtunnel_algorithm::{AnyParams, Params};
use windtunnel_units::{Bytes, Duration, OutOfRange, Time};

use crate::aqm::Aqm;
use crate::discipline::QueueDiscipline;
use crate::ecn::{EcnMode, EcnPolicy};
use crate::fifo::Fifo;
use crate::limit::Limit;
use crate::spec::{ChildSpec, Parts};

/// What an AQM is told about its place when it is built.
#[derive(Clone, Copy, Debug)]
pub struct AqmInit {
    /// How much its queue holds.
    pub limit: Limit,
    /// The seed of its own random stream.
    pub seed: u64,
    /// The simulated clock.
    pub now: Time,
    /// How long its queue has existed already, without traffic ([`QueueInit::age`]).
    pub age: Duration,
}

impl AqmInit {
    /// The next call of a timer that runs every `interval`, for the first time `first` after the queue was created.
    pub const fn next_tick(&self, first: Duration, interval: Duration) -> Time {
        let (age, first, interval) = (self.age.as_nanos(), first.as_nanos(), interval.as_nanos());
        let wait = if age < first { first - age } else { interval - (age - first) % interval };
        Time::from_nanos(self.now.as_nanos() + wait)
    }
}

/// Where a queue is, as far as its defaults depend on it.
#[derive(Clone, Copy, Debug)]
pub struct QueuePlace {
    /// The link's headers below IP, which its queues count: a full packet is longer by them.
    pub overhead: Bytes,
    /// The end systems are Linux's.
    pub linux: bool,
}

/// What a discipline is told about its place when it is built, which is at the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct QueueInit {
    /// How it reads the ECN field.
    pub ecn: EcnPolicy,
    /// How much it holds.
    pub limit: Limit,
    /// The seed of its own random stream.
    pub seed: u64,
    /// How long it has existed before the run starts, without traffic. Periodic control laws have settled and have
    /// their phase from that time.
    pub age: Duration,
}

impl QueueInit {
    /// The default age of a queue. A real queue is set up long before the first packet of a test; within
    /// a minute every control law of this crate comes to rest.
    pub const AGE: Duration = Duration::from_secs(60);

    /// A queue of this limit and seed, with defaults.
    pub fn new(limit: Limit, seed: u64) -> QueueInit {
        QueueInit { ecn: EcnPolicy::default(), limit, seed, age: QueueInit::AGE }
    }

    /// The same for an AQM of this queue.
    pub const fn aqm(&self) -> AqmInit {
        AqmInit { limit: self.limit, seed: self.seed, now: Time::ZERO, age: self.age }
    }
}

/// The parameters of an AQM written in Rust.
pub trait BuildAqm: Params {
    /// The AQM.
    type Aqm: Aqm + 'static;

    /// The default limit of a queue that has this AQM alone.
    const LIMIT: Limit = Limit::Unlimited;

    /// How a queue that has this AQM reads the ECN field by default: an AQM of the kernel as the kernel does, which sets CE
    /// on each ECN-capable packet that it marks.
    const ECN_MODE: EcnMode = EcnMode::Mds;

    /// Whether a ramp can set SCE in addition ([`crate::Ramped`]): not where the AQM does so itself.
    const SCE_RAMP: bool = true;

    /// The sojourn time at which it holds the queue, if it has one.
    fn target(&self) -> Option<Duration> {
        None
    }

    /// The parameters, with the defaults that depend on their place: those that are full packets are longer by a link's
    /// headers below IP, as Linux's `psched_mtu` is. `is_given` says which keys were.
    #[must_use]
    fn placed(self, _place: &QueuePlace, _is_given: &dyn Fn(&str) -> bool) -> Self {
        self
    }

    /// The AQM at its start. The parameters have been checked.
    fn aqm(&self, init: &AqmInit) -> Self::Aqm;
}

/// The parameters of any AQM. This trait is an open set.
pub trait AqmParams: AnyParams {
    /// How a queue that has this AQM reads the ECN field by default.
    fn default_ecn_mode(&self) -> EcnMode {
        EcnMode::default()
    }

    /// The parameters at this place, if they differ ([`BuildAqm::placed`]).
    fn placed(&self, _place: &QueuePlace, _is_given: &dyn Fn(&str) -> bool) -> Option<Arc<dyn AqmParams>> {
        None
    }

    /// The AQM at its start.
    fn build(&self, init: &AqmInit) -> Box<dyn Aqm>;
}

impl<P: BuildAqm> AqmParams for P {
    fn default_ecn_mode(&self) -> EcnMode {
        P::ECN_MODE
    }

    fn placed(&self, place: &QueuePlace, is_given: &dyn Fn(&str) -> bool) -> Option<Arc<dyn AqmParams>> {
        Some(Arc::new(BuildAqm::placed(self.clone(), place, is_given)))
    }

    fn build(&self, init: &AqmInit) -> Box<dyn Aqm> {
        Box::new(self.aqm(init))
    }
}

/// The parameters of any discipline.
pub trait QueueParams: AnyParams {
    /// The default limit of a queue.
    fn default_limit(&self) -> Limit {
        Limit::Unlimited
    }

    /// How a queue reads the ECN field by default, with these AQMs in its slots: a queue that Linux has, as Linux does.
    fn default_ecn_mode(&self, _aqms: &[Option<Arc<dyn AqmParams>>]) -> EcnMode {
        EcnMode::default()
    }

    /// Whether the discipline means anything where the ECN field is read like this.
    ///
    /// # Errors
    /// Why it does not, under the key `ecn_mode`.
    fn check_ecn_mode(&self, _mode: EcnMode) -> Result<(), OutOfRange> {
        Ok(())
    }

    /// The parameters at this place, if they differ: defaults that are full packets are longer by its headers below IP, as
    /// Linux's `psched_mtu` is. `is_given` says which keys were.
    fn placed(&self, _place: &QueuePlace, _is_given: &dyn Fn(&str) -> bool) -> Option<Arc<dyn QueueParams>> {
        None
    }

    /// The keys under which the discipline takes AQMs. The AQMs given there reach [`QueueParams::build`] in the same
    /// order.
    fn slots(&self) -> &'static [AqmSlot] {
        &[]
    }

    /// The keys under which the discipline takes queues of its own, its children. The queues given there reach
    /// [`QueueParams::build`] in the same order.
    fn children(&self) -> Vec<ChildSlot> {
        Vec::new()
    }

    /// Whether these AQMs go with the parameters.
    ///
    /// # Errors
    /// The first parameter that contradicts them.
    fn check_aqms(&self, _aqms: &[Option<Arc<dyn AqmParams>>]) -> Result<(), OutOfRange> {
        Ok(())
    }

    /// Whether these children, a list for each key, go with the parameters.
    ///
    /// # Errors
    /// The first parameter that contradicts them.
    fn check_children(&self, _children: &[Vec<ChildSpec>]) -> Result<(), OutOfRange> {
        Ok(())
    }

    /// An empty queue.
    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline>;
}

/// How a discipline of the kernel with a slot for another AQM reads the ECN field by default: as that AQM does, or as
/// the kernel.
pub(crate) fn kernel_ecn_mode(aqms: &[Option<Arc<dyn AqmParams>>]) -> EcnMode {
    aqms.iter().flatten().next().map_or(EcnMode::Rfc3168, |aqm| aqm.default_ecn_mode())
}

/// A key under which a discipline takes an AQM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AqmSlot {
    /// The key.
    pub key: &'static str,
    /// What the AQM does there, and which one it is if the key is left out.
    pub summary: &'static str,
}

/// A key under which a discipline takes queues of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChildSlot {
    /// The key.
    pub key: &'static str,
    /// What the queues do there.
    pub summary: &'static str,
    /// How many it takes.
    pub takes: Takes,
}

/// How many queues a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// One; a FIFO if the key is left out.
    One,
    /// A list; this many FIFOs if the key is left out.
    List(usize),
}

impl<P: BuildAqm> QueueParams for P {
    fn default_limit(&self) -> Limit {
        P::LIMIT
    }

    fn default_ecn_mode(&self, _aqms: &[Option<Arc<dyn AqmParams>>]) -> EcnMode {
        P::ECN_MODE
    }

    fn placed(&self, place: &QueuePlace, is_given: &dyn Fn(&str) -> bool) -> Option<Arc<dyn QueueParams>> {
        Some(Arc::new(BuildAqm::placed(self.clone(), place, is_given)))
    }

    fn build(&self, _parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        Box::new(Fifo::new(self.aqm(&init.aqm()), init.ecn, init.limit))
    }
}

impl PartialEq for dyn AqmParams {
    fn eq(&self, other: &dyn AqmParams) -> bool {
        (self as &dyn AnyParams).eq(other)
    }
}

impl PartialEq for dyn QueueParams {
    fn eq(&self, other: &dyn QueueParams) -> bool {
        (self as &dyn AnyParams).eq(other)
    }
}
