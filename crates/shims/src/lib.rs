//! Shims below TCP as state machines without I/O and clock: packets and times go in, packets come out. The simulator and guest kernels use them.
//!
//! The crate is compiled for guest kernels too, which have no standard library.

#![cfg_attr(not(test), no_std)]

extern crate alloc;

pub mod proboscis;
