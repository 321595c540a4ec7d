//! Tests of the controllers through their public interface.

mod avoidance_bounds;
mod bbr;
mod bbr3;
mod bbr_ecn;
mod chirping;
mod copa;
#[expect(dead_code, reason = "the tests of the senders read what it heard")]
mod cruise;
mod cubic;
mod delay;
mod driver;
mod every;
mod extremes;
mod growth_in_common;
mod hystart;
mod linux;
mod loss;
mod loss_based;
mod model_based;
mod parts;
mod prague;
mod properties;
mod refusals;
mod replay;
mod response_functions;
mod responses;
mod rounds;
mod schema;
mod scream;
mod slow_start_exits;
mod slow_starts;
mod steering;
mod tfrc;
mod unresponsive;
mod vectors;
mod vivace;
