//! A flow over the stack of another crate: the stack's own controller, or one of windtunnel's inside it.

use std::sync::Arc;

use windtunnel_cc::{ControllerParams, Feedback, Needs};
use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::endpoint::{StackController, StackControllers, StackParams};
use windtunnel_tcp::Endpoint;
use windtunnel_wire::{Dscp, Ecn};

use super::controller::{Control, controller};
use super::cursor::Cursor;
use super::document::Value;
use super::fault::Fault;
use super::flow::refuse;
use super::link::Surroundings;
use super::nearest::nearest;
use super::transport::Carried;
use crate::model::{Endpoints, Transport};
use crate::registry::StackKind;

/// The key of `cc` that puts one of windtunnel's controllers into a stack.
pub(crate) const OURS: &str = "windtunnel";

/// The key of `cc` that lets one of windtunnel's controllers ride along.
pub(crate) const SHADOW: &str = "shadow";

/// The stack of another crate that a flow names, if it names one.
pub(super) fn stack(at: &Cursor<'_>, of: Surroundings<'_>) -> Result<Option<Arc<dyn StackParams>>, Fault> {
    let (flow, at) = (at, at.get("stack"));
    let kind = if at.is_given() {
        let (name, name_at) = at.kind_name("a stack")?;
        if let Some(fault) = of.registry.missing_stack(name, &name_at) {
            return Err(fault);
        }
        of.registry.stacks.read(&at, of.registry)?
    } else {
        StackKind::Built(of.endpoints)
    };
    match kind {
        StackKind::Built(endpoints) if endpoints == of.endpoints => {
            let inside = flow.get("cc").get(OURS);
            if inside.is_given() {
                return Err(inside.fault("belongs to a flow over a real stack, such as stack = \"quinn\""));
            }
            Ok(None)
        }
        StackKind::Built(_) => Err(at.fault(format!(
            "is the stack of all flows of a scenario, or of none: give the scenario endpoints = \"{}\"",
            at.kind_name("a stack")?.0
        ))),
        StackKind::Foreign(_) if of.endpoints == Endpoints::Ideal => Err(at.fault(
            "needs endpoints = \"linux\": with ideal endpoints no packet is lost, and a real stack cannot run so",
        )),
        StackKind::Foreign(params) => loaded(params, &at.get("file"), of).map(Some),
    }
}

/// The stack with its code, which may be in a file.
fn loaded(
    params: Arc<dyn StackParams>,
    at: &Cursor<'_>,
    of: Surroundings<'_>,
) -> Result<Arc<dyn StackParams>, Fault> {
    let Some(file) = params.file() else { return Ok(params) };
    let path = of.files.library(file, &of.registry.libraries, at)?;
    params.loaded(&path).map_err(|why| at.fault(format!("{file:?} {why}")))
}

/// Reads what a flow over `stack` says about its controller and its ECN.
pub(super) fn over_stack(
    stack: &dyn StackParams,
    at: &Cursor<'_>,
    application: &ApplicationConfig,
    plain: Endpoint,
    of: Surroundings<'_>,
) -> Result<Carried, Fault> {
    let name = stack.title();
    refuse(
        at,
        &["tcp", "iw", "ack", "pacing", "unresponsive", "mds_dscp", "rledbat", "ect"],
        &format!("does not go with stack = \"{name}\", whose keys are in the table `stack`"),
    )?;
    if let Err(why) = stack.carries(application) {
        return Err(at.get("app").not_allowed(format!("an application that `{name}` can carry: it {why}")));
    }
    let cc = at.get("cc");
    let (cc_name, decides) = stack_controller(stack, &cc, of)?;
    let controllers = StackControllers { decides, shadow: shadow(stack, &cc.get(SHADOW), of)? };
    let needs = match &controllers.decides {
        StackController::Own(_) => Needs::default(),
        StackController::Ours(params) => params.needs(),
    };
    let dscp = if needs.feedback == Feedback::Sce { Dscp::MDS } else { Dscp::DEFAULT };
    let ecn = code_point(&at.get("ecn"), needs, stack.uses_ecn())?;
    let needs_ecn = ecn != Ecn::NotEct && matches!(needs.feedback, Feedback::Shares | Feedback::Counts);
    let endpoint = Endpoint { ecn, needs_ecn, dscp, paced: true, ..plain };
    Ok(Carried { cc_name, transport: Transport::Foreign(stack.stack(controllers)), endpoint })
}

