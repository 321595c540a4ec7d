//! How a flow uses ECN: whether at all, how its receiver reports marks, and which code point it sends.

use windtunnel_cc::Feedback;
use windtunnel_sim::application::Protocol;
use windtunnel_tcp::FeedbackScheme;
use windtunnel_wire::Ecn;

use super::cursor::Cursor;
use super::document::Value;
use super::fault::Fault;
use crate::model::{Ect, Endpoints};

/// What decides which schemes there are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings {
    pub(crate) endpoints: Endpoints,
    pub(crate) protocol: Protocol,
    /// What the controller needs to hear.
    pub(crate) needs: Feedback,
    /// The controller's packets are those of L4S.
    pub(crate) scalable: bool,
}

/// The keys `ecn` and `ect` of the flow at `at`.
pub(crate) fn ecn(at: &Cursor<'_>, of: Surroundings) -> Result<(FeedbackScheme, Ect), Fault> {
    let scheme = scheme(&at.get("ecn"), of)?;
    let at = at.get("ect");
    if !at.is_given() {
        let counted = matches!(scheme, FeedbackScheme::AccEcn | FeedbackScheme::Quic);
        let l4s = of.scalable && counted;
        return Ok((scheme, if l4s { Ect::Ect1 } else { Ect::Ect0 }));
    }
    let ect = at.read()?;
    if !scheme.uses_ecn() {
        return Err(at.fault("belongs to a flow with ECN: give `ecn` as well"));
    }
    if ect == Ect::Ect1 && (scheme.hears_sce() || of.needs == Feedback::PlainSce) {
        return Err(at.not_allowed("\"ect0\": to this flow ECT(1) is SCE, the mark of a queue"));
    }
    Ok((scheme, ect))
}

/// Nonces are ECT(0) and ECT(1) of flows that hear CE alone, as an event (RFC 3540); to all other schemes ECT(1) means something.
pub(crate) fn allows_nonces(flow: &Cursor<'_>, scheme: FeedbackScheme, ect: Ect) -> Result<(), Fault> {
    if scheme == FeedbackScheme::Rfc3168 && ect == Ect::Ect0 {
        return Ok(());
    }
    let allowed =
        "false, or give the flow `ecn = \"rfc3168\"` and ECT(0): nonces belong to that scheme alone";
    Err(flow.get("tcp").get("ecn_nonce").not_allowed(allowed))
}

/// The code point of a flow's packets.
pub(crate) fn code_point(scheme: FeedbackScheme, ect: Ect) -> Ecn {
    match ect {
        _ if !scheme.uses_ecn() => Ecn::NotEct,
        Ect::Ect0 => Ecn::Ect0,
        Ect::Ect1 => Ecn::Ect1,
    }
}

fn scheme(at: &Cursor<'_>, of: Surroundings) -> Result<FeedbackScheme, Fault> {
    let own = match of.needs {
        Feedback::None | Feedback::Classic => FeedbackScheme::Rfc3168,
        Feedback::PlainSce => FeedbackScheme::Esce,
        Feedback::Sce => FeedbackScheme::Mds,
        Feedback::Shares => FeedbackScheme::Dctcp,
        Feedback::Counts => FeedbackScheme::AccEcn,
    };
    let needed = of.endpoints == Endpoints::Ideal || own != FeedbackScheme::Rfc3168;
    let scheme = match at.value() {
        None => {
            if needed {
                own
            } else {
                FeedbackScheme::None
            }
        }
        Some(Value::Boolean(on)) => {
            if *on {
                own
            } else {
                FeedbackScheme::None
            }
        }
        Some(Value::Text(_)) => at.read()?,
        Some(_) => {
            let names = "\"none\", \"rfc3168\", \"esce\", \"mds\", \"dctcp\", \"accecn\" or \"quic\"";
            return Err(at.not_allowed(format!("true, false, or the name of a feedback scheme: {names}")));
        }
    };
    if of.protocol != Protocol::Tcp && matches!(at.value(), Some(Value::Text(_))) {
        return Err(at.not_allowed("true or false: feedback schemes belong to TCP"));
    }
    match (of.needs, scheme) {
        (Feedback::Sce, FeedbackScheme::None) => Err(at.not_allowed("the MDS response needs ECN")),
        (
            Feedback::Sce,
            FeedbackScheme::Rfc3168 | FeedbackScheme::Dctcp | FeedbackScheme::AccEcn | FeedbackScheme::Quic,
        ) => Err(at.not_allowed("\"mds\" or \"esce\": the MDS response hears SCE by ESCE")),
        (Feedback::PlainSce, scheme) if !matches!(scheme, FeedbackScheme::Esce | FeedbackScheme::Quic) => {
            Err(at.not_allowed("\"esce\" or \"quic\": a response to SCE hears them by ESCE or by counts"))
        }
        (Feedback::Counts, FeedbackScheme::None) if of.scalable => Ok(FeedbackScheme::None),
        (Feedback::Counts, scheme) if !matches!(scheme, FeedbackScheme::AccEcn | FeedbackScheme::Quic) => {
            Err(at.not_allowed("\"accecn\" or \"quic\": the controller needs counts of marks"))
        }
        (needs, FeedbackScheme::Mds) if needs != Feedback::Sce => {
            Err(at.not_allowed("it goes with the MDS response alone, as in `cc = \"reno-mds\"`"))
        }
        (_, FeedbackScheme::AccEcn) if of.endpoints == Endpoints::Ideal => {
            Err(at.fault("AccECN needs endpoints = \"linux\": ideal endpoints negotiate nothing"))
        }
        (_, FeedbackScheme::Quic) if of.endpoints == Endpoints::Ideal => {
            Err(at.fault("QUIC's counts need endpoints = \"linux\": ideal endpoints have echoes alone"))
        }
        (_, scheme) => Ok(scheme),
    }
}
