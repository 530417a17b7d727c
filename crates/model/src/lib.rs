//! Analytic models, evaluated in microseconds. Pure functions of their arguments; invalid input is a [`ModelError`] that names the argument, never
//! NaN.
//!
//! | module | subject | source |
//! |---|---|---|
//! | [`incast`] | goodput of barrier-synchronized senders, and its collapse | Zhang et al., "Modeling and Solving TCP Incast" (cited as INCAST with equation numbers) |
//! | [`trim`] | threshold interval, buffers and waits of TCP-TRIM | TCP-TRIM (cited as TRIM) |
//! | [`dctcp`] | DCTCP's queue and windows in steady state | DCTCP slides and Alizadeh et al., SIGCOMM 2010 |
//! | [`aimd`] | shares of flows with different congestion controls | coexistence study, Eqs. (3) and (4) |
//! | [`ceilings`] | upper bounds by headers, windows and bandwidth-delay products | arithmetic |
//!
//! [`backend`] applies them to an experiment.

pub mod aimd;
pub mod backend;
pub mod ceilings;
pub mod dctcp;
mod error;
pub mod incast;
mod pipe;
mod ratio;
pub mod trim;

pub use error::ModelError;
pub use pipe::Pipe;
pub use ratio::Ratio;