/// The controller of a flow over `stack`, and its name in results.
fn stack_controller(
    stack: &dyn StackParams,
    at: &Cursor<'_>,
    of: Surroundings<'_>,
) -> Result<(String, StackController), Fault> {
    let (name, own) = (stack.title(), stack.controllers());
    let inside = at.get(OURS);
    if inside.is_given() {
        at.expect_keys(&[OURS, SHADOW])?;
        if let Err(why) = stack.hosts() {
            return Err(
                at.fault(format!("does not go with `{name}`, which {why}: cc is one of {}", own.join(", ")))
            );
        }
        let (ours, params) = hosted(stack, &inside, of)?;
        if params.needs().feedback.hears_each_mark() && !stack.counts_marks() {
            let allowed =
                format!("a controller that does not hear each mark: the hosts of `{name}` count none");
            return Err(inside.not_allowed(allowed));
        }
        return Ok((format!("{ours}-in-{name}"), StackController::Ours(params)));
    }
    if !at.is_given() {
        return Ok((format!("{}-{name}", own[0]), StackController::Own(own[0])));
    }
    let (asked, asked_at) = at.kind_name("a controller")?;
    let Some(own) = own.iter().find(|own| **own == asked) else {
        let inside = match stack.hosts() {
            Ok(()) => format!("; one of windtunnel's inside it is cc = {{ {OURS} = \"cubic\" }}"),
            Err(_) => String::new(),
        };
        let allowed = format!("a controller of `{name}` is one of {}{inside}", own.join(", "));
        return Err(asked_at.not_allowed(allowed).with_hint(nearest(asked, own.iter().copied())));
    };
    at.expect_keys(&["kind", SHADOW])?;
    Ok((format!("{own}-{name}"), StackController::Own(own)))
}

/// The controller of windtunnel's that rides along, if a flow over `stack` names one.
fn shadow(
    stack: &dyn StackParams,
    at: &Cursor<'_>,
    of: Surroundings<'_>,
) -> Result<Option<Arc<dyn ControllerParams>>, Fault> {
    if !at.is_given() {
        return Ok(None);
    }
    if let Err(why) = stack.hosts() {
        return Err(at.fault(format!("does not go with `{}`, which {why}", stack.title())));
    }
    let (_, params) = hosted(stack, at, of)?;
    if params.needs().feedback.hears_each_mark() {
        let allowed =
            "a controller that does not hear each mark: a shadow hears what the stack tells of marks";
        return Err(at.not_allowed(allowed));
    }
    Ok(Some(params))
}

/// The name of one of windtunnel's controllers, and the controller, which hears of ACKs and losses from a stack.
fn hosted(
    stack: &dyn StackParams,
    at: &Cursor<'_>,
    of: Surroundings<'_>,
) -> Result<(String, Arc<dyn ControllerParams>), Fault> {
    let name = stack.title();
    let Control::By(controller) = controller(at, of.endpoints, of.registry)? else {
        return Err(at.not_allowed("a controller; `bsd42` is a sender without one"));
    };
    let params = controller.params.0;
    let needs = params.needs();
    if needs.ack_requests {
        let allowed =
            format!("false: `{name}` asks for ACKs by the key `ack_frequency` of the table `stack`");
        return Err(at.get("ack_frequency").not_allowed(allowed));
    }
    Ok((controller.name, params))
}

/// The code point of the flow's packets: ECT(0), as QUIC stacks send, or ECT(1) where the controller is one for L4S; none if the
/// flow's sockets cannot set it. `uses` is whether they do where nothing is said.
fn code_point(at: &Cursor<'_>, needs: Needs, uses: bool) -> Result<Ecn, Fault> {
    match at.value() {
        None if !uses => Ok(Ecn::NotEct),
        None | Some(Value::Boolean(true)) if needs.scalable => Ok(Ecn::Ect1),
        None | Some(Value::Boolean(true)) => Ok(Ecn::Ect0),
        Some(Value::Boolean(false)) if needs.feedback.hears_sce() => {
            Err(at.not_allowed("true: the response to SCE needs ECN"))
        }
        Some(Value::Boolean(false)) => Ok(Ecn::NotEct),
        Some(_) => Err(at.not_allowed("true or false: feedback schemes belong to TCP")),
    }
}
