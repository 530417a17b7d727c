//! Execution traces of Chakra (MLCommons), the workloads of ASTRA-sim: one file for each rank, `NAME.RANK.et`.
//!
//! Nodes are calculations, sends, receives and collectives, with the nodes that they wait for. Collectives are carried out as ASTRA-sim does by default:
//! on a ring of all ranks, and all-to-all directly.

mod collective;
mod trace;

use crate::FileError;
use crate::fabric::Node as Host;
use crate::flow_set::FlowSet;
use crate::schedule::Schedule;
use collective::Collective;
use std::collections::{BTreeMap, HashMap};
use trace::{Node, Trace};

/// Traces of all ranks.
///
/// # Errors
/// Files that are damaged or missing, and nodes without a counterpart, by their number.
pub(crate) fn read(files: &[(&str, &[u8])], hosts: &[Host], notes: &mut Vec<String>) -> Result<FlowSet, FileError> {
    let files = by_rank(files)?;
    let names: Vec<&str> = files.iter().map(|(file, _)| *file).collect();
    let ranks = files.len();
    if ranks < 2 {
        return Err(FileError::of(names[0], "one rank sends no messages; give the traces of all ranks"));
    }
    let mut schedule = Schedule::new(ranks);
    let (mut without_time, mut collectives) = (0_u64, Vec::new());
    for (rank, (file, bytes)) in files.iter().enumerate() {
        let trace = Trace::decode(bytes).map_err(|e| FileError::of(file, e))?;
        let mut reader = Reader { schedule: &mut schedule, rank, ranks, collectives: Vec::new(), without_time: 0 };
        reader.read(&trace).map_err(|(node, e)| FileError::of(file, format!("node {node}: {e}")))?;
        without_time += reader.without_time;
        collectives.push(reader.collectives);
    }
    check_collectives(&names, &collectives)?;
    let error = |(rank, node, text): (usize, usize, String)| FileError::of(names[rank], format!("node {node}: {text}"));
    let set = schedule.flows(names[0], hosts, &error)?;
    let (messages, per_rank) = (set.flows.len(), collectives[0].len());
    notes.push(format!(
        "rank r is host r of the network; {ranks} ranks send {messages} messages, {per_rank} collectives among them"
    ));
    if without_time > 0 {
        notes.push(format!("{without_time} calculations have no duration_micros, and take no time"));
    }
    Ok(set)
}

/// The files in the order of their ranks, which their names end in.
fn by_rank<'a>(files: &[(&'a str, &'a [u8])]) -> Result<Vec<(&'a str, &'a [u8])>, FileError> {
    let mut all = BTreeMap::new();
    for &(file, bytes) in files {
        let rank = file.strip_suffix(".et").and_then(|name| name.rsplit('.').next()).and_then(|rank| rank.parse::<usize>().ok());
        let rank = rank.ok_or_else(|| FileError::of(file, "the name does not end in the rank, as trace.0.et does"))?;
        if let Some((other, _)) = all.insert(rank, (file, bytes)) {
            return Err(FileError::of(file, format!("{other} is a trace of rank {rank} as well")));
        }
    }
    for (place, (rank, (file, _))) in all.iter().enumerate() {
        if *rank != place {
            return Err(FileError::of(file, format!("the trace of rank {place} is missing; give the files of all ranks")));
        }
    }
    Ok(all.into_values().collect())
}

/// Fails unless all ranks take part in the same collectives, in the same order.
fn check_collectives(names: &[&str], all: &[Vec<(u64, Collective)>]) -> Result<(), FileError> {
    let first = &all[0];
    for (name, of_rank) in names.iter().zip(all).skip(1) {
        let differs = |(a, b): &(&(u64, Collective), &(u64, Collective))| a.1 != b.1;
        if let Some((a, b)) = first.iter().zip(of_rank).find(differs) {
            let text = format!(
                "node {}: {}, and node {} of {} is {}: all ranks take part in each collective",
                b.0, b.1, a.0, names[0], a.1
            );
            return Err(FileError::of(name, text));
        }
        if first.len() != of_rank.len() {
            let text =
                format!("{} collectives, and {} has {}: all ranks take part in each", of_rank.len(), names[0], first.len());
            return Err(FileError::of(name, text));
        }
    }
    Ok(())
}

