//! Threads that run the parts of a run, window by window.
//!
//! The caller has the parts to itself between two windows. In a window each thread takes the part that was its own before,
//! and then any that no other has taken: where the machine is busy with something else and a thread does not get its turn,
//! the others do its work. A window takes some hundred microseconds, so a thread that has nothing to do looks again for a
//! while before it sleeps.

use std::any::Any;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use windtunnel_units::Time;

use super::super::Simulation;

/// How often a thread looks for work: without a pause, then letting others run, before it sleeps. About 20 us, and a few
/// hundred where no other program wants to run.
const LOOKS: u32 = 2_000;
const YIELDS: u32 = 200;

/// The parts, and the window that is being run.
#[derive(Debug)]
struct Shared {
    parts: Vec<Mutex<Simulation>>,
    /// The number of the window; threads wait for the next one.
    window: AtomicU64,
    until: AtomicU64,
    /// The latest window for which each part was taken.
    taken: Vec<AtomicU64>,
    /// Parts that are not done with the window.
    left: AtomicUsize,
    over: AtomicBool,
    asleep: Vec<AtomicBool>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// The threads. The caller's is the first one.
#[derive(Debug)]
pub(super) struct Crew {
    shared: Arc<Shared>,
    others: Vec<JoinHandle<()>>,
}

impl Crew {
    /// `threads` threads for these parts, in turn.
    pub(super) fn new(parts: Vec<Simulation>, threads: usize) -> Crew {
        let threads = threads.clamp(1, parts.len());
        let shared = Arc::new(Shared {
            taken: parts.iter().map(|_| AtomicU64::new(0)).collect(),
            parts: parts.into_iter().map(Mutex::new).collect(),
            window: AtomicU64::new(0),
            until: AtomicU64::new(0),
            left: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            asleep: (0..threads).map(|_| AtomicBool::new(false)).collect(),
            panic: Mutex::new(None),
        });
        let start = |number| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.work(number))
        };
        let others = (1..threads).map(start).collect();
        Crew { shared, others }
    }

    /// Runs all parts up to `until`: on all threads, or, if `alone`, on this one.
    pub(super) fn run(&self, until: Time, alone: bool) {
        let shared = &*self.shared;
        let window = shared.window.load(Ordering::Relaxed) + 1;
        if alone || self.others.is_empty() {
            return self.parts().for_each(|mut part| {
                part.run_part(until);
            });
        }
        shared.until.store(until.as_nanos(), Ordering::Relaxed);
        shared.left.store(shared.parts.len(), Ordering::Relaxed);
        shared.window.store(window, Ordering::SeqCst);
        for (asleep, other) in shared.asleep[1..].iter().zip(&self.others) {
            if asleep.load(Ordering::SeqCst) {
                other.thread().unpark();
            }
        }
        shared.take_part(0, window, until);
        let mut looks = 0;
        while shared.left.load(Ordering::Acquire) > 0 {
            pause(&mut looks);
        }
        if let Some(panic) = lock(&shared.panic).take() {
            resume_unwind(panic);
        }
    }

    /// The parts, while no window is being run.
    pub(super) fn parts(&self) -> impl Iterator<Item = MutexGuard<'_, Simulation>> {
        self.shared.parts.iter().map(lock)
    }

    /// The parts, when the run is over. Nothing else is left of the crew.
    pub(super) fn take_parts(&mut self) -> Vec<Simulation> {
        self.send_home();
        let parts = Arc::get_mut(&mut self.shared).map(|shared| std::mem::take(&mut shared.parts));
        let own = |part: Mutex<Simulation>| part.into_inner().unwrap_or_else(PoisonError::into_inner);
        parts.unwrap_or_default().into_iter().map(own).collect()
    }

    fn send_home(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        for other in self.others.drain(..) {
            other.thread().unpark();
            // A panic of a part has been passed on with its window.
            drop(other.join());
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.send_home();
    }
}

impl Shared {
    /// What the thread with this number does.
    fn work(&self, number: usize) {
        let mut done = 0;
        loop {
            let mut looks = 0;
            while self.window.load(Ordering::Acquire) == done {
                if self.over.load(Ordering::Relaxed) {
                    return;
                }
                if !pause(&mut looks) {
                    self.sleep(number, done);
                }
            }
            done = self.window.load(Ordering::Acquire);
            self.take_part(number, done, Time::from_nanos(self.until.load(Ordering::Relaxed)));
        }
    }

    fn sleep(&self, number: usize, done: u64) {
        self.asleep[number].store(true, Ordering::SeqCst);
        if self.window.load(Ordering::SeqCst) == done && !self.over.load(Ordering::SeqCst) {
            thread::park();
        }
        self.asleep[number].store(false, Ordering::SeqCst);
    }

    /// Runs parts that no other thread has taken in this window, the thread's own first. A thread that comes late finds none, as the
    /// next window begins when all are done.
    fn take_part(&self, number: usize, window: u64, until: Time) {
        for index in (number..self.parts.len()).chain(0..number) {
            let taken = &self.taken[index];
            if taken.compare_exchange(window - 1, window, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                continue;
            }
            let run = || {
                lock(&self.parts[index]).run_part(until);
            };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
                lock(&self.panic).get_or_insert(panic);
            }
            self.left.fetch_sub(1, Ordering::Release);
        }
    }
}

/// Waits a moment before the next look; false after many.
fn pause(looks: &mut u32) -> bool {
    *looks = looks.saturating_add(1);
    if *looks < LOOKS {
        spin_loop();
    } else {
        thread::yield_now();
    }
    *looks < LOOKS + YIELDS
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
