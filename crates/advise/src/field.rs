//! The best changes in all networks: a best-first search for the smallest largest loss.
//!
//! The largest loss of a change so far is a lower bound of its largest loss over all networks: more networks, or better rivals, only raise it. The change
//! with the smallest bound is tried next, and a change whose bound exceeds the largest loss of a completely tried one cannot win any more (branch and
//! bound, Land and Doig 1960). The search has one seed in each network; the changes that remain get more.

use crate::assumptions::Variation;
use crate::evidence::MATERIAL;
use crate::plan::Plan;
use crate::rank::Entry;
use crate::reference::Compared;
use crate::request::AdviseError;
use crate::robustness::{ChangeResult, Robust, set_regrets};
use crate::trial::Trial;
use forebay_runner::sweep::Ticket;
use std::collections::BTreeMap;

/// Changes that are tried further at the same time: a number that does not depend on the threads, so that the result does not.
const TOGETHER: usize = 4;
/// Least number of changes that are tried in all networks, for a choice.
const LEAST: usize = 3;
/// Most changes that get more seeds.
const MOST: usize = 5;
/// First seed of the variation that has other seeds than all other networks.
const OTHER_SEEDS: u64 = 4711;

/// The changes that are compared in all networks, with the present network.
pub(crate) struct Field<'t, 'a> {
    pub(crate) trial: &'t mut Trial<'a>,
    own: usize,
    /// True if the runs are too short: only changes that are worse in no network can be recommended.
    too_short: bool,
    /// The network of the file (`None`), then those of its variations that are legal.
    networks: Vec<Option<Variation>>,
    pub(crate) today: Robust,
    pub(crate) changes: Vec<(Plan, Entry)>,
}

impl<'t, 'a> Field<'t, 'a> {
    pub(crate) fn new(trial: &'t mut Trial<'a>, own: usize, too_short: bool, variations: Vec<Variation>) -> Field<'t, 'a> {
        let legal = variations.into_iter().filter(|v| trial.scenario(None, Some(v)).is_ok());
        let networks: Vec<Option<Variation>> = std::iter::once(None).chain(legal.map(Some)).collect();
        let today = Robust::untried(networks.len());
        Field { trial, own, too_short, networks, today, changes: Vec::new() }
    }

    /// Number of networks.
    pub(crate) fn len(&self) -> usize {
        self.networks.len()
    }

    /// Names of the networks.
    pub(crate) fn names(&self) -> Vec<String> {
        self.networks.iter().map(|v| v.as_ref().map_or("as in the file", |v| v.name.as_str()).to_owned()).collect()
    }

    /// Adds changes, which have no results yet.
    pub(crate) fn add(&mut self, changes: Vec<(Plan, Entry)>) {
        let untried = Robust::untried(self.len());
        self.changes.extend(changes.into_iter().map(|(plan, mut entry)| {
            entry.robust = Some(untried.clone());
            (plan, entry)
        }));
    }

    /// Tries the changes that can still win in the first `networks` networks, with one seed.
    pub(crate) fn race(&mut self, networks: usize) -> Result<(), AdviseError> {
        loop {
            self.set_regrets();
            let open = self.open(networks);
            if open.is_empty() {
                return Ok(());
            }
            let next: Vec<(usize, usize)> =
                open.into_iter().take(TOGETHER).filter_map(|i| Some((i, robust(&self.changes[i].1)?.next(networks)?))).collect();
            self.measure(&next, 1)?;
        }
    }

    /// Repeats the best changes in all networks with `seeds` seeds, until they stay the best, and removes the others.
    pub(crate) fn confirm(&mut self, seeds: u32) -> Result<Vec<Entry>, AdviseError> {
        let mut confirmed: Vec<String> = Vec::new();
        loop {
            self.race(self.len())?;
            let best = self.best();
            let new: Vec<usize> = best.iter().copied().filter(|i| !confirmed.contains(&self.changes[*i].1.name)).collect();
            if new.is_empty() || confirmed.len() >= MOST {
                break;
            }
            confirmed.extend(new.iter().map(|i| self.changes[*i].1.name.clone()));
            let pairs: Vec<(usize, usize)> = (0..self.len()).flat_map(|w| new.iter().map(move |i| (*i, w))).collect();
            self.measure(&pairs, seeds)?;
        }
        let (kept, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.changes).into_iter().partition(|(_, e)| confirmed.contains(&e.name));
        self.changes = kept;
        if self.changes.is_empty() {
            // The present network is tried everywhere without any change, too.
            let all: Vec<usize> = (0..self.len()).collect();
            self.measure_today(&all, seeds)?;
        }
        self.set_regrets();
        Ok(left.into_iter().map(|(_, e)| e).collect())
    }

