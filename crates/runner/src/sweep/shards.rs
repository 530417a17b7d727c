//! Shards of a sweep: each runs a part of the units, at any time and place, and one directory collects the results.

use super::dataset::{Finished, PreparedSweep, Request, begin, begin_if, execute, same};
use super::error::SweepError;
use super::run::{Watcher, run_units};
use forebay_store::sweep::SweepDir;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;

/// Part of a sweep's units: the `index`th, from 1, of `of`. Units are assigned round-robin, so that every shard has small and large points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    index: usize,
    of: usize,
}

impl Shard {
    /// Most parts.
    const MOST: usize = 100_000;

    fn of(self, units: &[u32]) -> Vec<u32> {
        units.iter().skip(self.index - 1).step_by(self.of).copied().collect()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers = text.split_once('/').and_then(|(i, n)| Some((i.trim().parse().ok()?, n.trim().parse().ok()?)));
        match numbers {
            Some((index, of)) if (1..=of).contains(&index) && of <= Shard::MOST => Ok(Shard { index, of }),
            _ => Err(format!("legal: I/N with 1 <= I <= N <= {}, such as 3/8", Shard::MOST)),
        }
    }
}

/// Result of a shard.
#[derive(Debug)]
pub struct ShardDone {
    /// Its directory.
    pub dir: PathBuf,
    /// Its units.
    pub units: usize,
    /// Units of all shards.
    pub total: usize,
}

/// Runs the missing units of a shard. The directory is that of an incomplete sweep afterwards. `None` for a scenario without a sweep.
///
/// # Errors
/// See [`SweepError`]. Finished units are kept, and the same call continues from there.
pub fn execute_shard(
    request: Request<'_>,
    shard: Shard,
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Option<ShardDone>, SweepError> {
    let (scenario, threads) = (request.scenario, request.threads.max(1));
    let Some(PreparedSweep { plan, dir, .. }) = begin(request, stop, watcher)? else { return Ok(None) };
    watcher.begins(&plan);
    let all = plan.distinct();
    let own = shard.of(&all);
    run_units(scenario, &plan, &own, &dir.units(), threads, stop, watcher)?.complete()?;
    Ok(Some(ShardDone { dir: dir.path().to_owned(), units: own.len(), total: all.len() }))
}

/// Merges the results of shards into the directory of `request` and completes the sweep there, without simulation. `None` for a scenario without a
/// sweep.
///
/// # Errors
/// Directories with other sweeps; runs that are missing in all of them; see [`SweepError`].
pub fn merge(
    request: Request<'_>,
    shards: &[PathBuf],
    stop: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Option<Finished>, SweepError> {
    let again = Request { scenario: request.scenario, source: request.source.clone(), dir: request.dir.clone(), ..request };
    let mut parts = Vec::new();
    let begun = begin_if(request, stop, watcher, |dir, manifest| {
        for path in shards {
            let part = SweepDir::begun(path)?;
            if !same(&part.manifest()?, manifest) {
                return Err(SweepError::Different(dir.to_owned(), path.clone()));
            }
            parts.push(part.units());
        }
        Ok(())
    })?;
    let Some(PreparedSweep { plan, dir, .. }) = begun else { return Ok(None) };
    let into = dir.units();
    let (units, keep) = (plan.distinct(), plan.sweep.keep());
    let mut missing = 0;
    for unit in units.iter().map(|u| &plan.units[*u as usize]) {
        if into.get(&unit.key, keep).is_some() {
            continue;
        }
        // A file that is damaged in one directory may be intact in another.
        match parts.iter().find_map(|p| p.packed(&unit.key)) {
            Some(packed) => into.put_files(&unit.key, &packed, true)?,
            None => missing += 1,
        }
    }
    if missing > 0 {
        return Err(SweepError::Missing { dir: dir.path().to_owned(), missing, total: units.len() });
    }
    execute(again, stop, watcher)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_the_units_out() {
        let units: Vec<u32> = (0..11).collect();
        let mut all: Vec<u32> = (1..=4).flat_map(|i| format!("{i}/4").parse::<Shard>().unwrap().of(&units)).collect();
        all.sort_unstable();
        assert_eq!(all, units);
        assert_eq!("2/4".parse::<Shard>().unwrap().of(&units), [1, 5, 9]);
        assert_eq!("12/12".parse::<Shard>().unwrap().of(&units), [0; 0]);
        for bad in ["", "0/3", "4/3", "1", "1/0", "-1/3", "1/100001", "a/b"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
