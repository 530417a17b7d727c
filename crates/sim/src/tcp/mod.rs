//! TCP, sans-IO.

pub mod profile;
