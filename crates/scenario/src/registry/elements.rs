//! The elements that packets pass behind a link: those of windtunnel and of other crates.

use std::sync::Arc;

use windtunnel_algorithm::Params;
use windtunnel_sim::element::{
    AckThinningParams, AggregationParams, BurstDelayParams, CorruptionParams, DscpBleacherParams,
    DuplicationParams, EcnBleacherParams, ElementParams, GilbertElliottParams, JitterParams,
    LinearDelayParams, LossParams, OptionStripperParams, OutageParams, PeriodicLossParams, ReorderingParams,
    ScriptedLossParams, ScriptedReorderingParams, TunnelEntryParams, TunnelExitParams,
};

use super::{Entry, Registry, RegistryError};

impl Registry {
    /// Adds an element: something that packets pass on a link and that delays, loses or changes them.
    ///
    /// # Errors
    /// If its name is taken, or a scenario cannot write it.
    pub fn register_element<P: Params + ElementParams>(&mut self) -> Result<(), RegistryError> {
        self.elements.register(Entry::of::<P>(|params| Arc::new(params)))
    }

    pub(super) fn register_elements(&mut self) -> Result<(), RegistryError> {
        self.register_element::<OutageParams>()?;
        self.register_element::<AckThinningParams>()?;
        self.register_element::<LossParams>()?;
        self.register_element::<GilbertElliottParams>()?;
        self.register_element::<PeriodicLossParams>()?;
        self.register_element::<ScriptedLossParams>()?;
        self.register_element::<CorruptionParams>()?;
        self.register_element::<DuplicationParams>()?;
        self.register_element::<AggregationParams>()?;
        self.register_element::<JitterParams>()?;
        self.register_element::<LinearDelayParams>()?;
        self.register_element::<BurstDelayParams>()?;
        self.register_element::<ReorderingParams>()?;
        self.register_element::<ScriptedReorderingParams>()?;
        self.register_element::<DscpBleacherParams>()?;
        self.register_element::<EcnBleacherParams>()?;
        self.register_element::<OptionStripperParams>()?;
        self.register_element::<TunnelEntryParams>()?;
        self.register_element::<TunnelExitParams>()
    }
}
