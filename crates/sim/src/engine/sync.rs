//! What `barrier.rs` is made of; `barrier_tests.rs` compiles the same source with steps of its own scheduler in their place.

pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicU32, Ordering};
pub(super) use std::sync::{Condvar, Mutex, PoisonError};
