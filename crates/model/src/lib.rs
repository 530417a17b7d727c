//! Analytic models: what theory says without simulating, in microseconds a point. Pure functions of their arguments; bad input is a
//! [`ModelError`] that names the argument, never NaN.
//!
//! | module | what | source |
//! |---|---|---|
//! | [`incast`] | goodput of barrier-synchronised senders, and where it collapses | Zhang et al., "Modeling and Solving TCP Incast" (cited as INCAST with equation numbers) |
//! | [`trim`] | threshold interval, buffers and waits of TCP-TRIM | TCP-TRIM (cited as TRIM) |
//! | [`dctcp`] | DCTCP's queue and windows in steady state | DCTCP slides and Alizadeh et al., SIGCOMM 2010 |
//! | [`aimd`] | how flows of different congestion controls share a link | coexistence study, Eqs. (3) and (4) |
//! | [`ceilings`] | what headers, windows and pipes allow at best | arithmetic |
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
