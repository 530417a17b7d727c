//! Simulation of plans: in the network of the file and in its variations, on the pool and in the store of sweeps.

use crate::assumptions::Variation;
use crate::evidence::MATERIAL;
use crate::measure::{self, Runs, TABLES};
use crate::peers::Peers;
use crate::plan::Plan;
use crate::rank::{Entry, compare};
use crate::reference::{Accuracy, Compared, References, own_figure, tables};
use crate::request::{AdviseError, Request, Watcher};
use crate::screen;
use crate::values::{inline, scaled};
use forebay_experiment::stopping::steady_state;
use forebay_runner::sweep::{Counts, Session, Ticket, UnitKey, UnitRecord};
use forebay_scenario::{Errors, Objective, Scenario};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// State of a search.
pub(crate) struct Trial<'a> {
    pub(crate) request: &'a Request,
    pub(crate) session: Session,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) watcher: &'a mut dyn Watcher,
    pub(crate) classes: Vec<String>,
    pub(crate) objective: Objective,
    /// Overrides of every run: defaults of the present hosts, which a change must not move by itself.
    pub(crate) ground: Vec<String>,
    /// Runs of the present network.
    pub(crate) references: References,
    /// Durations of the whole runs of changes whose figures may end them earlier, in nanoseconds.
    pub(crate) durations_ns: BTreeMap<UnitKey, u64>,
    /// Runs of changes that ended earlier.
    pub(crate) ended_early: BTreeSet<UnitKey>,
    /// Plans that were not simulated, with the reason.
    pub(crate) dropped: Vec<(String, String)>,
}

