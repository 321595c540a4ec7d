//! A path between two devices, driven by a clock in a thread of its own.
//!
//! The thread sleeps until a packet arrives or the path's next event is due, whichever is first. Packets that are due leave
//! before those that have arrived enter, so that a burst does not make others late.

use std::io::{self, PipeReader, PipeWriter, pipe};
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use windtunnel_sim::MemoryExceeded;
use windtunnel_units::{Bytes, Duration, Time};

use crate::lateness::Lateness;
use crate::outside::Side;
use crate::path::{Emulation, LinkState};

/// The longest packet of a device.
const LONGEST: usize = 1 << 16;

/// Packets that enter from one device before others may leave.
const BATCH: usize = 16;

/// Time between two looks at the memory, and between two snapshots.
const PICTURE: Duration = Duration::from_millis(50);

/// What a watcher sees.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// When.
    pub at: Time,
    /// The links.
    pub links: Vec<LinkState>,
    /// Packets that have arrived at a device.
    pub packets: u64,
    /// Their bytes.
    pub bytes: Bytes,
    /// Packets that no path carries.
    pub not_carried: u64,
    /// Packets that a device did not take, because its queue was full.
    pub refused: u64,
    /// Connections.
    pub flows: usize,
    /// How late packets have left.
    pub lateness: Lateness,
    /// It needs more memory than it may.
    pub exceeded: Option<MemoryExceeded>,
    /// A device that no longer works, and why.
    pub broken: Option<String>,
}

/// Sees the packets at both devices.
pub trait Tap: Send {
    /// A packet enters the path at the device of this side, or leaves it there.
    ///
    /// # Errors
    /// What ends the emulation.
    fn see(&mut self, side: Side, enters: bool, at: Time, packet: &[u8]) -> io::Result<()>;

    /// There are no more.
    ///
    /// # Errors
    /// If some were not kept.
    fn end(&mut self) -> io::Result<()>;
}

/// An emulated path at work.
#[derive(Debug)]
pub struct Live {
    thread: Option<JoinHandle<(Emulation, Time)>>,
    seen: Arc<Mutex<Snapshot>>,
    /// Closed, it ends the thread.
    stop: Option<PipeWriter>,
}

impl Live {
    /// Starts to carry packets between the devices at both ends: file descriptors that do not block. The path's time begins
    /// at `zero`. A `tap` sees each packet at both.
    ///
    /// # Errors
    /// If the system has no thread or no pipe left.
    pub fn start(
        path: Emulation,
        [near, far]: [OwnedFd; 2],
        zero: Instant,
        tap: Option<Box<dyn Tap>>,
    ) -> io::Result<Live> {
        let (stopped, stop) = pipe()?;
        let seen = Arc::new(Mutex::new(Snapshot::default()));
        let shown = Arc::clone(&seen);
        let work = move || {
            // Linux may let a sleeper wait 50 us longer than it asked for, unless told not to.
            #[cfg(target_os = "linux")]
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
            let devices = [Device::new(near), Device::new(far)];
            let mut courier = Courier {
                path,
                devices,
                zero,
                stopped,
                shown,
                lateness: Lateness::default(),
                packet: Vec::new(),
                tap,
                untold: None,
            };
            courier.carry();
            courier.tell(|tap| tap.end());
            let now = courier.now();
            courier.show(now);
            (courier.path, now)
        };
        let thread = thread::Builder::new().name("path".to_owned()).spawn(work)?;
        Ok(Live { thread: Some(thread), seen, stop: Some(stop) })
    }

    /// Whether packets still pass.
    pub fn is_running(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// What there was to see at most [`PICTURE`] ago.
    pub fn snapshot(&self) -> Snapshot {
        lock(&self.seen).clone()
    }

    /// Ends it, and returns the path and the time at which it ended; nothing the second time.
    pub fn stop(&mut self) -> Option<(Emulation, Time)> {
        drop(self.stop.take());
        self.thread.take()?.join().ok()
    }
}

fn lock(seen: &Mutex<Snapshot>) -> MutexGuard<'_, Snapshot> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A device, as its file descriptor.
#[derive(Debug)]
struct Device {
    file: OwnedFd,
    refused: u64,
    broken: Option<Errno>,
}

impl Device {
    const fn new(file: OwnedFd) -> Device {
        Device { file, refused: 0, broken: None }
    }

    /// The length of the next packet that has arrived, if there is one.
    fn read(&mut self, into: &mut [u8]) -> Option<usize> {
        match rustix::io::retry_on_intr(|| rustix::io::read(&self.file, &mut *into)) {
            Ok(0) | Err(Errno::AGAIN) => None,
            Ok(length) => Some(length),
            Err(why) => {
                self.broken = Some(why);
                None
            }
        }
    }

