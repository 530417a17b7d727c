//! The machine below forebay: checks of what it has, and files that other users cannot redirect, replace or hold.

pub mod doctor;
pub mod files;
