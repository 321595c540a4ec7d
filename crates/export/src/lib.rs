//! Exporters: what a run recorded, in the formats of other tools. They change no result.

pub mod pcapng;
pub mod xplot;
