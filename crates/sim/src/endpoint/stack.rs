//! Stacks that are not part of this crate: what makes their halves, and how a scenario describes them.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use windtunnel_algorithm::{AnyParams, Params};
use windtunnel_cc::ControllerParams;
use windtunnel_units::Bytes;
use windtunnel_wire::{Dscp, Ecn, FlowId};

use super::{Counted, Halves};
use crate::application::{ApplicationConfig, Protocol};

/// What a stack needs to know about the flow whose halves it makes.
#[derive(Clone, Copy, Debug)]
pub struct FlowContext<'a> {
    /// Which flow it is: all of its packets carry this.
    pub flow: FlowId,
    /// The largest IP packet.
    pub mtu: Bytes,
    /// What makes the flow send.
    pub application: &'a ApplicationConfig,
    /// The seed of the flow's own random stream.
    pub seed: u64,
    /// The ECN field of its data packets; not ECN-capable for a flow with `ecn = false`, whose packets queues do not mark.
    pub ecn: Ecn,
    /// The DSCP of its packets.
    pub dscp: Dscp,
}

/// A stack that is not part of this crate.
pub trait Stack: Debug + Send + Sync {
    /// Its name in messages.
    fn name(&self) -> &str;

    /// The protocol of its packets, as captures show it.
    fn protocol(&self) -> Protocol;

    /// The description that a scenario has of it, if it has one.
    fn description(&self) -> Option<StackDescription<'_>> {
        None
    }

    /// What its senders count.
    fn counts(&self) -> Counted {
        Counted::SENT
    }

    /// Both halves of a flow; nothing if it cannot carry the application.
    fn halves(&self, flow: &FlowContext<'_>) -> Option<Halves>;
}

impl PartialEq for dyn Stack {
    /// Stacks with equal descriptions are equal. Nothing is known of others, so that they equal themselves alone.
    fn eq(&self, other: &dyn Stack) -> bool {
        match (self.description(), other.description()) {
            (Some(this), Some(that)) => this == that,
            _ => std::ptr::addr_eq(self, other),
        }
    }
}

/// What decides the window of a flow over a stack.
#[derive(Clone, Debug)]
pub enum StackController {
    /// The stack's own controller of this name.
    Own(&'static str),
    /// A controller of windtunnel's, inside the stack.
    Ours(Arc<dyn ControllerParams>),
}

impl PartialEq for StackController {
    fn eq(&self, other: &StackController) -> bool {
        match (self, other) {
            (StackController::Own(this), StackController::Own(that)) => this == that,
            (StackController::Ours(this), StackController::Ours(that)) => **this == **that,
            _ => false,
        }
    }
}

/// The controllers of a flow over a stack.
#[derive(Clone, Debug)]
pub struct StackControllers {
    /// What decides the window.
    pub decides: StackController,
    /// A controller of windtunnel's that is told what the other is told, and decides nothing.
    pub shadow: Option<Arc<dyn ControllerParams>>,
}

impl PartialEq for StackControllers {
    fn eq(&self, other: &StackControllers) -> bool {
        self.decides == other.decides && self.shadow.as_deref() == other.shadow.as_deref()
    }
}

/// A stack as a scenario describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StackDescription<'a> {
    /// The stack's parameters.
    pub params: &'a dyn StackParams,
    /// Its senders' controllers.
    pub controllers: &'a StackControllers,
}

/// A stack's parameters, as a scenario names them, and the stack that they describe.
pub trait StackParams: AnyParams {
    /// Its name in results and messages.
    fn title(&self) -> &str {
        self.name()
    }

    /// The names of its own controllers, that of a flow without `cc` first.
    fn controllers(&self) -> &'static [&'static str];

    /// Checks that it can carry an application.
    ///
    /// # Errors
    /// Why it cannot, as the end of a sentence that starts with the stack's name.
    fn carries(&self, application: &ApplicationConfig) -> Result<(), String>;

    /// Checks that one of windtunnel's controllers can decide its windows.
    ///
    /// # Errors
    /// Why it cannot, as the end of a sentence that starts with the stack's name.
    fn hosts(&self) -> Result<(), String> {
        Ok(())
    }

    /// Whether its own controller of this name draws random numbers that no seed decides: two runs may differ then.
    fn draws_unseeded(&self, _controller: &str) -> bool {
        false
    }

    /// Whether its hosts count marks, for a controller inside it that hears each.
    fn counts_marks(&self) -> bool {
        false
    }

    /// If its ends are outside of the simulation, the command that runs a scenario with such flows: it cannot run alone.
    fn outside(&self) -> Option<&'static str> {
        None
    }

    /// Whether its flows use ECN where the scenario does not say.
    fn uses_ecn(&self) -> bool {
        true
    }

    /// The file that has its code, if that is not a part of this program: the value of its key `file`.
    fn file(&self) -> Option<&str> {
        None
    }

    /// What results say about that code: the stack's name, its version and the file's name.
    fn foreign(&self) -> Option<String> {
        None
    }

    /// The same stack with its code from the file at `path`; nothing else of it is used before.
    ///
    /// # Errors
    /// Why it cannot be loaded, as the end of a sentence that starts with the file.
    fn loaded(&self, _path: &Path) -> Result<Arc<dyn StackParams>, String> {
        Err("holds no stack of this kind".to_owned())
    }

    /// The stack of flows with these controllers.
    fn stack(&self, controllers: StackControllers) -> Arc<dyn Stack>;
}

impl PartialEq for dyn StackParams {
    fn eq(&self, other: &dyn StackParams) -> bool {
        let (this, other): (&dyn AnyParams, &dyn AnyParams) = (self, other);
        this == other
    }
}

/// A visitor of the stacks of another crate.
pub trait Kinds {
    /// Visits a stack.
    fn stack<P: Params + StackParams>(&mut self);

    /// Visits a stack that is known and not built in, with how to get it, as a sentence says it.
    fn missing(&mut self, name: &'static str, how: &'static str);
}
