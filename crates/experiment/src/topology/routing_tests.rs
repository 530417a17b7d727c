use super::*;
use crate::topology::testing::build;
use forebay_types::Time;
use forebay_types::param::Value;
use std::collections::{BTreeMap, HashSet};

fn fat_tree(k: i64) -> (Network, Fib) {
    let n = build("fat-tree", &[("k", Value::Int(k))]).unwrap();
    let fib = Fib::new(&n).unwrap();
    (n, fib)
}

/// The path must be a chain of ports from src to dst that passes no host in between.
fn check_path(n: &Network, path: &[PortId], src: NodeId, dst: NodeId) {
    let mut at = src;
    for (i, &p) in path.iter().enumerate() {
        let port = &n.ports[p];
        assert_eq!(port.from, at);
        assert!(i == 0 || !n.nodes[at].host);
        at = port.to;
    }
    assert_eq!(at, dst);
}

#[test]
fn every_host_pair_is_connected() {
    let racks = [("leaves", Value::Int(3)), ("hosts-per-leaf", Value::Int(4)), ("spines", Value::Int(2))];
    let cases: [(&str, &[(&'static str, Value)]); 5] = [
        ("many-to-one", &[("senders", Value::Int(5))]),
        ("dumbbell", &[("left", Value::Int(3))]),
        ("multi-hop", &[]),
        ("leaf-spine", &racks),
        ("fat-tree", &[("k", Value::Int(4))]),
    ];
    for (name, given) in cases {
        let n = build(name, given).unwrap();
        let fib = Fib::new(&n).unwrap();
        let hosts = crate::topology::hosts(&n);
        for &src in &hosts {
            for &dst in &hosts {
                let path = fib.path(&n, src, dst, src.get() * 31 + dst.get());
                check_path(&n, &path, src, dst);
                assert_eq!(path.is_empty(), src == dst);
            }
        }
    }
}

/// Compared with the ports that the paths of many hashes have in common.
#[test]
fn common_ports_are_on_every_path() {
    let racks = [("leaves", Value::Int(3)), ("hosts-per-leaf", Value::Int(4)), ("spines", Value::Int(2))];
    let one_spine = [("leaves", Value::Int(3)), ("hosts-per-leaf", Value::Int(2)), ("spines", Value::Int(1))];
    let cases: [(&str, &[(&'static str, Value)]); 6] = [
        ("many-to-one", &[("senders", Value::Int(5))]),
        ("dumbbell", &[("left", Value::Int(3))]),
        ("multi-hop", &[]),
        ("leaf-spine", &racks),
        ("leaf-spine", &one_spine),
        ("fat-tree", &[("k", Value::Int(4))]),
    ];
    let mut certain = Vec::new();
    for (name, given) in cases {
        let n = build(name, given).unwrap();
        let fib = Fib::new(&n).unwrap();
        let hosts = crate::topology::hosts(&n);
        for (&src, &dst) in hosts.iter().flat_map(|s| hosts.iter().map(move |d| (s, d))).filter(|(s, d)| s != d) {
            let mut common = fib.path(&n, src, dst, 0);
            for hash in 1..64 {
                let other = fib.path(&n, src, dst, hash * 7_919);
                common.retain(|p| other.contains(p));
            }
            fib.common_ports(&n, (src, dst), &mut certain);
            assert_eq!(certain, common[1..], "{name}: {} to {}", n.nodes[src].name, n.nodes[dst].name);
        }
        fib.common_ports(&n, (hosts[0], hosts[0]), &mut certain);
        assert!(certain.is_empty(), "no way from a host to itself");
    }
    let mut n = build("leaf-spine", &one_spine).unwrap();
    let fib = Fib::new(&n).unwrap();
    let hosts = crate::topology::hosts(&n);
    let port = crate::topology::find_port(&n, "spine0->leaf2").unwrap();
    n.faults.failures.push(crate::faults::Failure {
        port,
        down: Time(0),
        up: forebay_types::TimeOrNever::NEVER,
        reroute: Time(0),
    });
    fib.common_ports(&n, (hosts[0], hosts[5]), &mut certain);
    assert_eq!(certain, [crate::topology::find_port(&n, "leaf2->h5").unwrap()], "ways change where links fail");
}

/// Links fail one after the other: paths avoid them, a flow moves only if its path used one, and the moved flows are spread.
#[test]
fn failures_move_only_affected_flows() {
    let racks = [("leaves", Value::Int(4)), ("hosts-per-leaf", Value::Int(3)), ("spines", Value::Int(5))];
    let n = build("leaf-spine", &racks).unwrap();
    let fib = Fib::new(&n).unwrap();
    let port = |name: &str| crate::topology::find_port(&n, name).unwrap();
    let mut dead: HashSet<PortId> = HashSet::new();
    for (link, back) in
        [("leaf0->spine1", "spine1->leaf0"), ("leaf1->spine1", "spine1->leaf1"), ("leaf0->spine3", "spine3->leaf0")]
    {
        dead.extend([port(link), port(back)]);
        let (around, cut) = fib.avoiding(&n, &|p| !dead.contains(&p)).unwrap();
        assert_eq!(cut, 0);
        let mut moved: BTreeMap<PortId, u32> = BTreeMap::new();
        for (src, dst) in [(0, 3), (0, 8), (4, 1), (7, 2), (7, 10), (3, 11)].map(|(a, b)| (NodeId::new(a), NodeId::new(b))) {
            for hash in 0..40_000 {
                let (old, new) = (fib.path(&n, src, dst, hash), around.path(&n, src, dst, hash));
                check_path(&n, &new, src, dst);
                assert!(new.iter().all(|p| !dead.contains(p)));
                assert_eq!(old != new, old.iter().any(|p| dead.contains(p)), "{link} {hash}");
                if old != new && (src, dst) == (NodeId::new(0), NodeId::new(8)) {
                    *moved.entry(new[1]).or_default() += 1;
                }
            }
        }
        // Equal shares over the remaining ports.
        let (least, most) = (moved.values().min().unwrap(), moved.values().max().unwrap());
        assert!(moved.len() >= 3 && f64::from(*most) < 1.1 * f64::from(*least), "{link}: {moved:?}");
    }
}

/// Pairs without a path are counted, and their packets end at the dead link.
#[test]
fn unreachable_pairs_are_counted() {
    let racks = [("leaves", Value::Int(3)), ("hosts-per-leaf", Value::Int(2)), ("spines", Value::Int(1))];
    let n = build("leaf-spine", &racks).unwrap();
    let fib = Fib::new(&n).unwrap();
    let port = |name: &str| crate::topology::find_port(&n, name).unwrap();
    let cut = |dead: &[&str]| {
        let dead: Vec<PortId> = dead.iter().map(|name| port(name)).collect();
        let (around, cut) = fib.avoiding(&n, &|p| !dead.contains(&p)).unwrap();
        for (src, dst) in [(0, 5), (5, 0), (2, 1)].map(|(a, b)| (NodeId::new(a), NodeId::new(b))) {
            check_path(&n, &around.path(&n, src, dst, 7), src, dst);
        }
        cut
    };
    assert_eq!(cut(&[]), 0);
    // Two hosts of a leaf and the four others in both directions; in one direction; one host and all others.
    assert_eq!(cut(&["leaf0->spine0", "spine0->leaf0"]), 16);
    assert_eq!(cut(&["leaf0->spine0"]), 8);
    assert_eq!(cut(&["h0->leaf0", "leaf0->h0"]), 10);
    assert_eq!(cut(&["leaf0->h0"]), 5);
    assert_eq!(cut(&["leaf0->spine0", "spine0->leaf0", "h0->leaf0", "leaf0->h0"]), 18);
}

#[test]
fn fat_tree_path_lengths() {
    let (n, fib) = fat_tree(8);
    for dst in 1..128 {
        let expected = if dst < 4 {
            2
        } else if dst < 16 {
            4
        } else {
            6
        };
        for hash in 0..20 {
            assert_eq!(fib.path(&n, NodeId::new(0), NodeId::new(dst), hash * 77_777).len(), expected, "to {dst}");
        }
    }
}

#[test]
fn ecmp_paths_are_used_evenly() {
    let (n, fib) = fat_tree(8);
    let mut uses: BTreeMap<Vec<PortId>, u32> = BTreeMap::new();
    let flows = 16_000;
    for hash in 0..flows {
        *uses.entry(fib.path(&n, NodeId::new(0), NodeId::new(127), hash)).or_default() += 1;
    }
    assert_eq!(uses.len(), 16);
    for &count in uses.values() {
        assert!((800..1200).contains(&count), "{count} of an expected 1000");
    }
}

#[test]
fn ecmp_uses_shortest_paths_only() {
    use crate::topology::testing::link;
    use forebay_types::param::CustomLink;
    let l = |a: &str, b: &str| CustomLink { from: a.into(), to: b.into(), both: true, link: link("1Gbps", "1us") };
    let names = |n: &[&str]| Value::Names(n.iter().map(|s| s.to_string()).collect());
    let links = vec![l("a", "x"), l("b", "y"), l("x", "y"), l("x", "y"), l("x", "z"), l("z", "y")];
    let n =
        build("custom", &[("hosts", names(&["a", "b"])), ("switches", names(&["x", "y", "z"])), ("links", Value::Links(links))])
            .unwrap();
    let fib = Fib::new(&n).unwrap();
    let entry = fib.entry(NodeId::new(2), NodeId::new(1));
    let (first, count) = ((entry >> 8) as usize, (entry & 255) as usize);
    assert_eq!(fib.choices()[first..first + count], [4, 6].map(PortId::new));
    let used: HashSet<_> = (0..50).map(|hash| fib.next_port(NodeId::new(2), NodeId::new(1), hash)).collect();
    assert_eq!(used, HashSet::from([4, 6].map(PortId::new)));
}

#[test]
fn tables_stay_small() {
    let (n, fib) = fat_tree(16);
    assert_eq!(crate::topology::hosts(&n).len(), 1024);
    assert_eq!(fib.entries.len(), 320 * 128);
    // One set upwards per edge and aggregation switch, and each port alone at most once.
    assert!(fib.choices.len() <= n.ports.len() + 256 * 8);
}

/// Chi-square of observed counts against equal expectation, per degree of freedom: near 1 when random.
fn unevenness(counts: &[u32]) -> f64 {
    let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    counts.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum::<f64>() / (counts.len() - 1) as f64
}

#[test]
fn sequential_hashes_spread_evenly() {
    for count in [2u32, 3, 4, 7, 8, 16, 32, 255] {
        for salt in [0, 1, 2, 79, 64_999] {
            for step in [1, 16, 4096, 0x9E37_79B9u32] {
                let mut counts = vec![0; count as usize];
                for i in 0..20_000u32 {
                    counts[ecmp_choice(i.wrapping_mul(step), salt, count) as usize] += 1;
                }
                let u = unevenness(&counts);
                // Far above random variation, far below the effect of a stuck bit.
                assert!(u < 12.0, "count {count} salt {salt} step {step}: {u}");
            }
        }
    }
}

#[test]
fn choices_at_different_switches_are_independent() {
    for count in [2u32, 4, 8] {
        let mut worst: f64 = 0.0;
        for a in 0..40 {
            for b in a + 1..40 {
                let mut joint = vec![0; (count * count) as usize];
                for hash in 0..4_000 {
                    joint[(ecmp_choice(hash, a, count) * count + ecmp_choice(hash, b, count)) as usize] += 1;
                }
                worst = worst.max(unevenness(&joint));
            }
        }
        // 780 pairs of switches: the largest of as many true chi-squares stays below this.
        assert!(worst < 8.0, "count {count}: {worst}");
    }
}

/// Upper quantile of the chi-square distribution by Wilson and Hilferty (1931), where a standard normal variable exceeds `z`.
fn chi_square(degrees: f64, z: f64) -> f64 {
    let a = 2.0 / (9.0 * degrees);
    degrees * (1.0 - a + z * a.sqrt()).powi(3)
}

/// Eight connections over eight spines: how many spines each of 20 000 seeds uses, against the distribution of occupied cells, n! S(n, k) C / n^n with
/// Stirling numbers S(8, k). Chi-square with 5 degrees of freedom (1, 2 and 3 spines together), false alarm in one of 1 000.
#[test]
fn spines_in_use_follow_chance() {
    let n =
        build("leaf-spine", &[("leaves", Value::Int(2)), ("hosts-per-leaf", Value::Int(8)), ("spines", Value::Int(8))]).unwrap();
    let spines = |seed| {
        let fib = Fib::with_seed(&n, seed).unwrap();
        let way = |i: u32| {
            let (src, dst) = (NodeId::new(i), NodeId::new(i + 8));
            fib.path(&n, src, dst, fib.flow_hash(u64::from(i), src, dst).into())[1]
        };
        (0..8).map(way).collect::<HashSet<_>>().len()
    };
    let seeds = 20_000;
    let mut counts = [0u32; 9];
    (0..seeds).for_each(|seed| counts[spines(seed)] += 1);
    let stirling = [0.0, 1.0, 127.0, 966.0, 1701.0, 1050.0, 266.0, 28.0, 1.0];
    let expected = |k: usize| {
        let ordered: f64 = (0..k).map(|i| 8.0 - i as f64).product();
        stirling[k] * ordered / 8f64.powi(8) * seeds as f64
    };
    let few = (counts[1] + counts[2] + counts[3], expected(1) + expected(2) + expected(3));
    let cells = (4..9).map(|k| (counts[k], expected(k))).chain([few]);
    let x: f64 = cells.map(|(n, e)| (f64::from(n) - e).powi(2) / e).sum();
    assert!(x < chi_square(5.0, 3.09), "{x}: {counts:?}");
}

/// Over seeds, two connections share one of two parallel links in half of the runs: 10 000 seeds, 3.3 deviations of the binomial distribution.
#[test]
fn two_flows_share_half_the_time() {
    let racks = [("leaves", Value::Int(2)), ("hosts-per-leaf", Value::Int(2)), ("spines", Value::Int(2))];
    let n = build("leaf-spine", &racks).unwrap();
    let same = |seed: &u64| {
        let fib = Fib::with_seed(&n, *seed).unwrap();
        let way = |i: u32| {
            let (src, dst) = (NodeId::new(i), NodeId::new(i + 2));
            fib.path(&n, src, dst, fib.flow_hash(u64::from(i), src, dst).into())[1]
        };
        way(0) == way(1)
    };
    let shared = (0..10_000).filter(same).count() as f64;
    assert!((shared - 5_000.0).abs() < 3.3 * 50.0, "{shared}");
}

/// With one function for all switches, aggregation switches repeat the choice of edge switches: 4 of 16 paths remain.
#[test]
fn same_function_everywhere_polarizes() {
    let mut n = build("fat-tree", &[("k", Value::Int(8))]).unwrap();
    let paths = |n: &Network| {
        let fib = Fib::new(n).unwrap();
        (0..4_000).map(|hash| fib.path(n, NodeId::new(0), NodeId::new(127), hash)).collect::<HashSet<_>>().len()
    };
    assert_eq!(paths(&n), 16);
    n.hashing.function = HashFunction::SameEverywhere;
    assert_eq!(paths(&n), 4);
}

#[test]
fn hash_depends_on_seed_unless_fixed() {
    let (mut n, _) = fat_tree(4);
    let hash = |n: &Network, seed| Fib::with_seed(n, seed).unwrap().flow_hash(0, NodeId::new(0), NodeId::new(5));
    assert_ne!(hash(&n, 1), hash(&n, 2));
    let first = hash(&n, 1);
    n.hashing.seed = Some(1);
    assert_eq!(hash(&n, 2), first);
}
