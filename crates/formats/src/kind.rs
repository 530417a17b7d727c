//! Recognition of files by their content.

use crate::tokens::words_of_lines;
use std::fmt;

/// Kind of an imported file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Topology of HPCC or SimAI.
    HpccTopology,
    /// Configuration of HPCC.
    HpccConfig,
    /// Flow list of HPCC.
    HpccFlows,
    /// Topology of htsim.
    HtsimTopology,
    /// Connection matrix of htsim.
    HtsimMatrix,
    /// Schedule of dependent messages.
    Goal,
}

impl FileKind {
    /// End of the names of Chakra traces: protocol buffers have no first bytes of their own.
    pub(crate) const TRACE: &str = ".et";

    /// Kind of the file with this text, if it is a known one.
    pub fn of(text: &str) -> Option<FileKind> {
        let (_, first) = words_of_lines(text).next()?;
        let is_key = |w: &str| w.contains('_') && w.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        let integer = |w: &&str| w.parse::<u64>().is_ok();
        let begins = |keys: &[&str]| words_of_lines(text).any(|(_, w)| keys.iter().any(|k| w[0].eq_ignore_ascii_case(k)));
        match first.len() {
            1 if integer(&first[0]) => Some(FileKind::HpccFlows),
            3 if first.iter().all(integer) => Some(FileKind::HpccTopology),
            6 | 7 if first[..5].iter().all(integer) && !integer(&first[5]) => Some(FileKind::HpccTopology),
            _ if is_key(first[0]) => Some(FileKind::HpccConfig),
            2 if first[0] == "num_ranks" => Some(FileKind::Goal),
            2 if begins(&["tiers", "podsize"]) => Some(FileKind::HtsimTopology),
            2 if begins(&["connections"]) => Some(FileKind::HtsimMatrix),
            _ => None,
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileKind::HpccTopology => "a topology of HPCC",
            FileKind::HpccConfig => "a configuration of HPCC",
            FileKind::HpccFlows => "a flow list of HPCC",
            FileKind::HtsimTopology => "a topology of htsim",
            FileKind::HtsimMatrix => "a connection matrix of htsim",
            FileKind::Goal => "a GOAL schedule",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_by_content() {
        for (text, kind) in [
            ("5 1 4\n4\n", Some(FileKind::HpccTopology)),
            ("8 2 2 2 8 H100\n", Some(FileKind::HpccTopology)),
            ("8 2 2 2 8 H100 1\n", Some(FileKind::HpccTopology)),
            ("2\n0 1 3 100 20000 2\n", Some(FileKind::HpccFlows)),
            ("998700 \n", Some(FileKind::HpccFlows)),
            ("ENABLE_QCN 1\n", Some(FileKind::HpccConfig)),
            ("# comment\nNodes 32\nTiers 2\n", Some(FileKind::HtsimTopology)),
            ("Nodes 16\nConnections 1\n", Some(FileKind::HtsimMatrix)),
            ("num_ranks 2\n", Some(FileKind::Goal)),
            ("src,dst,bytes,start_s\n", None),
            ("name = \"x\"\n", None),
            ("", None),
        ] {
            assert_eq!(FileKind::of(text), kind, "{text:?}");
        }
    }
}
