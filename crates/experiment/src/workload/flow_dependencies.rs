//! Columns `id` and `after` of a flow list: flows that wait for others.

use crate::traffic::ReplayFlow;
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
    /// Ids of other flows, separated by blanks, semicolons or plus signs.
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

    /// Pairs (flow, flow that waits for it), by their places in the list. The error is `line: message`.
    pub(super) fn pairs(&self, flows: &[ReplayFlow]) -> Result<Vec<(u32, u32)>, String> {
        let mut pairs = Vec::new();
        for (waiting, row) in self.rows.iter().enumerate() {
            let error = |message: String| format!("{}: {message}", row.line);
            let before = pairs.len();
            for id in row.after.split([' ', ';', '+']).filter(|id| !id.is_empty()) {
                let Some(&first) = self.ids.get(id) else {
                    return Err(error(format!("flow `{}` waits for `{id}`, and no flow has this id", row.id)));
                };
                let (a, b) = (&flows[first as usize], &flows[waiting]);
                if a.dst != b.src && a.src != b.src {
                    return Err(error(format!(
                        "flow `{}` waits for `{id}`, and its source neither receives nor sends that flow: it would not know of its end",
                        row.id
                    )));
                }
                if pairs[before..].contains(&(first, waiting as u32)) {
                    return Err(error(format!("flow `{}` waits twice for `{id}`", row.id)));
                }
                pairs.push((first, waiting as u32));
            }
        }
        match self.waits_for_itself(&pairs) {
            Some(row) => Err(format!("{}: flow `{}` waits, by way of others, for itself", row.line, row.id)),
            None => Ok(pairs),
        }
    }

    /// A flow that never starts, if there is one.
    fn waits_for_itself(&self, pairs: &[(u32, u32)]) -> Option<&Row> {
        let mut waits = vec![0_u32; self.rows.len()];
        let mut next: Vec<Vec<u32>> = vec![Vec::new(); self.rows.len()];
        for &(first, waiting) in pairs {
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
