//! Flows that were read, and the CSV lists that scenarios replay.

use crate::fabric::Node;
use forebay_types::Time;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Flows of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct FlowSet {
    pub flows: Vec<Flow>,
    /// True if flows wait for others: the list has the columns `id` and `after` then.
    pub dependent: bool,
}

/// A flow.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Flow {
    pub src: Node,
    pub dst: Node,
    pub bytes: u64,
    /// Start; of a flow that waits for others, the pause after them.
    pub start: Time,
    /// Destination port, or another number that distinguishes kinds of traffic.
    pub class: Option<u32>,
    /// Number of the flow, for `after` of others.
    pub id: u64,
    /// Events that it waits for.
    pub after: Vec<After>,
}

/// An event that a flow waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct After {
    /// Number of the flow that ends first; `None`: the start of the run.
    pub flow: Option<u64>,
    /// Pause after its end.
    pub pause: Time,
}

impl std::fmt::Display for After {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(flow) = self.flow {
            write!(f, "{flow}")?;
        }
        if self.flow.is_none() || self.pause > Time::ZERO {
            write!(f, "@{}ps", self.pause.0)?;
        }
        Ok(())
    }
}

/// Maximum number of classes that get a workload of their own.
const MAX_CLASSES: usize = 16;

impl FlowSet {
    /// Moves the start of the list to its first flow. Returns the time before it.
    pub(crate) fn remove_idle_time(&mut self) -> Time {
        let first = self.flows.iter().filter(|f| f.after.is_empty()).map(|f| f.start).min().unwrap_or(Time::ZERO);
        self.flows.iter_mut().filter(|f| f.after.is_empty()).for_each(|f| f.start = f.start - first);
        first
    }

    /// Last start.
    pub(crate) fn last_start(&self) -> Time {
        self.flows.iter().filter(|f| f.after.is_empty()).map(|f| f.start).max().unwrap_or(Time::ZERO)
    }

    /// Lists by class, in the order of their classes. Flows that wait for others, and flows of many classes, are one list without a name.
    pub(crate) fn lists(&self) -> Vec<(Option<u32>, String)> {
        let mut classes: BTreeMap<Option<u32>, Vec<&Flow>> = BTreeMap::new();
        for flow in &self.flows {
            classes.entry(flow.class).or_default().push(flow);
        }
        if self.dependent || classes.len() > MAX_CLASSES {
            return vec![(None, self.csv(self.flows.iter()))];
        }
        classes.into_iter().map(|(class, flows)| (class, self.csv(flows.into_iter()))).collect()
    }

    fn csv<'a>(&self, flows: impl Iterator<Item = &'a Flow>) -> String {
        let mut out = String::from(if self.dependent { "id,src,dst,bytes,start_ps,after\n" } else { "src,dst,bytes,start_ps\n" });
        for f in flows {
            // Writing to a string cannot fail.
            let _ = if self.dependent {
                let after: Vec<String> = f.after.iter().map(After::to_string).collect();
                writeln!(out, "{},{},{},{},{},{}", f.id, f.src, f.dst, f.bytes, f.start.0, after.join(" "))
            } else {
                writeln!(out, "{},{},{},{}", f.src, f.dst, f.bytes, f.start.0)
            };
        }
        out
    }
}