    /// A packet leaves; one for which the device has no room is lost. So is one for a device that is down.
    fn write(&mut self, packet: &[u8]) {
        match rustix::io::retry_on_intr(|| rustix::io::write(&self.file, packet)) {
            Ok(_) => {}
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::IO | Errno::INVAL) => self.refused += 1,
            Err(why) => self.broken = Some(why),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "real packets come and go by a real clock")]
fn clock() -> Instant {
    Instant::now()
}

/// Carries packets between devices and path.
struct Courier {
    path: Emulation,
    devices: [Device; 2],
    zero: Instant,
    stopped: PipeReader,
    shown: Arc<Mutex<Snapshot>>,
    lateness: Lateness,
    packet: Vec<u8>,
    tap: Option<Box<dyn Tap>>,
    /// Why the tap has failed.
    untold: Option<String>,
}

impl Courier {
    /// The path's time.
    fn now(&self) -> Time {
        let since = clock().saturating_duration_since(self.zero);
        Time::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Carries packets until it is stopped, its time is over, a device breaks, or it needs too much memory.
    fn carry(&mut self) {
        let mut arrived = vec![0; LONGEST];
        let mut picture = Time::ZERO;
        loop {
            let now = self.now();
            self.path.advance(now);
            self.deliver();
            if now >= picture {
                picture = now + PICTURE;
                if self.show(now) {
                    return;
                }
            }
            let broken = self.untold.is_some() || self.devices.iter().any(|device| device.broken.is_some());
            if broken || now >= self.path.end() {
                return;
            }
            if !self.take(&mut arrived) && self.wait(picture) {
                return;
            }
        }
    }

    /// Packets that are due leave.
    fn deliver(&mut self) {
        while let Some((side, due)) = self.path.leave(&mut self.packet) {
            self.devices[side as usize].write(&self.packet);
            let now = self.now();
            self.lateness.record(now.since_start().saturating_sub(due.since_start()));
            if self.tap.is_some() {
                let packet = std::mem::take(&mut self.packet);
                self.tell(|tap| tap.see(side, false, now, &packet));
                self.packet = packet;
            }
        }
    }

    /// Tells the tap something, if there is one.
    fn tell(&mut self, what: impl FnOnce(&mut dyn Tap) -> io::Result<()>) {
        if let Some(tap) = &mut self.tap
            && let Err(why) = what(&mut **tap)
        {
            self.untold = Some(why.to_string());
        }
    }

    /// Packets that have arrived enter. Returns whether there was any.
    fn take(&mut self, arrived: &mut [u8]) -> bool {
        let mut any = false;
        for side in [Side::Near, Side::Far] {
            for _ in 0..BATCH {
                let Some(length) = self.devices[side as usize].read(arrived) else { break };
                let now = self.now();
                self.path.arrive(side, &arrived[..length], now);
                self.tell(|tap| tap.see(side, true, now, &arrived[..length]));
                any = true;
            }
        }
        any
    }

    /// Sleeps until there is something to do, at the latest at `picture`. Returns whether it is stopped.
    fn wait(&self, picture: Time) -> bool {
        let until = self.path.next_event().min(picture).min(self.path.end()).since_start();
        // The path's time may begin later.
        let until = self.zero + std::time::Duration::from_nanos(until.as_nanos());
        let timeout = Timespec::try_from(until.saturating_duration_since(clock())).ok();
        let ready = |file| PollFd::from_borrowed_fd(file, PollFlags::IN);
        let [near, far]: [BorrowedFd<'_>; 2] = [self.devices[0].file.as_fd(), self.devices[1].file.as_fd()];
        let mut files = [ready(near), ready(far), ready(self.stopped.as_fd())];
        match poll(&mut files, timeout.as_ref()) {
            Ok(_) => !files[2].revents().is_empty(),
            Err(why) => why != Errno::INTR,
        }
    }

    /// Shows how things are. Returns whether it needs too much memory.
    fn show(&mut self, now: Time) -> bool {
        let exceeded = self.path.check_memory().err();
        let (packets, bytes) = self.path.arrived();
        let mut broken = [("near", &self.devices[0]), ("far", &self.devices[1])].into_iter();
        *lock(&self.shown) = Snapshot {
            at: now,
            links: self.path.links(),
            packets,
            bytes,
            not_carried: self.path.not_carried(),
            refused: self.devices.iter().map(|device| device.refused).sum(),
            flows: self.path.began(),
            lateness: self.lateness.clone(),
            exceeded,
            broken: broken
                .find_map(|(end, device)| Some(format!("the {end} device: {}", device.broken?)))
                .or_else(|| self.untold.as_ref().map(|why| format!("the capture: {why}"))),
        };
        exceeded.is_some()
    }
}
