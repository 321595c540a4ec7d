//! Tests of the controllers through their public interface.

mod driver;
mod properties;
mod replay;
mod rounds;
mod schema;
mod slow_starts;
mod vectors;
