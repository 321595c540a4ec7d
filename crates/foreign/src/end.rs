//! One end of one connection.
//!
//! Times are nanoseconds since the start of the run. What the header forbids, and can be seen, is a panic that says what
//! the stack did: the caller names the stack, and ends the run.

#![expect(unsafe_code, reason = "each call is one of a function in C")]

use std::ffi::{CStr, c_void};
use std::fmt;
use std::ptr::{self, NonNull};

use crate::library::Stack;
use crate::table::{Functions, RawConfig, RawEvent, RawState, UNTOLD};

/// When a run starts, as a stack has it: no time is 0.
const START: u64 = 1_000_000_000;

/// Who a server is.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The name in its certificate.
    pub name: &'static CStr,
    /// Its certificate, DER.
    pub certificate: &'static [u8],
    /// The certificate's private key, PKCS #8 as DER.
    pub key: &'static [u8],
}

/// What an end is made from.
#[derive(Clone, Copy, Debug)]
pub struct Config<'c> {
    /// One of the stack's controllers.
    pub controller: &'c str,
    /// The server, which receives data, or the client.
    pub is_server: bool,
    /// The host's sockets can set the ECN field.
    pub sets_ecn: bool,
    /// Decides all that the end draws.
    pub seed: u64,
    /// The largest datagram in bytes.
    pub max_udp_payload: u64,
    /// The initial window in bytes; nothing for the stack's own.
    pub initial_window: Option<u64>,
    /// Who the server is.
    pub identity: Identity,
}

impl<'c> Config<'c> {
    /// An end that is made to see whether it can be.
    pub fn trial(controller: &'c str, is_server: bool, identity: Identity) -> Config<'c> {
        Config {
            controller,
            is_server,
            sets_ecn: true,
            seed: 1,
            max_udp_payload: 1472,
            initial_window: None,
            identity,
        }
    }
}

/// What happened to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is done.
    Connected,
    /// All of a stream is acknowledged.
    Finished(u64),
    /// The connection is closed, or lost: why.
    Closed(String),
}

/// What an end tells of itself; nothing is what it does not tell. Times are nanoseconds, amounts bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The congestion window.
    pub cwnd: Option<u64>,
    /// Bytes neither acknowledged nor lost.
    pub bytes_in_flight: Option<u64>,
    /// The slow-start threshold; 0 while there is none.
    pub ssthresh: Option<u64>,
    /// The smoothed round-trip time; 0 before the first sample, as the next two.
    pub smoothed_rtt: Option<u64>,
    /// The newest round-trip time.
    pub latest_rtt: Option<u64>,
    /// The least round-trip time.
    pub min_rtt: Option<u64>,
    /// Packets sent.
    pub packets_sent: Option<u64>,
    /// Packets declared lost.
    pub packets_lost: Option<u64>,
    /// Bytes of packets sent.
    pub bytes_sent: Option<u64>,
    /// Bytes of packets declared lost.
    pub bytes_lost: Option<u64>,
    /// Expiries of the probe timeout.
    pub pto_count: Option<u64>,
    /// The pacing rate in bytes per second.
    pub pacing_rate: Option<u64>,
}

/// One end of a connection.
pub struct End {
    raw: NonNull<c_void>,
    functions: Functions,
    /// The longest datagram.
    capacity: usize,
}

// SAFETY: The header says that an end is used by one thread at a time, and not always by the same one.
unsafe impl Send for End {}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("End").finish_non_exhaustive()
    }
}

impl End {
    /// Makes an end; or says why the stack does not.
    pub(crate) fn new(stack: &'static Stack, config: &Config<'_>) -> Result<End, String> {
        let index = stack.controllers.iter().position(|name| *name == config.controller);
        let index = index.ok_or_else(|| format!("{:?} is none of its controllers", config.controller))?;
        let Identity { name, certificate, key } = config.identity;
        let raw = RawConfig {
            is_server: config.is_server.into(),
            sets_ecn: config.sets_ecn.into(),
            seed: config.seed,
            max_udp_payload: config.max_udp_payload,
            initial_window: config.initial_window.unwrap_or(0),
            controller: stack.raw_controllers[index].as_ptr(),
            server_name: name.as_ptr(),
            certificate: certificate.as_ptr(),
            certificate_length: certificate.len(),
            key: key.as_ptr(),
            key_length: key.len(),
        };
        let mut error = ptr::null();
        // SAFETY: Both pointers are valid during the call.
        let end = unsafe { (stack.functions.create)(&raw const raw, &raw mut error) };
        let Some(end) = NonNull::new(end) else {
            // SAFETY: The header demands that the text ends in a zero and is never freed.
            let text = (!error.is_null()).then(|| unsafe { CStr::from_ptr(error) });
            return Err(text.map_or("it does not say why".into(), |text| text.to_string_lossy().into_owned()));
        };
        let capacity = usize::try_from(config.max_udp_payload).unwrap_or(usize::MAX);
        Ok(End { raw: end, functions: stack.functions, capacity })
    }

    fn raw(&mut self) -> *mut c_void {
        self.raw.as_ptr()
    }

    /// The client starts the handshake.
    pub fn connect(&mut self, now: u64) {
        // SAFETY: The end is alive, here and below.
        unsafe { (self.functions.connect)(self.raw(), START + now) }
    }