impl Trial<'_> {
    /// Submits the seeds 1 to `seeds` of the present network.
    pub(crate) fn submit(&self, scenario: &Scenario, seeds: u32) -> Result<Ticket, AdviseError> {
        self.submit_from(scenario, 1, seeds)
    }

    /// Submits `seeds` seeds of the present network in a network, from `first`. Its runs end when their objective is known.
    pub(crate) fn submit_from(&self, scenario: &Scenario, first: u64, seeds: u32) -> Result<Ticket, AdviseError> {
        let tables = TABLES.map(str::to_owned).to_vec();
        let Some(figure) = self.request.within.and_then(|within| own_figure(&self.classes, &self.objective, within)) else {
            return self.submit_whole(scenario, first, seeds);
        };
        let seeds = first..=first + u64::from(seeds) - 1;
        self.session.submit_known(scenario, seeds, tables, &Arc::new(figure)).map_err(|e| AdviseError::Sweep(Arc::new(e)))
    }

    /// Submits `seeds` seeds of a scenario for its whole duration, from `first`.
    fn submit_whole(&self, scenario: &Scenario, first: u64, seeds: u32) -> Result<Ticket, AdviseError> {
        let tables = TABLES.map(str::to_owned).to_vec();
        let seeds = first..=first + u64::from(seeds) - 1;
        self.session.submit_seeds(scenario, seeds, tables).map_err(|e| AdviseError::Sweep(Arc::new(e)))
    }

    /// Submits `seeds` seeds of a scenario with a change, from `first`. Its runs end when their ratios to those of the present network, which have
    /// ended, are known.
    pub(crate) fn submit_change(
        &mut self,
        scenario: &Scenario,
        first: u64,
        seeds: u32,
        now: &Ticket,
    ) -> Result<Ticket, AdviseError> {
        let Some(references) = self.references.of(now, seeds) else { return self.submit_whole(scenario, first, seeds) };
        let (tables, seeds) = (TABLES.map(str::to_owned).to_vec(), first..=first + u64::from(seeds) - 1);
        let submitted = self.session.submit_against(scenario, seeds, tables, references);
        let ticket = submitted.map_err(|e| AdviseError::Sweep(Arc::new(e)))?;
        if let Some(duration) = duration_ns(scenario) {
            self.durations_ns.extend(ticket.plan().units().iter().map(|u| (*u.key(), duration)));
        }
        Ok(ticket)
    }

    /// Submits the scenario with each of these plans, in the network of the file, whose present runs `now` have ended. Excluded plans are recorded with
    /// the reason.
    pub(crate) fn submit_all(&mut self, plans: &[Plan], seeds: u32, now: &Ticket) -> Result<Vec<(Plan, Ticket)>, AdviseError> {
        let mut out = Vec::new();
        for plan in plans {
            match self.scenario(Some(plan), None) {
                Ok(scenario) => out.push((plan.clone(), self.submit_change(&scenario, 1, seeds, now)?)),
                Err(why) => self.dropped.push((plan.name(), why)),
            }
        }
        Ok(out)
    }

    /// The scenario with a plan, in a variation. The plan's settings have priority: they are a remedy that is installed in any network.
    pub(crate) fn scenario(&self, plan: Option<&Plan>, variation: Option<&Variation>) -> Result<Scenario, String> {
        let first = |e: Errors| e.list().first().map_or_else(String::new, ToString::to_string);
        let load = |sets: &[String]| forebay_scenario::load(self.request.worlds, &self.request.file, sets, None).map_err(first);
        let mut sets = [self.request.sets.clone(), self.ground.clone()].concat();
        sets.extend(variation.into_iter().flat_map(|v| v.sets.iter().cloned()));
        let Some(plan) = plan else {
            let scenario = load(&sets)?;
            return scenario.resolve().map_err(first).map(|_| scenario);
        };
        let scales: Vec<&(String, f64)> = plan.parts.iter().flat_map(|c| &c.scales).collect();
        if !scales.is_empty() {
            let resolved = load(&sets)?.resolve().map_err(first)?;
            let echo = resolved.variants.first().map(|v| &v.echo).ok_or("the scenario has no runs")?;
            for (key, factor) in scales {
                let now = echo.pointer(&format!("/{}", key.replace('.', "/"))).unwrap_or(&serde_json::Value::Null);
                let value = scaled(now, *factor).ok_or_else(|| format!("`{key}` has no value that can be multiplied"))?;
                sets.push(format!("{key}={}", inline(&value)));
            }
        }
        sets.extend(plan.sets());
        let scenario = load(&sets)?;
        let resolved = scenario.resolve().map_err(first)?;
        let excluded = plan.parts.iter().filter(|_| variation.is_none()).find_map(|c| screen::exclusion_reason(c, &resolved));
        excluded.map_or(Ok(scenario), Err)
    }

    /// Compares changes in the network of the file with its present runs.
    pub(crate) fn evaluate(
        &mut self,
        tried: Vec<(Plan, Ticket)>,
        now: &Ticket,
        what: &str,
    ) -> Result<Vec<(Plan, Entry)>, AdviseError> {
        let mut out = Vec::new();
        for (plan, ticket) in tried {
            let compared = self.compared(now, &ticket, what)?;
            let entry = compare(&self.objective, &self.classes, &compared, plan.about());
            out.push((plan, entry));
        }
        Ok(out)
    }

    /// Waits for the runs of the present network, which changes are compared with. In the network of the file, certainly worse changes end, too: they are
    /// not tried in other networks.
    pub(crate) fn present(&mut self, now: &Ticket, in_file: bool, what: &str) -> Result<Runs, AdviseError> {
        let records = self.finish(now, what)?;
        let accuracy = self.request.within.map(|within| Accuracy { within, too_large: in_file.then_some(MATERIAL) });
        let about = (self.classes.as_slice(), &self.objective);
        self.references.add(&self.session, (now, &records), about, accuracy).map_err(AdviseError::Store)?;
        Ok(self.references.measured(now, &self.classes, &[]))
    }

    /// Waits for the runs of a change, and compares them with the present runs `now`.
    pub(crate) fn compared(&mut self, now: &Ticket, change: &Ticket, what: &str) -> Result<Compared, AdviseError> {
        let records = self.finish(change, what)?;
        let ends: Vec<u64> = records.iter().map(|r| r.end_ns).collect();
        let mut after = Vec::with_capacity(records.len());
        for (unit, record) in change.plan().units().iter().zip(&records) {
            if self.durations_ns.get(unit.key()).is_some_and(|whole| record.end_ns < *whole) {
                self.ended_early.insert(*unit.key());
            }
            let [flows, queries] = tables(&self.session, unit.key()).map_err(AdviseError::Store)?;
            after.push(measure::classes(&self.classes, record, u64::MAX, &flows, &queries));
        }
        let (whole, before) =
            (self.references.measured(now, &self.classes, &[]), self.references.measured(now, &self.classes, &ends));
        Ok(Compared { whole, before, after })
    }

    /// Waits for the results of a ticket.
    fn finish(&mut self, ticket: &Ticket, what: &str) -> Result<Vec<Arc<UnitRecord>>, AdviseError> {
        loop {
            if self.stop.load(Relaxed) {
                let Counts { done, total, .. } = self.session.kept();
                return Err(AdviseError::Interrupted { done, total });
            }
            self.watcher.tick(what, self.session.counts());
            if let Some(result) = self.session.wait(ticket, Duration::from_millis(100)) {
                return result.map_err(AdviseError::Sweep);
            }
        }
    }

    /// Hosts of the transports and classes, from the first run of a finished ticket.
    pub(crate) fn peers(&self, ticket: &Ticket) -> Result<Peers, AdviseError> {
        let Some(unit) = ticket.plan().units().first() else { return Ok(Peers::default()) };
        let flows = self.session.store().table(unit.key(), TABLES[0], None).map_err(AdviseError::Store)?;
        Ok(Peers::of(&flows))
    }
}

/// Duration of the whole run of a scenario, in nanoseconds; `None` if no figure ends it earlier.
fn duration_ns(scenario: &Scenario) -> Option<u64> {
    let resolved = scenario.resolve().ok()?;
    let config = &resolved.variants.first()?.config;
    config.duration.filter(|_| steady_state::reason_against(config).is_none()).map(|d| d.as_ns())
}
