//! Columns `id` and `after` of a flow list: flows that wait for others.

use super::times::LATEST;
use crate::traffic::{FlowDependency, ReplayFlow};
use forebay_types::Time;
use std::collections::HashMap;

/// Names of flows, and what each waits for, in the order of the list.
#[derive(Debug, Default)]
pub(super) struct Dependencies {
    ids: HashMap<String, u32>,
    rows: Vec<Row>,
}

/// A row of the list.
#[derive(Debug)]
struct Row {
    line: usize,
    id: String,
    /// Ids of other flows, separated by blanks, semicolons or plus signs; each may have a pause, `ID@5us`. `@5us` is a time after the start of the run.
    after: String,
}

impl Dependencies {
    /// Adds the next flow. The error is a message about its line.
    pub(super) fn add(&mut self, id: &str, after: &str) -> Result<(), String> {
        if id.is_empty() {
            return Err("the flow has no `id`".into());
        }
        if let Some(other) = self.ids.insert(id.to_owned(), self.rows.len() as u32) {
            return Err(format!("the flow in line {} has the same id `{id}`", self.rows[other as usize].line));
        }
        self.rows.push(Row { line: 0, id: id.to_owned(), after: after.to_owned() });
        Ok(())
    }

    /// Sets the line of the flow that was added last.
    pub(super) fn set_line(&mut self, line: usize) {
        if let Some(row) = self.rows.last_mut() {
            row.line = line;
        }
    }

    /// Events that flows wait for, by their places in the list. The error is `line: message`.
    pub(super) fn resolve(&self, flows: &[ReplayFlow]) -> Result<Vec<FlowDependency>, String> {
        let mut all: Vec<FlowDependency> = Vec::new();
        for (waiting, row) in self.rows.iter().enumerate() {
            let before = all.len();
            for item in row.after.split([' ', ';', '+']).filter(|item| !item.is_empty()) {
                let d = self.dependency(item, waiting, flows).map_err(|e| format!("{}: flow `{}` {e}", row.line, row.id))?;
                if all[before..].iter().any(|other| other.first == d.first) {
                    return Err(format!("{}: flow `{}` waits twice for `{item}`", row.line, row.id));
                }
                all.push(d);
            }
        }
        match self.waits_for_itself(&all) {
            Some(row) => Err(format!("{}: flow `{}` waits for itself through other flows", row.line, row.id)),
            None => Ok(all),
        }
    }

    /// The event `item` that flow `waiting` waits for.
    fn dependency(&self, item: &str, waiting: usize, flows: &[ReplayFlow]) -> Result<FlowDependency, String> {
        let (id, pause) = match item.rsplit_once('@').filter(|_| !self.ids.contains_key(item)) {
            Some((id, pause)) => {
                let time = pause.parse::<Time>().ok().filter(|pause| *pause <= LATEST);
                (id, time.ok_or_else(|| format!("waits for `{item}`, and `{pause}` is not a time such as 5us"))?)
            }
            None => (item, Time::ZERO),
        };
        let waiting = waiting as u32;
        if id.is_empty() {
            return Ok(FlowDependency { first: None, waiting, pause });
        }
        let Some(&first) = self.ids.get(id) else {
            return Err(format!("waits for `{id}`, and no flow has this id"));
        };
        let (a, b) = (&flows[first as usize], &flows[waiting as usize]);
        if a.dst != b.src && a.src != b.src {
            return Err(format!(
                "waits for `{id}`, and its source neither receives nor sends that flow: it would not know of its end"
            ));
        }
        Ok(FlowDependency { first: Some(first), waiting, pause })
    }

    /// A flow that never starts, if there is one.
    fn waits_for_itself(&self, all: &[FlowDependency]) -> Option<&Row> {
        let mut waits = vec![0_u32; self.rows.len()];
        let mut next: Vec<Vec<u32>> = vec![Vec::new(); self.rows.len()];
        for (first, waiting) in all.iter().filter_map(|d| Some((d.first?, d.waiting))) {
            waits[waiting as usize] += 1;
            next[first as usize].push(waiting);
        }
        let mut ready: Vec<usize> = (0..waits.len()).filter(|i| waits[*i] == 0).collect();
        while let Some(flow) = ready.pop() {
            for &waiting in &next[flow] {
                waits[waiting as usize] -= 1;
                if waits[waiting as usize] == 0 {
                    ready.push(waiting as usize);
                }
            }
        }
        waits.iter().position(|n| *n > 0).map(|i| &self.rows[i])
    }
}
