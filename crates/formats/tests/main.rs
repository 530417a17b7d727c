//! Captures of all forms, written byte by byte, and what the analysis finds in them.

mod bounds;
mod connections;
mod damage;
mod files;
mod frames;
mod generator;
mod real_time;
mod workload;
