//! Formats of other programs: networks, flow lists and traces of simulators become scenarios, and results become files of other programs.
//!
//! * [`import()`] reads files, recognizes each by its content, and returns a scenario with its lists.
//! * `hpcc`: `topology.txt`, `config.txt` and `flow.txt` of HPCC, and the topologies of SimAI.
//! * `htsim`: topologies (`.topo`) and connection matrices (`.cm`).
//! * `goal` and `chakra`: messages of jobs that wait for others.
//! * [`fct`]: completion times in the format of HPCC's analysis scripts.
//! * [`flent`]: time series of Flent, in both directions.
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
mod lines;
mod quantity;
mod scenario;
mod schedule;

pub use error::FileError;
pub use import::{Import, ImportOptions, Source, import};
pub use kind::FileKind;
