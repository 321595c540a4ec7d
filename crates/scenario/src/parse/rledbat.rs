//! The key `rledbat`: the controller by which a flow's receiver limits its sender (RFC 9840).

use std::sync::Arc;

use windtunnel_cc::{Style, WindowedConfig};
use windtunnel_tcp::{AckParams, ReceiverController, TcpParams};

use super::cursor::Cursor;
use super::fault::Fault;
use crate::registry::{RLEDBAT, Registry};

/// Reads the controller of a flow's receiver into the mechanisms of its TCP; loss-free endpoints have none.
pub(super) fn rledbat(
    at: &Cursor<'_>,
    tcp: Option<&mut TcpParams>,
    ack: &AckParams,
    registry: &Registry,
) -> Result<(), Fault> {
    if !at.is_given() {
        return Ok(());
    }
    let Some(tcp) = tcp else {
        return Err(at.fault("needs endpoints = \"linux\": ideal endpoints have no receive window"));
    };
    let (name, name_at) = at.kind_name("a controller for background traffic")?;
    let entry = registry.avoidances.named(name).filter(|entry| RLEDBAT.contains(&&*entry.name));
    let Some(entry) = entry else {
        return Err(name_at.not_allowed(format!(
            "a controller that gives way to all others by the delay (RFC 9840 section 4): {}",
            RLEDBAT.join(" or ")
        )));
    };
    at.expect_keys(&["kind"].into_iter().chain(entry.keys()).collect::<Vec<_>>())?;
    if !tcp.timestamps {
        return Err(
            at.fault("needs timestamps: by them the receiver measures delays, and knows what was sent again")
        );
    }
    if ack.attacks() {
        return Err(
            at.fault("does not go with a receiver that deceives its sender, which keeps to no window")
        );
    }
    let config = WindowedConfig::usual(entry.read(at)?, Style::Linux);
    config.avoidance.check().map_err(|error| at.out_of_range(error))?;
    tcp.rledbat = Some(ReceiverController(Arc::new(config)));
    Ok(())
}
