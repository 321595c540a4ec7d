//! Tests of the controllers through their public interface.

mod cubic;
mod driver;
mod hystart;
mod linux;
mod loss;
mod parts;
mod properties;
mod replay;
mod response_functions;
mod rounds;
mod schema;
mod slow_starts;
mod vectors;
