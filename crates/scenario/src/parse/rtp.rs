//! Media over RTP: their controller, and how their packets use ECN.

use windtunnel_sim::application::Protocol;
use windtunnel_tcp::Endpoint;

use super::controller::{Control, Controller, controller};
use super::cursor::Cursor;
use super::ecn;
use super::fault::Fault;
use super::flow::refuse;
use super::link::Surroundings;
use super::transport::Carried;
use crate::model::Transport;

/// Reads how media over RTP are carried: a controller sets their rate, and the receiver counts marks by itself.
pub(super) fn over_rtp(at: &Cursor<'_>, plain: Endpoint, of: Surroundings<'_>) -> Result<Carried, Fault> {
    refuse(
        at,
        &["tcp", "iw", "ack", "pacing", "unresponsive", "mds_dscp", "rledbat"],
        "belongs to TCP; this application uses RTP",
    )?;
    let cc = at.get("cc");
    let able = match controller(&cc, of.endpoints, of.registry)? {
        Control::By(Controller { name, params, .. }) if params.needs().media => Some((name, params)),
        Control::By(_) | Control::Bsd42(_) => None,
    };
    let Some((cc_name, params)) = able else {
        return Err(cc.kind_name("a controller")?.1.not_allowed(
            "a controller that sets the rate of media, such as \"scream\": this application uses RTP",
        ));
    };
    let needs = params.needs();
    let of_ecn = ecn::Surroundings {
        endpoints: of.endpoints,
        protocol: Protocol::Rtp,
        needs: needs.feedback,
        scalable: needs.scalable,
    };
    let (scheme, ect) = ecn::ecn(at, of_ecn)?;
    let endpoint = Endpoint { ecn: ecn::code_point(scheme, ect), paced: true, ..plain };
    Ok(Carried { cc_name, transport: Transport::Rtp { cc: params }, endpoint })
}
