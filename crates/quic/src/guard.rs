//! A stack that panics, or never stops, ends the run with a message that names it.
//!
//! The run fails as a whole: what a stack did wrong may be in every number after it. It never stops if it is called too
//! often without time going on, because it always has a datagram or a timer for now.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use windtunnel_wire::{Ecn, FlowId};

use crate::clock::time;
use crate::connection::{Connection, Happening};

/// Calls at one instant. A window of a gigabyte leaves in fewer.
const MOST_CALLS: u32 = 1_000_000;

/// One end of a connection, watched.
#[derive(Debug)]
pub(crate) struct Guarded {
    stack: String,
    flow: FlowId,
    inside: Box<dyn Connection>,
    now: Option<Instant>,
    calls: u32,
}

impl Guarded {
    /// Watches `inside`, which is an end of `flow` in the stack of that name.
    pub(crate) fn new(stack: &str, flow: FlowId, inside: Box<dyn Connection>) -> Guarded {
        Guarded { stack: stack.to_owned(), flow, inside, now: None, calls: 0 }
    }

    fn fails(&self, how: &str) -> ! {
        // Not `panic!`: whatever there was to print is printed.
        resume_unwind(Box::new(format!("the stack {} of flow {} {how}", self.stack, self.flow.index())))
    }

    /// Calls the stack.
    fn call<R>(&mut self, call: impl FnOnce(&mut dyn Connection) -> R) -> R {
        let inside = &mut *self.inside;
        match catch_unwind(AssertUnwindSafe(|| call(inside))) {
            Ok(result) => result,
            Err(payload) => self.fails(&format!("panicked: {}", message(&*payload))),
        }
    }

    /// Calls the stack at `now`.
    fn call_at<R>(&mut self, now: Instant, call: impl FnOnce(&mut dyn Connection) -> R) -> R {
        self.calls = if self.now == Some(now) { self.calls + 1 } else { 0 };
        self.now = Some(now);
        if self.calls > MOST_CALLS {
            self.fails(&format!("never stops: it was called {MOST_CALLS} times at {}", time(now)));
        }
        self.call(call)
    }
}

/// What a panic said.
fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}

impl Connection for Guarded {
    fn connect(&mut self, now: Instant) {
        self.call_at(now, |inside| inside.connect(now));
    }

    fn receive(&mut self, datagram: &[u8], ecn: Ecn, now: Instant) {
        self.call_at(now, |inside| inside.receive(datagram, ecn, now));
    }

    fn transmit(&mut self, datagram: &mut Vec<u8>, now: Instant) -> Option<Ecn> {
        self.call_at(now, |inside| inside.transmit(datagram, now))
    }

    fn next_timer(&mut self) -> Option<Instant> {
        self.call(|inside| inside.next_timer())
    }

    fn expire(&mut self, now: Instant) {
        self.call_at(now, |inside| inside.expire(now));
    }

    fn happened(&mut self) -> Option<Happening> {
        self.call(|inside| inside.happened())
    }

    fn open(&mut self) -> Option<u64> {
        self.call(|inside| inside.open())
    }

    fn write(&mut self, stream: u64, data: &'static [u8]) -> usize {
        self.call(|inside| inside.write(stream, data))
    }

    fn finish(&mut self, stream: u64) {
        self.call(|inside| inside.finish(stream));
    }

    fn reset(&mut self, stream: u64) {
        self.call(|inside| inside.reset(stream));
    }

    fn read(&mut self) -> u64 {
        self.call(|inside| inside.read())
    }

    fn send_datagram(&mut self, frame: bytes::Bytes) {
        self.call(|inside| inside.send_datagram(frame));
    }

    fn holds_datagrams(&mut self) -> bool {
        self.call(|inside| inside.holds_datagrams())
    }

    fn read_datagram(&mut self) -> Option<bytes::Bytes> {
        self.call(|inside| inside.read_datagram())
    }

    fn close(&mut self, now: Instant) {
        self.call_at(now, |inside| inside.close(now));
    }

    fn window(&self) -> Option<u64> {
        self.inside.window()
    }

    fn secrets(&self) -> String {
        self.inside.secrets()
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Time;

    use super::*;
    use crate::clock::instant;

    /// A stack that fails in one way.
    #[derive(Debug)]
    struct Broken;

    impl Connection for Broken {
        fn connect(&mut self, _: Instant) {
            panic!("no route");
        }

        fn receive(&mut self, _: &[u8], _: Ecn, _: Instant) {}

        fn transmit(&mut self, datagram: &mut Vec<u8>, _: Instant) -> Option<Ecn> {
            datagram.push(0);
            Some(Ecn::NotEct)
        }

        fn next_timer(&mut self) -> Option<Instant> {
            None
        }

        fn expire(&mut self, _: Instant) {}

        fn happened(&mut self) -> Option<Happening> {
            None
        }

        fn open(&mut self) -> Option<u64> {
            None
        }

        fn write(&mut self, _: u64, _: &'static [u8]) -> usize {
            0
        }

        fn finish(&mut self, _: u64) {}

        fn reset(&mut self, _: u64) {}

        fn read(&mut self) -> u64 {
            0
        }

        fn close(&mut self, _: Instant) {}

        fn window(&self) -> Option<u64> {
            None
        }
    }

    /// What the run would end with.
    fn failure(call: impl FnOnce(&mut Guarded)) -> String {
        let mut guarded = Guarded::new("quack", FlowId::new(3), Box::new(Broken));
        let payload = catch_unwind(AssertUnwindSafe(|| call(&mut guarded))).expect_err("it fails");
        message(&*payload).to_owned()
    }

    #[test]
    fn a_panic_names_the_stack() {
        let said = failure(|guarded| guarded.connect(instant(Time::ZERO)));
        assert_eq!(said, "the stack quack of flow 3 panicked: no route");
    }

    /// Datagrams without end at one time end the run; as many at different times are no fault.
    #[test]
    fn a_stack_that_never_stops_is_stopped() {
        let at = |us: u64| instant(Time::from_nanos(us * 1_000));
        let mut datagram = Vec::new();
        let said = failure(|guarded| {
            for us in 0..2 * u64::from(MOST_CALLS) {
                guarded.transmit(&mut datagram, at(us));
                datagram.clear();
            }
            loop {
                guarded.transmit(&mut datagram, at(3_000_000));
                datagram.clear();
            }
        });
        assert_eq!(said, "the stack quack of flow 3 never stops: it was called 1000000 times at 3 s");
    }
}
