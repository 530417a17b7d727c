//! What `gate.rs` is made of; its test under loom puts loom's in their place.

pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicU32, Ordering};
pub(super) use std::sync::{Condvar, Mutex, PoisonError};
