//! Simulation of plans: in the network of the file and in its variations, on the pool and in the store of sweeps.

use crate::assumptions::Variation;
use crate::measure::{self, ClassNumbers, TABLES};
use crate::peers::Peers;
use crate::plan::Plan;
use crate::rank::{Entry, compare};
use crate::request::{AdviseError, Request, Watcher};
use crate::screen;
use crate::values::{inline, scaled};
use forebay_runner::sweep::{Counts, Session, Ticket};
use forebay_scenario::{Errors, Objective, Scenario};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Measurements of all classes in each run, by seed.
pub(crate) type Runs = Vec<Vec<ClassNumbers>>;

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
    /// Plans that were not simulated, with the reason.
    pub(crate) dropped: Vec<(String, String)>,
}

impl Trial<'_> {
    /// Submits the seeds 1 to `seeds` of a scenario.
    pub(crate) fn submit(&self, scenario: &Scenario, seeds: u32) -> Result<Ticket, AdviseError> {
        self.submit_from(scenario, 1, seeds)
    }

    /// Submits `seeds` seeds of a scenario, from `first`.
    pub(crate) fn submit_from(&self, scenario: &Scenario, first: u64, seeds: u32) -> Result<Ticket, AdviseError> {
        let tables = TABLES.map(str::to_owned).to_vec();
        let seeds = first..=first + u64::from(seeds) - 1;
        self.session.submit_seeds(scenario, seeds, tables).map_err(|e| AdviseError::Sweep(Arc::new(e)))
    }

    /// Submits the scenario with each of these plans. Excluded plans are recorded with the reason.
    pub(crate) fn submit_all(&mut self, plans: &[Plan], seeds: u32) -> Result<Vec<(Plan, Ticket)>, AdviseError> {
        let mut out = Vec::new();
        for plan in plans {
            match self.scenario(Some(plan), None) {
                Ok(scenario) => out.push((plan.clone(), self.submit(&scenario, seeds)?)),
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

    pub(crate) fn evaluate(
        &mut self,
        tried: Vec<(Plan, Ticket)>,
        before: &Runs,
        what: &str,
    ) -> Result<Vec<(Plan, Entry)>, AdviseError> {
        let mut out = Vec::new();
        for (plan, ticket) in tried {
            let after = self.wait(&ticket, what)?;
            let entry = compare(&self.objective, &self.classes, before, &after, plan.about());
            out.push((plan, entry));
        }
        Ok(out)
    }

    /// Measurements of all classes in each run of a ticket, by seed.
    pub(crate) fn wait(&mut self, ticket: &Ticket, what: &str) -> Result<Runs, AdviseError> {
        let records = loop {
            if self.stop.load(Relaxed) {
                let Counts { done, total, .. } = self.session.kept();
                return Err(AdviseError::Interrupted { done, total });
            }
            self.watcher.tick(what, self.session.counts());
            if let Some(result) = self.session.wait(ticket, Duration::from_millis(100)) {
                break result.map_err(AdviseError::Sweep)?;
            }
        };
        let table = |key, name| self.session.store().table(key, name, None).map_err(AdviseError::Store);
        let mut out = Vec::with_capacity(records.len());
        for (unit, record) in ticket.plan().units().iter().zip(&records) {
            let [flows, queries] = [table(unit.key(), TABLES[0])?, table(unit.key(), TABLES[1])?];
            out.push(measure::classes(&self.classes, record, &flows, &queries));
        }
        Ok(out)
    }

    /// Hosts of the transports and classes, from the first run of a finished ticket.
    pub(crate) fn peers(&self, ticket: &Ticket) -> Result<Peers, AdviseError> {
        let Some(unit) = ticket.plan().units().first() else { return Ok(Peers::default()) };
        let flows = self.session.store().table(unit.key(), TABLES[0], None).map_err(AdviseError::Store)?;
        Ok(Peers::of(&flows))
    }
}
