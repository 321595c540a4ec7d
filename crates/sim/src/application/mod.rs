//! What makes flows send. Over TCP, applications write into a stream, or open a connection for each of many transfers;
//! over UDP they send datagrams, and over RTP media at the rate that a controller sets.

mod config;
mod datagrams;
mod media;
mod messages;
mod on_off;
mod poisson;
mod rate_change;
mod receipts;
mod request_response;
mod responsive;
mod stream;

pub use config::{
    ApplicationConfig, BulkParams, CbrParams, MediaParams, OnOffParams, PoissonParams, ProbeParams, Protocol,
    RequestResponseParams, TransferParams,
};
pub use messages::Completion;
pub use rate_change::RateChange;
pub use receipts::{Receipt, Receipts};

pub(crate) use datagrams::{DatagramReceiver, DatagramSender};
pub(crate) use media::Frames;
pub(crate) use poisson::PoissonProcess;
pub use stream::{Stream, Wish};

#[cfg(test)]
mod tests;
