//! The memory that the rows of a run may occupy, and the memory that they do occupy.
//!
//! Memory for rows is taken many rows at a time, and only then is the budget asked: a packet costs nothing. A table that
//! gets no more room stays as it is, and the run ends at the next opportunity ([`crate::Simulation::check_memory`]).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use windtunnel_units::Bytes;

/// The budget that all tables of a run share.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: AtomicU64,
    held: AtomicU64,
    /// The table that was granted room last.
    latest: Mutex<Option<&'static str>>,
    /// The table that got no more room.
    short: OnceLock<&'static str>,
}

impl Default for Shared {
    fn default() -> Shared {
        Shared {
            limit: AtomicU64::new(u64::MAX),
            held: AtomicU64::new(0),
            latest: Mutex::default(),
            short: OnceLock::new(),
        }
    }
}

impl Budget {
    /// Sets what all rows together may occupy.
    pub(crate) fn set_limit(&self, limit: Bytes) {
        self.0.limit.store(limit.get(), Ordering::Relaxed);
    }

    pub(crate) fn limit(&self) -> Bytes {
        Bytes::new(self.0.limit.load(Ordering::Relaxed))
    }

    /// What all rows occupy, with the room for further ones.
    pub(crate) fn held(&self) -> Bytes {
        Bytes::new(self.0.held.load(Ordering::Relaxed))
    }

    /// The table that got no more room, if there is one.
    pub(crate) fn short(&self) -> Option<&'static str> {
        self.0.short.get().copied()
    }

    /// The table that was granted room last: of those that grow, it is one of the fastest.
    pub(crate) fn latest(&self) -> Option<&'static str> {
        *self.0.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes `amount` for `table`, if that much is left and `reserve` succeeds.
    pub(crate) fn take(&self, table: &'static str, amount: Bytes, reserve: impl FnOnce() -> bool) -> bool {
        let held = self.held().get().saturating_add(amount.get());
        let granted = held <= self.limit().get() && self.short().is_none() && reserve();
        if granted {
            self.0.held.store(held, Ordering::Relaxed);
            *self.0.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(table);
        } else {
            self.0.short.get_or_init(|| table);
        }
        granted
    }

    /// What was granted is free again.
    pub(crate) fn give_back(&self, amount: Bytes) {
        self.0.held.store(self.held().get().saturating_sub(amount.get()), Ordering::Relaxed);
    }

    /// Whether `items`, which belong to `table`, have room for one more. Ask before it is pushed.
    #[inline]
    pub(crate) fn room_in<T>(&self, items: &mut Vec<T>, table: &'static str) -> bool {
        items.len() < items.capacity() || {
            let more = growth(items.len(), 1);
            let amount = Bytes::new((more * size_of::<T>()) as u64);
            self.take(table, amount, || items.try_reserve_exact(more).is_ok())
        }
    }
}

/// For how many more rows a table of `rows` asks room, if it needs `needed`: for as many as it has, so that growth
/// costs little per row; a large table asks for half as many, because it takes most of the memory and is not copied to
/// grow.
pub(crate) fn growth(rows: usize, needed: usize) -> usize {
    const LEAST: usize = 64;
    const LARGE: usize = 1 << 20;
    let more = if rows < LARGE { rows } else { rows / 2 };
    more.max(LEAST).max(needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request beyond the limit is refused, and so is every later one: a table with a gap would be wrong. A failed
    /// reservation is a refusal.
    #[test]
    fn the_first_refusal_is_final() {
        let budget = Budget::default();
        budget.set_limit(Bytes::new(100));
        assert!(budget.take("a", Bytes::new(60), || true));
        assert!(!budget.take("b", Bytes::new(41), || true));
        assert!(!budget.take("c", Bytes::new(1), || true));
        assert_eq!((budget.held(), budget.short()), (Bytes::new(60), Some("b")));
        let other = Budget::default();
        assert!(!other.take("d", Bytes::new(1), || false));
        assert_eq!((other.held(), other.short()), (Bytes::ZERO, Some("d")));
    }
}