/// Translation of the nodes of a rank.
struct Reader<'a> {
    schedule: &'a mut Schedule,
    rank: usize,
    ranks: usize,
    /// Collectives in the order of their nodes.
    collectives: Vec<(u64, Collective)>,
    /// Calculations without a duration.
    without_time: u64,
}

/// Tags of messages of collectives begin here; traces have 32 bits.
const COLLECTIVES: u64 = 1 << 40;

impl Reader<'_> {
    fn read(&mut self, trace: &Trace) -> Result<(), (u64, String)> {
        // Nodes may wait for later ones.
        let mut begins: HashMap<u64, Vec<usize>> = HashMap::new();
        let mut ends: HashMap<u64, usize> = HashMap::new();
        let mut groups: Vec<&str> = Vec::new();
        for node in &trace.nodes {
            let (begin, end) = self.node(node).map_err(|e| (node.id, e))?;
            begins.insert(node.id, begin);
            if ends.insert(node.id, end).is_some() {
                return Err((node.id, "the number is used twice".into()));
            }
            if let Some(group) = node.text("pg_name").filter(|group| !groups.contains(group)) {
                groups.push(group);
                if groups.len() > 1 {
                    return Err((
                        node.id,
                        format!("process group `{group}` beside `{}`: collectives of all ranks are supported", groups[0]),
                    ));
                }
            }
        }
        for node in &trace.nodes {
            for first in node.waits_for() {
                let Some(&first) = ends.get(&first) else {
                    return Err((node.id, format!("it waits for node {first}, which the trace does not have")));
                };
                for &begin in &begins[&node.id] {
                    self.schedule.requires(self.rank, begin, first);
                }
            }
        }
        Ok(())
    }

    /// Operations that a node begins with, and the operation at its end.
    fn node(&mut self, node: &Node) -> Result<(Vec<usize>, usize), String> {
        let place = node.id as usize;
        let single = |operation| (vec![operation], operation);
        match node.kind {
            trace::METADATA => Ok(single(self.schedule.calc(self.rank, place, 0))),
            trace::COMP | trace::MEM_LOAD | trace::MEM_STORE => {
                self.without_time += u64::from(node.duration_micros == 0);
                Ok(single(self.schedule.calc(self.rank, place, node.duration_micros.saturating_mul(1000))))
            }
            trace::COMM_SEND => {
                let peer = self.peer(node, "comm_dst")?;
                let tag = node.integer("comm_tag").unwrap_or(0);
                Ok(single(self.schedule.send(self.rank, place, peer, tag, self.size(node)?)))
            }
            trace::COMM_RECV => {
                let peer = self.peer(node, "comm_src")?;
                let tag = node.integer("comm_tag").unwrap_or(0);
                Ok(single(self.schedule.recv(self.rank, place, peer, tag, self.size(node)?)))
            }
            trace::COMM_COLL => {
                if node.is_partial() {
                    return Err("`involved_dim` excludes a dimension: collectives of all ranks are supported".into());
                }
                let collective = Collective::new(node.integer("comm_type").unwrap_or(0), self.size(node)?)?;
                let tag = COLLECTIVES + ((self.collectives.len() as u64) << 20);
                self.collectives.push((node.id, collective));
                Ok(collective.operations(self.schedule, (self.rank, self.ranks), place, tag))
            }
            other => Err(format!("type {other}: legal are calculations, memory accesses, sends, receives and collectives")),
        }
    }

    fn size(&self, node: &Node) -> Result<u64, String> {
        node.integer("comm_size")
            .filter(|n| *n > 0)
            .ok_or_else(|| "the attribute `comm_size`, at least 1 byte, is missing".into())
    }

    fn peer(&self, node: &Node, name: &str) -> Result<usize, String> {
        let peer = node.integer(name).ok_or_else(|| format!("the attribute `{name}` is missing"))? as usize;
        if peer >= self.ranks || peer == self.rank {
            return Err(format!("{name} {peer}; legal: 0 to {} without {} itself", self.ranks - 1, self.rank));
        }
        Ok(peer)
    }
}

#[cfg(test)]
mod tests;