    /// A datagram arrives; `ecn` is its ECN field as in the IP header.
    pub fn receive(&mut self, datagram: &[u8], ecn: u8, now: u64) {
        let (data, length) = (datagram.as_ptr(), datagram.len());
        // SAFETY: The datagram is valid during the call.
        unsafe { (self.functions.receive)(self.raw(), data, length, ecn.into(), START + now) }
    }

    /// Writes the next datagram that leaves now into `datagram`, in place of what is in it. Returns its ECN field.
    ///
    /// # Panics
    /// If the stack wrote more than the buffer holds, or an ECN field that there is not.
    pub fn transmit(&mut self, datagram: &mut Vec<u8>, now: u64) -> Option<u8> {
        datagram.clear();
        datagram.resize(self.capacity, 0);
        let mut ecn = 0;
        let (data, capacity) = (datagram.as_mut_ptr(), self.capacity);
        // SAFETY: The buffer has as many bytes as it says.
        let length =
            unsafe { (self.functions.transmit)(self.raw(), data, capacity, &raw mut ecn, START + now) };
        assert!(length <= capacity, "transmit() returned {length} B for a buffer of {capacity} B");
        assert!(ecn <= 3, "transmit() set the ECN field to {ecn}, which has two bits");
        datagram.truncate(length);
        #[expect(clippy::cast_possible_truncation, reason = "it has two bits")]
        (length > 0).then_some(ecn as u8)
    }

    /// When [`End::expire`] wants to be called.
    pub fn next_timer(&mut self) -> Option<u64> {
        // SAFETY: As above.
        let at = unsafe { (self.functions.next_timer)(self.raw()) };
        (at != UNTOLD).then(|| at.saturating_sub(START))
    }

    /// The timer has expired.
    pub fn expire(&mut self, now: u64) {
        // SAFETY: As above.
        unsafe { (self.functions.expire)(self.raw(), START + now) }
    }

    /// What happened; call until there is nothing.
    ///
    /// # Panics
    /// If the header has no such event.
    pub fn poll(&mut self) -> Option<Event> {
        let mut event = RawEvent { kind: 0, stream: 0, reason: ptr::null() };
        // SAFETY: The event is valid during the call.
        unsafe { (self.functions.poll)(self.raw(), &raw mut event) };
        match event.kind {
            0 => None,
            1 => Some(Event::Connected),
            2 => Some(Event::Finished(event.stream)),
            3 => {
                // SAFETY: The header says that the text ends in a zero, and is valid until the next call.
                let reason = (!event.reason.is_null()).then(|| unsafe { CStr::from_ptr(event.reason) });
                Some(Event::Closed(
                    reason.map_or_else(String::new, |text| text.to_string_lossy().into_owned()),
                ))
            }
            kind => panic!("poll() told of an event of kind {kind}, which windtunnel_stack.h does not have"),
        }
    }

    /// Opens a stream, if the other end allows one more.
    pub fn open(&mut self) -> Option<u64> {
        // SAFETY: As above.
        u64::try_from(unsafe { (self.functions.open)(self.raw()) }).ok()
    }

    /// Writes zeros into a stream. Returns how many bytes it took.
    ///
    /// # Panics
    /// If it took more than there are.
    pub fn write(&mut self, stream: u64, data: &'static [u8]) -> usize {
        // SAFETY: The data are static.
        let taken = unsafe { (self.functions.write)(self.raw(), stream, data.as_ptr(), data.len()) };
        assert!(taken <= data.len(), "write() took {taken} B of {} B", data.len());
        taken
    }

    /// No more data follow in a stream.
    pub fn finish(&mut self, stream: u64) {
        // SAFETY: As above.
        unsafe { (self.functions.finish)(self.raw(), stream) }
    }

    /// Gives a stream up.
    pub fn reset(&mut self, stream: u64) {
        // SAFETY: As above.
        unsafe { (self.functions.reset)(self.raw(), stream) }
    }

    /// Reads all that is there. Returns the number of bytes.
    pub fn read(&mut self) -> u64 {
        // SAFETY: As above.
        unsafe { (self.functions.read)(self.raw()) }
    }

    /// Closes the connection.
    pub fn close(&mut self, now: u64) {
        // SAFETY: As above.
        unsafe { (self.functions.close)(self.raw(), START + now) }
    }

    /// What it tells of itself now.
    pub fn state(&mut self) -> State {
        let mut raw = RawState::UNTOLD;
        // SAFETY: The state is valid during the call.
        unsafe { (self.functions.state)(self.raw(), &raw mut raw) };
        let told = |value: u64| (value != UNTOLD).then_some(value);
        State {
            cwnd: told(raw.cwnd),
            bytes_in_flight: told(raw.bytes_in_flight),
            ssthresh: told(raw.ssthresh),
            smoothed_rtt: told(raw.smoothed_rtt),
            latest_rtt: told(raw.latest_rtt),
            min_rtt: told(raw.min_rtt),
            packets_sent: told(raw.packets_sent),
            packets_lost: told(raw.packets_lost),
            bytes_sent: told(raw.bytes_sent),
            bytes_lost: told(raw.bytes_lost),
            pto_count: told(raw.pto_count),
            pacing_rate: told(raw.pacing_rate),
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        // SAFETY: The end is alive, and nothing uses it afterwards.
        unsafe { (self.functions.destroy)(self.raw()) }
    }
}
