//! What a flow's application does.

use windtunnel_sim::application::ApplicationConfig;

use super::cursor::Cursor;
use super::fault::Fault;
use crate::model::Endpoints;
use crate::registry::Registry;

/// Reads an application; without one the flow always has data to send.
pub(crate) fn application(
    at: &Cursor<'_>,
    endpoints: Endpoints,
    registry: &Registry,
) -> Result<ApplicationConfig, Fault> {
    if !at.is_given() {
        return Ok(ApplicationConfig::default());
    }
    let config = registry.applications.read(at, registry)?;
    if endpoints == Endpoints::Ideal && config != ApplicationConfig::default() {
        return Err(at.not_allowed("\"bulk\" with ideal endpoints; others need endpoints = \"linux\""));
    }
    Ok(config)
}
