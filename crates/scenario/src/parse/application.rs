//! What a flow's application does.

use windtunnel_sim::application::ApplicationConfig;
use windtunnel_units::OutOfRange;

use super::algorithm;
use super::cursor::Cursor;
use super::fault::Fault;
use crate::kinds;
use crate::model::Endpoints;

/// Reads an application; without one the flow always has data to send.
pub(crate) fn application(at: &Cursor<'_>, endpoints: Endpoints) -> Result<ApplicationConfig, Fault> {
    if !at.is_given() {
        return Ok(ApplicationConfig::default());
    }
    let config = algorithm::read(at, kinds::APPLICATIONS, "an application", &[])?.1;
    if endpoints == Endpoints::Ideal && config != ApplicationConfig::default() {
        return Err(at.not_allowed("\"bulk\" with ideal endpoints; others need endpoints = \"linux\""));
    }
    config.check().map_err(|OutOfRange { key, allowed, .. }| at.get(key).not_allowed(allowed))?;
    Ok(config)
}
