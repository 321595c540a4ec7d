//! The structures of `windtunnel_stack.h`, field by field.

use std::ffi::{c_char, c_void};

/// What is not told; as a time, never.
pub(crate) const UNTOLD: u64 = u64::MAX;

#[repr(C)]
pub(crate) struct RawConfig {
    pub(crate) is_server: u32,
    pub(crate) sets_ecn: u32,
    pub(crate) seed: u64,
    pub(crate) max_udp_payload: u64,
    pub(crate) initial_window: u64,
    pub(crate) controller: *const c_char,
    pub(crate) server_name: *const c_char,
    pub(crate) certificate: *const u8,
    pub(crate) certificate_length: usize,
    pub(crate) key: *const u8,
    pub(crate) key_length: usize,
}

#[repr(C)]
pub(crate) struct RawEvent {
    pub(crate) kind: u32,
    pub(crate) stream: u64,
    pub(crate) reason: *const c_char,
}

#[repr(C)]
pub(crate) struct RawState {
    pub(crate) cwnd: u64,
    pub(crate) bytes_in_flight: u64,
    pub(crate) ssthresh: u64,
    pub(crate) smoothed_rtt: u64,
    pub(crate) latest_rtt: u64,
    pub(crate) min_rtt: u64,
    pub(crate) packets_sent: u64,
    pub(crate) packets_lost: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_lost: u64,
    pub(crate) pto_count: u64,
    pub(crate) pacing_rate: u64,
}

impl RawState {
    /// Nothing is told.
    pub(crate) const UNTOLD: RawState = RawState {
        cwnd: UNTOLD,
        bytes_in_flight: UNTOLD,
        ssthresh: UNTOLD,
        smoothed_rtt: UNTOLD,
        latest_rtt: UNTOLD,
        min_rtt: UNTOLD,
        packets_sent: UNTOLD,
        packets_lost: UNTOLD,
        bytes_sent: UNTOLD,
        bytes_lost: UNTOLD,
        pto_count: UNTOLD,
        pacing_rate: UNTOLD,
    };
}

/// Names up to a null pointer.
pub(crate) type RawNames = *const *const c_char;

/// Writes the table as a library hands it out, in which any pointer may be null, and its functions when none is.
macro_rules! functions {
    ($($name:ident: ($($argument:ty),*) $(-> $result:ty)?;)*) => {
        #[repr(C)]
        pub(crate) struct RawTable {
            pub(crate) version: u32,
            pub(crate) name: *const c_char,
            pub(crate) version_text: *const c_char,
            pub(crate) controllers: RawNames,
            pub(crate) unseeded: RawNames,
            $($name: Option<unsafe extern "C" fn($($argument),*) $(-> $result)?>,)*
        }

        #[derive(Clone, Copy, Debug)]
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl RawTable {
            /// The functions, or the name of the first that is missing.
            pub(crate) fn functions(&self) -> Result<Functions, &'static str> {
                Ok(Functions { $($name: self.$name.ok_or(stringify!($name))?,)* })
            }
        }
    };
}

functions! {
    create: (*const RawConfig, *mut *const c_char) -> *mut c_void;
    destroy: (*mut c_void);
    connect: (*mut c_void, u64);
    receive: (*mut c_void, *const u8, usize, u32, u64);
    transmit: (*mut c_void, *mut u8, usize, *mut u32, u64) -> usize;
    next_timer: (*mut c_void) -> u64;
    expire: (*mut c_void, u64);
    poll: (*mut c_void, *mut RawEvent);
    open: (*mut c_void) -> i64;
    write: (*mut c_void, u64, *const u8, usize) -> usize;
    finish: (*mut c_void, u64);
    reset: (*mut c_void, u64);
    read: (*mut c_void) -> u64;
    close: (*mut c_void, u64);
    state: (*mut c_void, *mut RawState);
}
