//! Files of other programs: networks, flow lists and traces of simulators become scenarios, captured traffic is analyzed and becomes workloads, and
//! results become files of other programs.
//!
//! * [`import()`] reads files, recognizes each by its content, and returns a scenario with its lists.
//! * `hpcc`: `topology.txt`, `config.txt` and `flow.txt` of HPCC, and the topologies of SimAI.
//! * `htsim`: topologies (`.topo`) and connection matrices (`.cm`).
//! * `goal` and `chakra`: messages of jobs that wait for others.
//! * [`fct`]: completion times in the format of HPCC's analysis scripts.
//! * [`flent`]: time series of Flent, in both directions.
//! * [`trains`]: packet trains, round-trip times and retransmissions of captured TCP traffic, and workloads from them.
//!
//! A file with an unknown word is refused with its line: a simulation of a network that was understood in part has no value.

mod chakra;
mod error;
mod fabric;
pub mod fct;
pub mod flent;
mod flow_set;
mod goal;
mod hpcc;
mod htsim;
mod import;
mod kind;
mod quantity;
mod scenario;
mod schedule;
mod tokens;
pub mod trains;

pub use error::FileError;
pub use import::{Import, ImportOptions, Source, import};
pub use kind::FileKind;
