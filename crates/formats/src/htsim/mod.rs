//! Input files of htsim: csg-htsim, and the simulators of UEC and SPCL.

mod matrix;
mod topo;

pub(crate) use matrix::{StartUnit, read as read_matrix};
pub(crate) use topo::read as read_topology;
