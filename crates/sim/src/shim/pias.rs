//! PIAS (Bai et al., NSDI 2015): a flow starts in the most urgent class and is demoted as it sends.

use super::{Place, ShimConfig, ShimEntry};
use crate::topology::BuildError;
use forebay_param::{Entry, Kind, Param, Values};

/// Parameters, from the registry entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Bytes sent at which a flow leaves each class but the last, in rising order; at most seven.
    pub demote: Vec<u64>,
}

pub(super) const ENTRY: ShimEntry = ShimEntry {
    entry: Entry {
        name: "pias",
        summary: "tags a flow's packets with classes 7, 6, ... as it sends more (PIAS); for strict-priority queues",
        params: &[Param {
            key: "demote",
            kind: Kind::Names,
            default: None,
            doc: "bytes sent after which a flow is demoted by one class: up to seven rising sizes, such as [\"1540KB\", \"2MB\"]",
        }],
    },
    place: Place::Tag,
    build,
};

fn build(values: &Values) -> Result<ShimConfig, BuildError> {
    let sizes = values.names("demote");
    let bytes: Result<Vec<u64>, _> = sizes.iter().map(|t| t.parse::<forebay_units::Bytes>().map(|b| b.0)).collect();
    let demote = bytes.map_err(|e| BuildError::new("demote", e.to_string()))?;
    if demote.is_empty() || demote.len() > 7 || demote.windows(2).any(|w| w[0] >= w[1]) {
        return Err(BuildError::new("demote", "legal: one to seven sizes, each above the one before it"));
    }
    Ok(ShimConfig::Pias(Config { demote }))
}
