//! What the engine runs: an experiment, of which only the transports are translated.

pub use crate::tcp::config::TcpConfig;
pub use forebay_experiment::Experiment as SimConfig;
pub use forebay_experiment::assign::Assign;
pub use forebay_experiment::network::{Network, Node, PortConfig};
pub use forebay_experiment::observe::Observe;
pub use forebay_experiment::traffic::*;
pub use forebay_experiment::transport::*;
