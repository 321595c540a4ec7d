//! From the text of a scenario to the model.

mod algorithm;
pub(crate) mod cursor;
pub(crate) mod deserialize;
pub(crate) mod document;
pub(crate) mod fault;
mod flow;
mod limit;
mod link;
pub(crate) mod nearest;
mod overrides;
mod record;
mod route;
mod scenario;

pub(crate) use algorithm::MDS_SUFFIX;
pub(crate) use scenario::parse;