    /// Runs more seeds in networks whose result decides while its seeds differ: those of the largest losses of the best two changes, and those in which
    /// the best is worse than the present network.
    pub(crate) fn settle(&mut self, seeds: u32) -> Result<(), AdviseError> {
        let mut settled = vec![0];
        self.measure_all(&[0], seeds)?;
        loop {
            self.set_regrets();
            let order = self.order(self.len());
            let best: Vec<&Robust> = order.iter().take(2).filter_map(|i| robust(&self.changes[*i].1)).collect();
            let worse = best.first().map_or_else(Vec::new, |r| r.worse_in(self.trial.objective.goal));
            let deciding = best.iter().map(|r| r.regret_in).chain(worse);
            let scattered = |w: &usize| best.iter().any(|r| r.outcome(*w).is_some_and(|o| o.is_scattered()));
            let Some(next) = deciding.filter(|w| !settled.contains(w)).find(scattered) else { return Ok(()) };
            settled.push(next);
            self.measure_all(&[next], seeds)?;
        }
    }

    /// Changes that are not tried in all of the first `networks` networks and can still win, the most promising first.
    fn open(&self, networks: usize) -> Vec<usize> {
        let order = self.order(networks);
        let is_open = |i: usize| robust(&self.changes[i].1).is_some_and(|r| r.next(networks).is_some());
        let complete = order.iter().position(|i| !is_open(*i));
        // With a limit the effort decides; without one it decides between losses that are nearly equal.
        let limit = self.trial.objective.limit.is_some();
        let near = complete.and_then(|c| robust(&self.changes[order[c]].1)).map_or(f64::INFINITY, |r| MATERIAL * r.regret);
        let first = complete.unwrap_or(0).max(LEAST);
        let can_win = |(rank, i): &(usize, usize)| {
            let bound = robust(&self.changes[*i].1).map_or(f64::INFINITY, |r| r.regret);
            *rank < first || !limit && self.changes[*i].1.caveat.is_none() && bound <= near
        };
        let cheapest = self.cheapest();
        let all = order.iter().copied().enumerate().filter(|(_, i)| is_open(*i));
        let finite = |i: &usize| robust(&self.changes[*i].1).is_some_and(|r| r.regret.is_finite());
        all.filter(|one| can_win(one) || Some(one.1) == cheapest).map(|(_, i)| i).filter(finite).collect()
    }

