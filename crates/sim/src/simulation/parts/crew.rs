//! Threads that run the parts of a run, window by window.
//!
//! The caller has the parts to itself between two jobs. In each job a thread takes the part that was its own before,
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

/// What all parts do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Job {
    /// They run up to a time: a window.
    Until(Time),
    /// They add their rows of the interval that ends at this time.
    Rows(Time),
}

impl Job {
    fn of(self, part: &mut Simulation) {
        match self {
            Job::Until(end) => {
                part.run_part(end);
            }
            Job::Rows(end) => part.add_rows(end),
        }
    }
}

/// The parts, and the job that is being done.
#[derive(Debug)]
struct Shared {
    parts: Vec<Mutex<Simulation>>,
    /// The number of the job; threads wait for the next one.
    number: AtomicU64,
    /// Its time, and whether it is that of rows.
    time: AtomicU64,
    rows: AtomicBool,
    /// The latest job for which each part was taken.
    taken: Vec<AtomicU64>,
    /// Parts that are not done with the job.
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
            number: AtomicU64::new(0),
            time: AtomicU64::new(0),
            rows: AtomicBool::new(false),
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

    /// All parts do this: on all threads, or, if `alone`, on this one.
    pub(super) fn run(&self, job: Job, alone: bool) {
        let shared = &*self.shared;
        let number = shared.number.load(Ordering::Relaxed) + 1;
        if alone || self.others.is_empty() {
            return self.parts().for_each(|mut part| job.of(&mut part));
        }
        let (Job::Until(time) | Job::Rows(time)) = job;
        shared.time.store(time.as_nanos(), Ordering::Relaxed);
        shared.rows.store(matches!(job, Job::Rows(_)), Ordering::Relaxed);
        shared.left.store(shared.parts.len(), Ordering::Relaxed);
        shared.number.store(number, Ordering::SeqCst);
        for (asleep, other) in shared.asleep[1..].iter().zip(&self.others) {
            if asleep.load(Ordering::SeqCst) {
                other.thread().unpark();
            }
        }
        shared.take_part(0, number);
        let mut looks = 0;
        while shared.left.load(Ordering::Acquire) > 0 {
            pause(&mut looks);
        }
        if let Some(panic) = lock(&shared.panic).take() {
            resume_unwind(panic);
        }
    }

    /// The parts, while no job is being done.
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
    fn work(&self, thread: usize) {
        let mut done = 0;
        loop {
            let mut looks = 0;
            while self.number.load(Ordering::Acquire) == done {
                if self.over.load(Ordering::Relaxed) {
                    return;
                }
                if !pause(&mut looks) {
                    self.sleep(thread, done);
                }
            }
            done = self.number.load(Ordering::Acquire);
            self.take_part(thread, done);
        }
    }

    fn sleep(&self, thread: usize, done: u64) {
        self.asleep[thread].store(true, Ordering::SeqCst);
        if self.number.load(Ordering::SeqCst) == done && !self.over.load(Ordering::SeqCst) {
            thread::park();
        }
        self.asleep[thread].store(false, Ordering::SeqCst);
    }

    /// Does a job with parts that no other thread has taken for it, the thread's own first. A thread that comes late finds none, as
    /// the next job begins when all are done.
    fn take_part(&self, thread: usize, number: u64) {
        let time = Time::from_nanos(self.time.load(Ordering::Relaxed));
        let job = if self.rows.load(Ordering::Relaxed) { Job::Rows(time) } else { Job::Until(time) };
        for index in (thread..self.parts.len()).chain(0..thread) {
            let taken = &self.taken[index];
            if taken.compare_exchange(number - 1, number, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                continue;
            }
            let run = || job.of(&mut lock(&self.parts[index]));
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
