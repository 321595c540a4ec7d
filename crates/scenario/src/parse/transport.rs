//! How the data of a flow are carried: the transport that its application needs, with its controller.

use std::sync::Arc;

use windtunnel_cc::{Feedback, PacingNeed};
use windtunnel_sim::application::{ApplicationConfig, Protocol};
use windtunnel_tcp::bsd42::Bsd42Params;
use windtunnel_tcp::{AckParams, AckPolicy, Endpoint, FeedbackScheme, HEADERS, HEADERS_WITHOUT_TIMESTAMPS};
use windtunnel_units::parse::number_with_unit;
use windtunnel_wire::{Dscp, Ecn, FlowId};

use super::controller::{Control, Controller, controller};
use super::cursor::Cursor;
use super::deserialize::fields;
use super::document::Value;
use super::ecn;
use super::fault::Fault;
use super::flow::refuse;
use super::link::{LONGEST_DELAY, Surroundings};
use super::mds_dscp::mds_dscp;
use super::rledbat::rledbat;
use super::rtp::over_rtp;
use super::stack::{over_stack, stack};
use super::tcp::tcp;
use crate::model::{Endpoints, Transport};
use crate::registry::BSD42;

/// The largest initial window: more than any path holds.
const LARGEST_IW: f64 = 1e6;

/// How the data of a flow are carried.
pub(super) struct Carried {
    pub(super) cc_name: String,
    pub(super) transport: Transport,
    pub(super) endpoint: Endpoint,
}

/// Reads how an application's data are carried; `pacing` is the flow's key.
pub(super) fn carried(
    pacing: Option<bool>,
    root: &Cursor<'_>,
    at: &Cursor<'_>,
    application: &ApplicationConfig,
    of: Surroundings<'_>,
) -> Result<Carried, Fault> {
    let plain = Endpoint {
        flow: FlowId::new(0),
        mtu: of.mtu,
        headers: HEADERS_WITHOUT_TIMESTAMPS,
        iw: of.mtu,
        paced: false,
        needs_ecn: false,
        ecn: Ecn::NotEct,
        feedback: FeedbackScheme::None,
        dscp: Dscp::DEFAULT,
    };
    if let Some(stack) = stack(at, of)? {
        return over_stack(&*stack, at, application, plain, of);
    }
    match application.protocol() {
        Protocol::Udp => over_udp(at, application, plain, of.endpoints),
        Protocol::Rtp => over_rtp(at, plain, of),
        Protocol::Tcp => match controller(&at.get("cc"), of.endpoints, of.registry)? {
            Control::By(controller) => over_tcp(controller, pacing, root, at, plain, of),
            Control::Bsd42(params) => by_bsd42(params, at, application, plain),
        },
    }
}

fn over_udp(
    at: &Cursor<'_>,
    application: &ApplicationConfig,
    plain: Endpoint,
    endpoints: Endpoints,
) -> Result<Carried, Fault> {
    refuse(
        at,
        &["cc", "tcp", "iw", "ack", "pacing", "unresponsive", "mds_dscp", "rledbat"],
        "belongs to TCP; this application uses UDP",
    )?;
    let of_ecn =
        ecn::Surroundings { endpoints, protocol: Protocol::Udp, needs: Feedback::Classic, scalable: false };
    let (scheme, ect) = ecn::ecn(at, of_ecn)?;
    let endpoint = Endpoint { ecn: ecn::code_point(scheme, ect), ..plain };
    Ok(Carried { cc_name: application.kind().to_owned(), transport: Transport::Udp, endpoint })
}

/// 4.2BSD's TCP brings a controller of its own, and nothing that came later.
fn by_bsd42(
    params: Bsd42Params,
    at: &Cursor<'_>,
    application: &ApplicationConfig,
    plain: Endpoint,
) -> Result<Carried, Fault> {
    let allowed = fields::<Bsd42Params>().join(", ");
    let problem = format!("does not go with `bsd42`; the keys in its table `cc` are {allowed}");
    refuse(
        at,
        &["tcp", "iw", "ack", "pacing", "ecn", "ect", "unresponsive", "mds_dscp", "rledbat"],
        &problem,
    )?;
    if let ApplicationConfig::Poisson(_) = application {
        return Err(at.get("app").not_allowed("an application of one connection: `bsd42` opens no others"));
    }
    Ok(Carried { cc_name: BSD42.to_owned(), transport: Transport::Bsd42(Box::new(params)), endpoint: plain })
}

