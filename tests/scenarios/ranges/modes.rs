//! Combinations of choices and flags.

use super::bench::variants;
use super::draft::{Draft, Place};
use forebay_experiment::profile::PROFILES;
use forebay_types::param::{Kind, Param};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The choices and flags of parameters.
pub(super) fn choices(params: &[Param]) -> Vec<(&'static str, Vec<String>)> {
    let of = |p: &Param| match p.kind {
        Kind::Choice(words) => Some((p.key, words.iter().map(|w| format!("\"{w}\"")).collect())),
        Kind::Bool => Some((p.key, vec!["false".to_owned(), "true".to_owned()])),
        _ => None,
    };
    params.iter().filter_map(of).collect()
}

/// Rows of choices, by index, that hold every pair of values of two keys at least once.
pub(super) fn pairwise(keys: &[(&'static str, Vec<String>)]) -> Vec<Vec<usize>> {
    let mut open = BTreeSet::new();
    for (i, (_, a)) in keys.iter().enumerate() {
        for (j, (_, b)) in keys.iter().enumerate().skip(i + 1) {
            (0..a.len()).for_each(|x| (0..b.len()).for_each(|y| _ = open.insert((i, x, j, y))));
        }
    }
    let mut rows = Vec::new();
    while let Some(&(i, x, j, y)) = open.first() {
        let mut row: Vec<Option<usize>> = vec![None; keys.len()];
        (row[i], row[j]) = (Some(x), Some(y));
        for k in 0..keys.len() {
            if row[k].is_some() {
                continue;
            }
            let gain = |value: usize| {
                let pair = |(l, other): (usize, &Option<usize>)| {
                    let other = (*other)?;
                    let pair = if l < k { (l, other, k, value) } else { (k, value, l, other) };
                    open.contains(&pair).then_some(())
                };
                row.iter().enumerate().filter_map(pair).count()
            };
            // The first of the best.
            let best = (0..keys[k].1.len()).rev().max_by_key(|&v| gain(v));
            row[k] = best;
        }
        let row: Vec<usize> = row.into_iter().map(|v| v.unwrap_or(0)).collect();
        for (i, &x) in row.iter().enumerate() {
            row.iter().enumerate().skip(i + 1).for_each(|(j, &y)| _ = open.remove(&(i, x, j, y)));
        }
        rows.push(row);
    }
    if rows.is_empty() {
        rows.extend(keys.first().into_iter().flat_map(|k| 0..k.1.len()).map(|v| vec![v]));
    }
    rows
}

/// `draft` as it is, and with every pair of the choices of `params` and the three stacks, as far as they are legal together.
pub(super) fn modes(draft: &Draft, place: Place, params: &[Param]) -> Vec<(String, Draft)> {
    let mut keys = choices(params);
    keys.push(("stack", PROFILES.iter().map(|p| format!("\"{p}\"")).collect()));
    let mut all = vec![(String::new(), draft.clone())];
    for row in pairwise(&keys) {
        let (mut name, mut now) = (String::new(), draft.clone());
        for ((key, values), choice) in keys.iter().zip(row) {
            let at = if *key == "stack" { Place::Transport } else { place };
            let next = now.with(at, key, &values[choice]);
            if variants(&next.text()).is_ok() {
                let _ = write!(name, ", {key} = {}", values[choice]);
                now = next;
            }
        }
        all.push((name, now));
    }
    all
}
