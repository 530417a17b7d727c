//! Short, unique names of compared subjects.

use crate::data::{Data, Network, Subject};
use forebay_store::RunDir;
use std::path::Path;

/// Names of the directories: the last part of the path if unique, else the whole path, with a number if needed.
pub fn directories(runs: &[RunDir]) -> Vec<String> {
    let last = |p: &Path| p.file_name().map_or_else(|| p.display().to_string(), |n| n.to_string_lossy().into_owned());
    let short: Vec<String> = runs.iter().map(|r| last(r.path())).collect();
    let mut names: Vec<String> = runs
        .iter()
        .zip(&short)
        .map(|(r, s)| if short.iter().filter(|o| *o == s).count() > 1 { r.path().display().to_string() } else { s.clone() })
        .collect();
    number(&mut names);
    names
}

/// Names networks and subjects by directory, variant and group, each only where it distinguishes them.
pub(crate) fn assign(data: &mut Data, dirs: &[String]) {
    let several_groups = data.shared();
    for i in 0..data.networks.len() {
        let Network { dir, variant, .. } = &data.networks[i];
        let lone = data.networks.iter().filter(|n| n.dir == *dir).count() == 1;
        let mut parts = Vec::new();
        if dirs.len() > 1 {
            parts.push(dirs[*dir].clone());
        }
        // The name of a single variant adds nothing to those of its groups.
        if !lone || !several_groups {
            parts.push(variant.clone());
        }
        data.networks[i].name = parts.join(": ");
    }
    let networks: Vec<String> = data.networks.iter().map(|n| n.name.clone()).collect();
    for Subject { name, group, network, .. } in &mut data.subjects {
        let of = &networks[*network];
        *name = match (several_groups, of.as_str()) {
            (false, _) => of.clone(),
            (true, "") => group.clone(),
            // A variant is often named by the congestion control of its first group.
            (true, _) if of == group || of.ends_with(&format!(": {group}")) => of.clone(),
            (true, _) => format!("{of}/{group}"),
        };
    }
    let mut names: Vec<String> = data.subjects.iter().map(|s| s.name.clone()).collect();
    number(&mut names);
    data.subjects.iter_mut().zip(names).for_each(|(s, name)| s.name = name);
    if data.networks.len() == 1 {
        data.networks[0].name.clear();
    }
}

/// Appends a number to each further occurrence of a name.
fn number(names: &mut [String]) {
    for i in 1..names.len() {
        let (before, rest) = names.split_at_mut(i);
        let plain = rest[0].clone();
        let mut n = 2;
        while before.contains(&rest[0]) {
            rest[0] = format!("{plain} ({n})");
            n += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(dirs: &[&str], networks: &[(usize, &str, &[&str])]) -> Vec<String> {
        let mut data = Data::default();
        for (i, (dir, variant, groups)) in networks.iter().enumerate() {
            let first = data.subjects.len();
            data.networks.push(Network {
                dir: *dir,
                variant: (*variant).into(),
                first,
                groups: groups.len(),
                ..Network::default()
            });
            data.subjects.extend(groups.iter().map(|g| Subject { group: (*g).into(), network: i, ..Subject::default() }));
        }
        assign(&mut data, &dirs.iter().map(|d| (*d).to_owned()).collect::<Vec<_>>());
        data.subjects.into_iter().map(|s| s.name).collect()
    }

    #[test]
    fn names_short_and_unique() {
        assert_eq!(named(&["a"], &[(0, "reno", &["reno"]), (0, "dctcp", &["dctcp"])]), ["reno", "dctcp"]);
        assert_eq!(named(&["a"], &[(0, "v", &["old", "new"])]), ["old", "new"]);
        assert_eq!(named(&["a"], &[(0, "x", &["old", "new"]), (0, "y", &["old"])]), ["x/old", "x/new", "y/old"]);
        let udp = named(&["a"], &[(0, "reno", &["reno", "udp"]), (0, "cubic", &["cubic", "udp"])]);
        assert_eq!(udp, ["reno", "reno/udp", "cubic", "cubic/udp"]);
        assert_eq!(named(&["a", "b"], &[(0, "reno", &["reno"]), (1, "reno", &["reno"])]), ["a: reno", "b: reno"]);
        assert_eq!(named(&["a", "b"], &[(0, "v", &["p", "q"]), (1, "w", &["p"])]), ["a/p", "a/q", "b/p"]);
        assert_eq!(named(&["a"], &[(0, "v", &["x"]), (0, "v", &["x"]), (0, "v", &["x"])]), ["v", "v (2)", "v (3)"]);
    }
}