    /// The change with the least effort that is better in the worst case than the present network, and worse in no network so far: it can be the first
    /// step. With a limit the effort decides anyway.
    fn cheapest(&self) -> Option<usize> {
        let goal = self.trial.objective.goal;
        let holds = |e: &Entry| {
            let good = |r: &Robust| r.regret * MATERIAL < self.today.regret && r.holds(goal);
            e.caveat.is_none() && !e.harms_others() && robust(e).is_some_and(good)
        };
        let all = (0..self.changes.len()).filter(|i| self.trial.objective.limit.is_none() && holds(&self.changes[*i].1));
        let key = |i: &usize| (self.changes[*i].1.effort, robust(&self.changes[*i].1).map_or(f64::INFINITY, |r| r.regret));
        all.min_by(|a, b| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal))
    }

    /// The best changes that are tried in all networks: at least three, those that are nearly as good as the best, and the first step.
    fn best(&self) -> Vec<usize> {
        let tried = |i: &usize| robust(&self.changes[*i].1).is_some_and(|r| r.next(self.len()).is_none());
        let order: Vec<usize> = self.order(self.len()).into_iter().filter(tried).collect();
        let near = order.first().and_then(|i| robust(&self.changes[*i].1)).map_or(0.0, |r| MATERIAL * r.regret);
        let good = |(rank, i): &(usize, usize)| *rank < LEAST || robust(&self.changes[*i].1).is_some_and(|r| r.regret <= near);
        let cheapest = self.cheapest().filter(tried);
        let mut out: Vec<usize> = order.into_iter().enumerate().filter(good).map(|(_, i)| i).take(MOST).collect();
        out.extend(cheapest.filter(|i| !out.contains(i)));
        out
    }

    /// All changes, the most promising first: by objections, those without a caveat first, by the missed limit with the effort, and by the largest loss
    /// so far. In runs that are too short, changes that are worse in no network precede the others.
    fn order(&self, networks: usize) -> Vec<usize> {
        let (goal, limit) = (self.trial.objective.goal, self.trial.objective.limit.as_ref().map(|(v, _)| *v));
        let key = |i: &usize| {
            let e = &self.changes[*i].1;
            let r = robust(e);
            let unknown = r.is_some_and(|r| r.unknown().any(|(w, _)| w < networks));
            let misses = limit.map_or(0, |l| r.map_or(usize::MAX, |r| r.misses(goal, l).len()));
            (
                r.is_some_and(|r| r.objection().is_some()),
                e.caveat.is_some(),
                unknown,
                self.too_short && r.is_some_and(|r| !r.holds(goal)),
                misses,
                if limit.is_some() { e.effort } else { 0 },
            )
        };
        let regret = |i: &usize| robust(&self.changes[*i].1).map_or(f64::INFINITY, |r| r.regret);
        let mut order: Vec<usize> = (0..self.changes.len()).collect();
        order.sort_by(|a, b| {
            let name = |i: &usize| &self.changes[*i].1.name;
            key(a).cmp(&key(b)).then(regret(a).total_cmp(&regret(b))).then(name(a).cmp(name(b)))
        });
        order
    }

    /// Tries the present network in these networks. Returns the runs of each, or the reason why there are none.
    fn measure_today(&mut self, networks: &[usize], seeds: u32) -> Result<BTreeMap<usize, Result<Ticket, String>>, AdviseError> {
        let mut tickets = BTreeMap::new();
        for w in networks {
            if !tickets.contains_key(w) {
                tickets.insert(*w, self.submit(*w, seeds)?);
            }
        }
        let names = self.names();
        for (w, ticket) in &tickets {
            let Ok(ticket) = ticket else { continue };
            let runs = self.trial.present(ticket, *w == 0, &names[*w])?;
            let both = Compared::new(runs.clone(), runs);
            self.today.tried[*w] = ChangeResult::of(&self.trial.objective, self.own, &self.trial.classes, &both);
        }
        Ok(tickets)
    }

    /// Tries all changes in these networks.
    fn measure_all(&mut self, networks: &[usize], seeds: u32) -> Result<(), AdviseError> {
        let all: Vec<(usize, usize)> = networks.iter().flat_map(|w| (0..self.changes.len()).map(move |i| (i, *w))).collect();
        self.measure(&all, seeds)
    }

    /// Tries changes in networks, given as pairs of their numbers. All runs of the present network come first.
    fn measure(&mut self, pairs: &[(usize, usize)], seeds: u32) -> Result<(), AdviseError> {
        let networks: Vec<usize> = pairs.iter().map(|p| p.1).collect();
        let present = self.measure_today(&networks, seeds)?;
        let mut tickets = Vec::new();
        for (i, w) in pairs {
            let submitted = match &present[w] {
                Ok(now) => self.submit_change(*i, *w, seeds, now)?.map(|change| (now, change)),
                Err(why) => Err(why.clone()),
            };
            tickets.push((*i, *w, submitted));
        }
        let names = self.names();
        let own = self.own;
        for (i, w, submitted) in tickets {
            let tried = match submitted {
                Ok((now, change)) => {
                    let compared = self.trial.compared(now, &change, &names[w])?;
                    ChangeResult::of(&self.trial.objective, own, &self.trial.classes, &compared)
                }
                Err(why) => ChangeResult::Unknown(why),
            };
            if let Some(robust) = &mut self.changes[i].1.robust {
                robust.tried[w] = tried;
            }
        }
        self.set_regrets();
        Ok(())
    }

    /// First seed in a network.
    fn first_seed(&self, network: usize) -> u64 {
        if self.networks[network].as_ref().is_some_and(|v| v.other_seeds) { OTHER_SEEDS } else { 1 }
    }

    /// Submits the present network, in a network. The inner error is the reason why it is not legal.
    fn submit(&self, network: usize, seeds: u32) -> Result<Result<Ticket, String>, AdviseError> {
        let scenario = self.trial.scenario(None, self.networks[network].as_ref());
        let first = self.first_seed(network);
        scenario.map(|s| self.trial.submit_from(&s, first, seeds)).map_or_else(|why| Ok(Err(why)), |ticket| ticket.map(Ok))
    }

    /// Submits a change in a network, whose present runs have ended. The inner error is the reason why the network does not allow the change.
    fn submit_change(
        &mut self,
        change: usize,
        network: usize,
        seeds: u32,
        now: &Ticket,
    ) -> Result<Result<Ticket, String>, AdviseError> {
        let scenario = self.trial.scenario(Some(&self.changes[change].0), self.networks[network].as_ref());
        let first = self.first_seed(network);
        let submitted = scenario.map(|s| self.trial.submit_change(&s, first, seeds, now));
        submitted.map_or_else(|why| Ok(Err(why)), |ticket| ticket.map(Ok))
    }

    fn set_regrets(&mut self) {
        let mut all = vec![self.today.clone()];
        all.extend(self.changes.iter().map(|(_, e)| e.robust.clone().unwrap_or_default()));
        set_regrets(&mut all, self.trial.objective.goal);
        let mut all = all.into_iter();
        self.today = all.next().unwrap_or_default();
        for (_, entry) in &mut self.changes {
            entry.robust = all.next();
        }
    }
}

fn robust(entry: &Entry) -> Option<&Robust> {
    entry.robust.as_ref()
}
