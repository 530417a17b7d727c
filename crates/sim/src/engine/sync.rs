//! Synchronization primitives of `barrier.rs`. `barrier_tests.rs` compiles the same source with primitives of its own scheduler.

pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicU32, Ordering};
pub(super) use std::sync::{Condvar, Mutex, PoisonError};
