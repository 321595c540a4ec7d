//! Asks the processor for memory that will soon be needed.
//!
//! A thousand flows do not fit into a processor's cache, and each packet needs about a hundred cache lines of its flow's
//! state. The loop knows which flows come next, so it asks for their memory while it works for others.
//!
//! This is unsafe code, because safe Rust has no such instruction. Other unsafe code calls C (`windtunnel-foreign`), and
//! takes over a file from Python (`windtunnel-py`).
//! `docs/decisions/0019-many-flows.md` says what it gains.

/// Asking ahead pays from this number of flows on. The state of a flow is about 5 KiB: that of fewer flows stays in a
/// second-level cache of 1 MiB, from which a processor reads faster than it asks. Over CAKE, asking costs 100 flows 8 %
/// and 200 flows 3 to 6 %, and gains 400 flows 10 %.
pub const MANY_FLOWS: usize = 256;

/// The length of a cache line in bytes.
const LINE: usize = 64;

/// Asks for all cache lines of a value; for a `Vec` or a `Box` this does not include what it points to. It changes
/// nothing but the time that the next access takes.
#[inline]
pub fn prefetch<T: ?Sized>(value: &T) {
    lines(std::ptr::from_ref(value).cast(), size_of_val(value));
}

/// Asks for the first `bytes` bytes of a value.
#[inline]
pub fn prefetch_first<T>(value: &T, bytes: usize) {
    lines(std::ptr::from_ref(value).cast(), bytes);
}

/// Asks for the place of the value that will be the `n`th behind this one in a ring or a vector, whether or not there is
/// one.
#[inline]
pub fn prefetch_behind<T>(value: &T, n: usize) {
    lines(std::ptr::from_ref(value).wrapping_add(n).cast(), size_of::<T>());
}

#[inline]
fn lines(first: *const i8, bytes: usize) {
    for offset in (0..bytes).step_by(LINE) {
        fetch(first.wrapping_add(offset));
    }
    // A value that does not start with a line ends in one more.
    fetch(first.wrapping_add(bytes).wrapping_sub(1));
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[expect(unsafe_code, reason = "the instruction has no safe equivalent")]
#[inline]
fn fetch(address: *const i8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction belongs to SSE, which every x86-64 processor has. It reads and writes nothing that a
    // program can observe and never faults, whatever the address is.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

/// On other processors, and under Miri, this does nothing.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
#[inline]
fn fetch(_address: *const i8) {}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any value may be asked for, even one without a size or without memory, and none of them changes.
    #[test]
    fn values_stay_as_they_are() {
        let (number, nothing, bytes) = (7_u64, (), [1_u8; 1000]);
        let empty: Vec<u64> = Vec::new();
        prefetch(&number);
        prefetch(&nothing);
        prefetch(&bytes[1..999]);
        prefetch(empty.as_slice());
        prefetch_first(&bytes, 100);
        prefetch_behind(&bytes[999], 1);
        prefetch_behind(&number, 1_000_000);
        assert_eq!((number, bytes, empty.len()), (7, [1; 1000], 0));
    }
}
