//! A mutex is locked although somebody has panicked with it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks it.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
