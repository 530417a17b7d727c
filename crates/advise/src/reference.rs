//! Runs of the present network: their tables, and the references that the runs of changes are compared with while they run.
//!
//! The present network runs until its own objective is known. A change runs until the ratio of its objective to that of the present network is known,
//! or until the change is certainly worse. So it has fewer messages than the run of the present network with the same seed, and is compared with the
//! messages until the same time ([`Compared`]).

use crate::columns::{Column, texts};
use crate::measure::{ClassNumbers, Runs, TABLES, classes};
use arrow_array::RecordBatch;
use forebay_experiment::decisions::{ItemKind, WorkItem};
use forebay_experiment::stopping::figure::Statistic;
use forebay_experiment::stopping::reference_run::{OwnFigure, Reference};
use forebay_runner::sweep::{Session, Ticket, UnitKey, UnitRecord};
use forebay_scenario::{Goal, Objective};
use forebay_store::StoreError;
use forebay_types::{GroupId, Time, TimeOrNever, WorkloadId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Accuracy at which the run of a change ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Accuracy {
    /// Largest half width of the interval of the ratio to the present network, as a fraction of the ratio.
    pub(crate) within: f64,
    /// Ratio from which on the change is certainly worse, and its value does not matter.
    pub(crate) too_large: Option<f64>,
}

/// Finished runs of the present network.
#[derive(Default)]
pub(crate) struct References {
    runs: BTreeMap<UnitKey, Present>,
}

struct Present {
    record: Arc<UnitRecord>,
    flows: Vec<RecordBatch>,
    queries: Vec<RecordBatch>,
    /// `None` if the objective is that of the whole run.
    reference: Option<Arc<Reference>>,
}

/// Measurements of all classes in each run, by seed.
pub(crate) struct Compared {
    /// The present network, over its whole run.
    pub(crate) whole: Runs,
    /// The present network, until the end of the run with the change.
    pub(crate) before: Runs,
    /// The network with the change.
    pub(crate) after: Runs,
}

/// Least number of messages beyond a quantile, for a ratio over a part of a run. Our choice: as for the rule that ends the runs.
const TAIL: f64 = 25.0;

/// Value of the whole run of the present network, and that of a change. The latter is its own value times the factor by which the present network's
/// value over the whole run differs from that over the time of both. With too few messages over that time the factor would be chance, and is 1.
pub(crate) fn scaled(goal: Goal, whole: &ClassNumbers, before: &ClassNumbers, after: &ClassNumbers) -> Option<(f64, f64)> {
    let (whole, part, after) = (whole.value(goal)?, before.value(goal)?, after.value(goal)?);
    let tail = match goal {
        Goal::P50 => 0.5,
        Goal::P99 => 0.01,
        Goal::P999 => 0.001,
        Goal::Mean | Goal::DeadlineMisses | Goal::Completion | Goal::Goodput => 0.05,
    };
    let enough = part > 0.0 && before.started as f64 * tail >= TAIL;
    Some((whole, if enough { after * (whole / part) } else { after }))
}

impl Compared {
    /// Runs of the same duration.
    pub(crate) fn new(before: Runs, after: Runs) -> Compared {
        Compared { whole: before.clone(), before, after }
    }
}

impl References {
    /// Adds the runs of a finished ticket, with its records.
    pub(crate) fn add(
        &mut self,
        session: &Session,
        (ticket, records): (&Ticket, &[Arc<UnitRecord>]),
        (classes, objective): (&[String], &Objective),
        accuracy: Option<Accuracy>,
    ) -> Result<(), StoreError> {
        for (key, record) in ticket.plan().units().iter().map(|u| u.key()).zip(records) {
            if self.runs.contains_key(key) {
                continue;
            }
            let [flows, queries] = tables(session, key)?;
            let end = Time::from_ns(record.end_ns);
            let reference = accuracy.and_then(|a| reference(classes, objective, (a, end), &flows, &queries)).map(Arc::new);
            self.runs.insert(*key, Present { record: record.clone(), flows, queries, reference });
        }
        Ok(())
    }

    /// The references of the first `seeds` runs of a ticket, if each has one.
    pub(crate) fn of(&self, ticket: &Ticket, seeds: u32) -> Option<Vec<(UnitKey, Arc<Reference>)>> {
        let one = |key: &UnitKey| Some((*key, self.runs.get(key)?.reference.clone()?));
        let all: Vec<_> = ticket.plan().units().iter().take(seeds as usize).map(|u| one(u.key())).collect::<Option<_>>()?;
        (all.len() == seeds as usize).then_some(all)
    }

    /// Measurements of the runs of a ticket; each until a time, if there is one for it.
    pub(crate) fn measured(&self, ticket: &Ticket, names: &[String], until_ns: &[u64]) -> Runs {
        let one = |(i, key): (usize, &UnitKey)| {
            let run = self.runs.get(key)?;
            let until = until_ns.get(i).copied().unwrap_or(u64::MAX);
            Some(classes(names, &run.record, until, &run.flows, &run.queries))
        };
        ticket.plan().units().iter().map(|u| u.key()).enumerate().filter_map(one).collect()
    }
}

/// Tables of messages and queries of a run.
pub(crate) fn tables(session: &Session, key: &UnitKey) -> Result<[Vec<RecordBatch>; 2], StoreError> {
    let table = |name| session.store().table(key, name, None);
    Ok([table(TABLES[0])?, table(TABLES[1])?])
}

/// The reference of a run with these tables; `None` if a part of a run cannot replace the whole.
fn reference(
    classes: &[String],
    objective: &Objective,
    (Accuracy { within, too_large }, end): (Accuracy, Time),
    flows: &[RecordBatch],
    queries: &[RecordBatch],
) -> Option<Reference> {
    let own = own_figure(classes, objective, within)?;
    let items = |batches, kind, column| items(batches, (&own.class, *own.workloads.first()?), kind, column);
    let mut work = items(queries, ItemKind::Query, "qct_ns")?;
    if work.is_empty() {
        work = items(flows, ItemKind::Message, "fct_ns")?;
    }
    let figure = own.of(&work);
    Some(Reference::new(work.into_iter(), figure, within, too_large).ended_at(end))
}

/// The objective as a figure that ends a run; `None` if a part of a run cannot replace the whole.
pub(crate) fn own_figure(classes: &[String], objective: &Objective, within: f64) -> Option<OwnFigure> {
    let statistic = match objective.goal {
        Goal::Mean => Statistic::Mean,
        Goal::P50 => Statistic::Quantile(0.5),
        Goal::P99 => Statistic::Quantile(0.99),
        Goal::P999 => Statistic::Quantile(0.999),
        Goal::DeadlineMisses | Goal::Completion | Goal::Goodput => return None,
    };
    let class = objective.class.clone();
    let workloads = classes.iter().enumerate().filter(|(_, c)| **c == class).map(|(i, _)| WorkloadId::from_index(i)).collect();
    Some(OwnFigure { statistic, class, workloads, within })
}

/// Messages or queries of a class, whose times are in a column of nanoseconds.
fn items(batches: &[RecordBatch], (class, workload): (&str, WorkloadId), kind: ItemKind, column: &str) -> Option<Vec<WorkItem>> {
    let time = |ns: i64| Time(u64::try_from(ns).unwrap_or(0).saturating_mul(1_000));
    let mut all = Vec::new();
    for batch in batches {
        let (names, start, took) = (texts(batch, "class"), Column::of(batch, "start_ns"), Column::of(batch, column));
        let size = Column::of(batch, "size_bytes");
        let counts = ["rtos", "syn_rtos", "segs_retx"].map(|c| Column::of(batch, c));
        for (row, _) in names.iter().enumerate().filter(|(_, name)| *name == class) {
            // Endless flows have no size.
            let size_bytes = size.int(row).and_then(|s| u64::try_from(s).ok());
            if kind == ItemKind::Message && size_bytes.is_none() {
                continue;
            }
            let start = time(start.int(row)?);
            // Queries do not count segments.
            let [rtos, syn_rtos, repeated] = counts.each_ref().map(|c| c.int(row).unwrap_or(0));
            all.push(WorkItem {
                kind,
                workload,
                group: GroupId::new(0),
                size_bytes: size_bytes.unwrap_or(0),
                start,
                end: took.int(row).map_or(TimeOrNever::NEVER, |t| TimeOrNever::at(start + time(t))),
                ideal: Time::ZERO,
                opens: false,
                timeouts: u32::try_from(rtos + syn_rtos).unwrap_or(u32::MAX),
                lost: rtos + syn_rtos + repeated > 0,
            });
        }
    }
    Some(all)
}