fn over_tcp(
    controller: Controller,
    pacing: Option<bool>,
    root: &Cursor<'_>,
    at: &Cursor<'_>,
    plain: Endpoint,
    of: Surroundings<'_>,
) -> Result<Carried, Fault> {
    let endpoints = of.endpoints;
    let Controller { name, params: controller, detection, iw } = controller;
    let needs = controller.needs();
    let of_ecn = ecn::Surroundings {
        endpoints,
        protocol: Protocol::Tcp,
        needs: needs.feedback,
        scalable: needs.scalable,
    };
    let (feedback, ect) = ecn::ecn(at, of_ecn)?;
    if !feedback.is_mds() {
        refuse(at, &["mds_dscp"], "belongs to a flow with MDS: cc = \"reno-mds\", or ecn = \"mds\"")?;
    }
    let mut mechanisms = tcp(root, at, endpoints, needs, detection)?;
    if mechanisms.as_ref().is_some_and(|tcp| tcp.ecn_nonce) {
        ecn::allows_nonces(at, feedback, ect)?;
    }
    let timestamps = mechanisms.as_ref().is_none_or(|mechanisms| mechanisms.timestamps);
    let headers = if timestamps { HEADERS } else { HEADERS_WITHOUT_TIMESTAMPS };
    let capped = mechanisms.as_ref().is_some_and(|mechanisms| mechanisms.max_pacing_rate.is_some());
    let need = if capped { PacingNeed::Always } else { needs.pacing };
    let endpoint = Endpoint {
        headers,
        needs_ecn: feedback.uses_ecn() && matches!(needs.feedback, Feedback::Shares | Feedback::Counts),
        paced: paced(pacing, at, &name, endpoints == Endpoints::Ideal, need)?,
        iw: (plain.mtu - headers) * u64::from(initial_window(&at.get("iw"), iw)?),
        ecn: ecn::code_point(feedback, ect),
        feedback,
        dscp: if feedback.is_mds() { mds_dscp(at)? } else { Dscp::DEFAULT },
        ..plain
    };
    let ack = ack(&at.get("ack"), endpoints)?;
    rledbat(&at.get("rledbat"), mechanisms.as_mut(), &ack, of.registry)?;
    let transport = match mechanisms {
        None => Transport::Ideal { cc: controller, ack },
        Some(params) => Transport::Tcp { cc: controller, params: Arc::new(params), ack },
    };
    Ok(Carried { cc_name: name, transport, endpoint })
}

/// Whether departures are paced: as the scenario says, or as the controller needs it.
fn paced(
    chosen: Option<bool>,
    at: &Cursor<'_>,
    cc_name: &str,
    ideal: bool,
    need: PacingNeed,
) -> Result<bool, Fault> {
    if need == PacingNeed::Always && chosen == Some(false) {
        return Err(at
            .get("pacing")
            .not_allowed(format!("true: {cc_name} sets the pace itself, or max_pacing_rate is given")));
    }
    Ok(chosen.unwrap_or(ideal || need != PacingNeed::None))
}

fn initial_window(at: &Cursor<'_>, default: u32) -> Result<u32, Fault> {
    let segments = match at.value() {
        None => return Ok(default),
        Some(Value::Integer(n)) => *n as f64,
        Some(Value::Text(text)) => number_with_unit(
            text,
            "an initial window",
            "10 packets",
            &[("packets", 1.0), ("packet", 1.0), ("", 1.0)],
        )
        .map_err(|error| at.fault(error.to_string()))?,
        Some(_) => 0.0,
    };
    if !(1.0..=LARGEST_IW).contains(&segments) || segments.fract() > 0.0 {
        return Err(at.not_allowed(format!(
            "a whole number of packets from 1 to {LARGEST_IW}, such as \"10 packets\""
        )));
    }
    Ok(segments as u32)
}

fn ack(at: &Cursor<'_>, endpoints: Endpoints) -> Result<AckParams, Fault> {
    let default = AckParams {
        policy: match endpoints {
            Endpoints::Ideal => AckPolicy::Immediate,
            Endpoints::Linux => AckPolicy::Linux,
        },
        ..AckParams::default()
    };
    let mut params = match at.value() {
        None => default,
        Some(Value::Table(_)) if at.get("policy").is_given() => at.read()?,
        Some(Value::Table(_)) => AckParams { policy: default.policy, ..at.read()? },
        Some(_) => AckParams { policy: at.read()?, ..default },
    };
    if !at.get("delay").is_given() {
        params.delay = params.policy.usual_delay();
    }
    if endpoints == Endpoints::Ideal
        && matches!(
            params.policy,
            AckPolicy::Linux | AckPolicy::Every | AckPolicy::Dithered | AckPolicy::Quic
        )
    {
        let at = if at.get("policy").is_given() { at.get("policy") } else { at.clone() };
        return Err(
            at.not_allowed("\"immediate\", \"quick-signal\" or \"state-change\" with ideal endpoints")
        );
    }
    if endpoints == Endpoints::Ideal && params.mds_tau.is_some() {
        return Err(at
            .get("mds_tau")
            .fault("needs endpoints = \"linux\": ideal endpoints negotiate nothing"));
    }
    if params.count == 0 {
        return Err(at.get("count").not_allowed("a whole number of at least 1"));
    }
    if params.delay.is_zero() || params.delay > LONGEST_DELAY {
        return Err(at.get("delay").not_allowed(format!("more than 0 s and at most {LONGEST_DELAY}")));
    }
    params.check().map_err(|error| at.out_of_range(error))?;
    if endpoints == Endpoints::Ideal && params.attacks() {
        return Err(at.not_allowed("no attack with ideal endpoints, whose senders check nothing"));
    }
    Ok(params)
}
