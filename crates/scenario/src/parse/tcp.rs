//! The mechanisms of a flow's TCP: its own `tcp` over the scenario's.

use windtunnel_cc::{Needs, PacingNeed};
use windtunnel_tcp::{LossDetection, TcpParams};

use super::cursor::Cursor;
use super::fault::Fault;
use crate::model::Endpoints;

/// Reads the mechanisms of one flow; loss-free endpoints have none. `detection` is the loss detection that its
/// controller's name implies.
pub(crate) fn tcp(
    root: &Cursor<'_>,
    flow: &Cursor<'_>,
    endpoints: Endpoints,
    needs: Needs,
    detection: Option<LossDetection>,
) -> Result<Option<TcpParams>, Fault> {
    let (shared, own) = (root.get("tcp"), flow.get("tcp"));
    if endpoints == Endpoints::Ideal {
        if needs.ack_requests {
            return Err(flow
                .get("cc")
                .get("ack_frequency")
                .fault("needs endpoints = \"linux\": ideal endpoints ask for no ACKs"));
        }
        return match [own, shared].iter().find(|at| at.is_given()) {
            Some(at) => Err(at.fault("belongs to endpoints = \"linux\"; ideal endpoints have none of it")),
            None => Ok(None),
        };
    }
    let table = own.over(&shared);
    let at = own.with(table.as_ref());
    let mut params: TcpParams = if at.is_given() { at.read()? } else { TcpParams::default() };
    let is_given = |key: &str| at.get(key).is_given();
    if let Some(detection) = detection {
        if !is_given("loss_detection") {
            params.loss_detection = detection;
        }
        if !is_given("sack") {
            params.sack = false;
        }
    }
    if needs.pacing != PacingNeed::None {
        // The slow start sets the pace itself, with its own gain.
        if !is_given("pacing_ss_ratio") && needs.pacing != PacingNeed::Window {
            params.pacing_ss_ratio = 1.0;
        }
        if !is_given("pacing_ca_ratio") {
            params.pacing_ca_ratio = 1.0;
        }
    }
    for key in ["ack_ratio", "acks_per_rtt"] {
        if needs.ack_requests && is_given(key) {
            return Err(at
                .get(key)
                .fault("does not go with `ack_frequency`, by which the controller asks for ACKs"));
        }
    }
    params.controller_asks_acks = needs.ack_requests;
    params.check().map_err(|error| at.out_of_range(error))?;
    Ok(Some(params))
}
