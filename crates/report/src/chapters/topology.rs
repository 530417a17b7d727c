//! Network picture with link statistics, from the table of ports: tiers of switches above the hosts.

use super::reduce::short;
use crate::page::{Chart, Figure, Link, Node, Topology, View};
use forebay_analysis::count;
use forebay_analysis::{Data, Port};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of hosts that are drawn one by one.
const MAX_HOSTS: usize = 24;
/// Maximum number of directed links that are drawn: the busiest ones.
const MAX_LINKS: usize = 1_000;

/// The figure, with one view per directory with a different network.
pub(super) fn figure(data: &Data) -> Option<Figure> {
    // Networks with equal links share a picture.
    let mut pictures: Vec<(Vec<&Port>, Vec<usize>)> = Vec::new();
    for network in 0..data.networks.len() {
        let ports: Vec<&Port> = data.ports.iter().filter(|p| p.network == network).collect();
        let same = |a: &[&Port], b: &[&Port]| {
            let key = |p: &Port| (p.id, p.from.clone(), p.to.clone(), p.name.clone(), p.rate_bps.to_bits());
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| key(a) == key(b))
        };
        match pictures.iter_mut().find(|(p, _)| same(p, &ports)) {
            Some((_, networks)) => networks.push(network),
            None if !ports.is_empty() => pictures.push((ports, vec![network])),
            None => {}
        }
    }
    let name = |networks: &[usize]| {
        let names: Vec<String> = networks.iter().map(|n| data.networks[*n].name.clone()).collect();
        if names.len() > 3 { format!("{} and {} more", names[0], names.len() - 1) } else { names.join(", ") }
    };
    let views: Vec<View> = pictures
        .iter()
        .map(|(ports, networks)| View { name: name(networks), chart: Chart::Topology(draw(data, ports, networks)) })
        .collect();
    (!views.is_empty()).then(|| Figure {
        id: "topology".into(),
        title: "Network".into(),
        text: "Utilization, drops, marks and largest queue of each link in each direction; means over the seeds.".into(),
        choice: if views.len() > 1 { "network".into() } else { String::new() },
        views,
    })
}

/// A node of the network.
struct Vertex<'a> {
    name: &'a str,
    switch: bool,
    /// Indices of its neighbors.
    peers: Vec<usize>,
    /// Index of the drawn node that includes it.
    drawn: usize,
}

fn draw(data: &Data, ports: &[&Port], networks: &[usize]) -> Topology {
    let mut vertices = vertices(ports);
    let tiers = tiers(&vertices);
    let mut out = Topology::default();
    let mut notes = Vec::new();
    let hosts = vertices.iter().filter(|v| !v.switch).count();
    let parts = parts(data, networks[0]);
    let groups = group(&vertices, ports, &parts, hosts > MAX_HOSTS);
    if groups.len() < vertices.len() {
        notes.push("Hosts of one switch with equal links and equal roles are drawn as one.".to_owned());
    }
    for members in &groups {
        members.iter().for_each(|m| vertices[*m].drawn = out.nodes.len());
        let names: Vec<&str> = members.iter().map(|m| vertices[*m].name).collect();
        out.nodes.push(Node {
            name: range(&names),
            count: members.len() as u64,
            switch: vertices[members[0]].switch,
            x: 0.5,
            y: 0.5,
        });
    }
    place(&mut out.nodes, &groups, &vertices, &tiers);
    out.subjects = networks.iter().map(|n| data.networks[*n].first).collect();
    out.labels = networks.iter().map(|n| data.network_label(*n)).collect();
    out.links = links(data, ports, networks, &vertices);
    if out.links.len() > MAX_LINKS {
        let left = out.links.len() - MAX_LINKS;
        let busiest = |l: &Link| l.utilization.iter().copied().fold(0.0, f64::max);
        out.links.sort_by(|a, b| busiest(b).total_cmp(&busiest(a)));
        out.links.truncate(MAX_LINKS);
        notes.push(format!("{} with low utilization are omitted.", count(left, "link")));
    }
    out.note = notes.join(" ");
    out
}

/// Nodes in the order in which the ports name them.
fn vertices<'a>(ports: &[&'a Port]) -> Vec<Vertex<'a>> {
    let mut index: BTreeMap<&str, usize> = BTreeMap::new();
    let mut linked: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut out: Vec<Vertex> = Vec::new();
    for p in ports {
        let [a, b] = [(&p.from, p.from_switch), (&p.to, p.to_switch)].map(|(name, switch)| {
            *index.entry(name).or_insert_with(|| {
                out.push(Vertex { name, switch, peers: Vec::new(), drawn: 0 });
                out.len() - 1
            })
        });
        if linked.insert((a, b)) {
            out[a].peers.push(b);
        }
    }
    out
}

/// Distance of each node from the nearest host: 0 for hosts, 1 for their switches, and so on.
fn tiers(vertices: &[Vertex]) -> Vec<usize> {
    let mut tier: Vec<usize> = vertices.iter().map(|v| if v.switch { usize::MAX } else { 0 }).collect();
    let mut level = 0;
    loop {
        let next: Vec<usize> = (0..vertices.len())
            .filter(|&v| tier[v] == level)
            .flat_map(|v| vertices[v].peers.iter().copied())
            .filter(|&p| tier[p] == usize::MAX)
            .collect();
        if next.is_empty() {
            break;
        }
        next.iter().for_each(|&v| tier[v] = level + 1);
        level += 1;
    }
    // Switches without hosts, which no topology has, are drawn in the highest tier.
    tier.iter().map(|&t| if t == usize::MAX { level } else { t }).collect()
}

/// Role of a host in the traffic: sender or receiver of which workload, by which transport.
type Part = BTreeSet<(bool, Option<u32>, usize)>;

/// Maximum number of different roles for which hosts are drawn separately: more of them are random.
const MAX_PARTS: usize = 8;

/// Role of each host of a network; empty if there are too many roles.
fn parts(data: &Data, network: usize) -> BTreeMap<&str, Part> {
    let n = &data.networks[network];
    let mut parts: BTreeMap<&str, Part> = BTreeMap::new();
    for f in data.flows.iter().filter(|f| (n.first..n.first + n.groups).contains(&f.subject)) {
        for (sends, host) in [(true, f.from), (false, f.to)] {
            if let Some(host) = data.host(host) {
                parts.entry(host).or_default().insert((sends, f.class, f.subject));
            }
        }
    }
    let distinct: BTreeSet<&Part> = parts.values().collect();
    if distinct.len() > MAX_PARTS { BTreeMap::new() } else { parts }
}

/// Groups of nodes that are drawn as one: with `together`, hosts of the same switch with the same role, equal link rates and unnamed links.
fn group(vertices: &[Vertex], ports: &[&Port], parts: &BTreeMap<&str, Part>, together: bool) -> Vec<Vec<usize>> {
    // Rates of a host's links, and true if one of them has a name, such as `bottleneck`.
    let mut links: BTreeMap<&str, (Vec<u64>, bool)> = BTreeMap::new();
    for p in ports {
        let named = p.name != format!("{}->{}", p.from, p.to);
        for (own, switch) in [(&p.from, p.from_switch), (&p.to, p.to_switch)] {
            if !switch {
                let entry = links.entry(own).or_default();
                entry.0.push(p.rate_bps as u64);
                entry.1 |= named;
            }
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    /// Neighbors, link rates, and role: hosts that agree in them are drawn as one.
    type Alike<'a> = (Vec<usize>, &'a [u64], Option<&'a Part>);
    let mut known: BTreeMap<Alike<'_>, usize> = BTreeMap::new();
    for (i, v) in vertices.iter().enumerate() {
        let Some((rates, false)) = links.get(v.name).filter(|_| together && !v.switch) else {
            groups.push(vec![i]);
            continue;
        };
        let at = *known.entry((v.peers.clone(), rates, parts.get(v.name))).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[at].push(i);
    }
    groups
}

/// `s0 to s39`, `a, b`, or the first and a number.
fn range(names: &[&str]) -> String {
    let split = |n: &str| {
        let digits = n.bytes().rev().take_while(u8::is_ascii_digit).count();
        n[n.len() - digits..].parse::<u64>().ok().map(|k| (n[..n.len() - digits].to_owned(), k))
    };
    let (first, last) = (names[0], names[names.len() - 1]);
    let consecutive = names.windows(2).all(|w| match (split(w[0]), split(w[1])) {
        (Some((a, i)), Some((b, j))) => a == b && j == i + 1,
        _ => false,
    });
    match names.len() {
        1 => first.to_owned(),
        _ if consecutive => format!("{first} to {last}"),
        2 => format!("{first}, {last}"),
        n => format!("{first} and {} more", n - 1),
    }
}

/// Rows of tiers, hosts at the bottom; each row is ordered by the row below or above it.
fn place(nodes: &mut [Node], groups: &[Vec<usize>], vertices: &[Vertex], tiers: &[usize]) {
    let height = tiers.iter().copied().max().unwrap_or(0).max(1);
    let tier = |n: usize| tiers[groups[n][0]];
    let linked = |n: usize, to: usize| {
        let mut below: Vec<usize> = groups[n].iter().flat_map(|&m| &vertices[m].peers).map(|&p| vertices[p].drawn).collect();
        below.retain(|&p| tier(p) == to);
        below.sort_unstable();
        below.dedup();
        below
    };
    // Hosts in the order of their switches, which is the order of their names.
    let mut hosts: Vec<usize> = (0..groups.len()).filter(|&n| tier(n) == 0).collect();
    hosts.sort_by_cached_key(|&n| (linked(n, 1).into_iter().min().unwrap_or(usize::MAX), n));
    spread(nodes, &hosts);
    for level in 1..=height {
        let mut row: Vec<usize> = (0..groups.len()).filter(|&n| tier(n) == level).collect();
        let centre = |n: &usize| {
            let below = linked(*n, level - 1);
            below.iter().map(|&b| nodes[b].x).sum::<f64>() / below.len().max(1) as f64
        };
        let mut centres: Vec<(f64, usize)> = row.iter().map(|n| (centre(n), *n)).collect();
        centres.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        row = centres.iter().map(|c| c.1).collect();
        spread(nodes, &row);
        // Above the nodes that they serve, if space permits.
        let room = 0.6 / row.len() as f64;
        if centres.windows(2).all(|w| w[1].0 - w[0].0 > room) {
            centres.iter().for_each(|(x, n)| nodes[*n].x = *x);
        }
    }
    for (n, node) in nodes.iter_mut().enumerate() {
        node.x = short(node.x);
        node.y = short(1.0 - tier(n) as f64 / height as f64);
    }
}

fn spread(nodes: &mut [Node], row: &[usize]) {
    let n = row.len() as f64;
    row.iter().enumerate().for_each(|(i, &node)| nodes[node].x = (i as f64 + 0.5) / n);
}

/// Directed links between drawn nodes, each with the statistics of every subject's run.
fn links(data: &Data, ports: &[&Port], networks: &[usize], vertices: &[Vertex]) -> Vec<Link> {
    let index: BTreeMap<&str, usize> = vertices.iter().map(|v| (v.name, v.drawn)).collect();
    let nothing = || vec![0.0; data.subjects.len()];
    let mut out: Vec<Link> = Vec::new();
    // Parallel links with a name or another rate stay separate.
    let mut known: BTreeMap<(usize, usize, u64, Option<&str>), usize> = BTreeMap::new();
    let mut by_id: BTreeMap<u64, usize> = BTreeMap::new();
    for p in ports {
        let (Some(&from), Some(&to)) = (index.get(p.from.as_str()), index.get(p.to.as_str())) else { continue };
        let own = (p.name != format!("{}->{}", p.from, p.to)).then_some(p.name.as_str());
        let at = *known.entry((from, to, p.rate_bps as u64, own)).or_insert_with(|| {
            let [utilization, drops, marks, queue_max] = [nothing(), nothing(), nothing(), nothing()];
            out.push(Link {
                from,
                to,
                name: p.name.clone(),
                count: 0,
                rate_bps: p.rate_bps,
                utilization,
                drops,
                marks,
                queue_max,
            });
            out.len() - 1
        });
        out[at].count += 1;
        by_id.insert(p.id, at);
    }
    for p in data.ports.iter().filter(|p| networks.contains(&p.network)) {
        let Some(&at) = by_id.get(&p.id) else { continue };
        let link = &mut out[at];
        let network = &data.networks[p.network];
        for s in network.first..network.first + network.groups {
            link.utilization[s] = link.utilization[s].max(short(p.utilization));
            link.drops[s] = short(link.drops[s] + p.drops);
            link.marks[s] = short(link.marks[s] + p.marks);
            link.queue_max[s] = link.queue_max[s].max(short(p.queue_max));
        }
    }
    for link in out.iter_mut().filter(|l| l.count > 1) {
        link.name = format!("{} and {} more", link.name, link.count - 1);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_analysis::{Flow, Network, Subject};

    fn data(groups: usize) -> Data {
        let mut d = Data::default();
        d.networks.push(Network { first: 0, groups, ..Network::default() });
        d.subjects = vec![Subject::default(); groups];
        d
    }

    fn cable(d: &mut Data, a: &str, b: &str) {
        for (from, to) in [(a, b), (b, a)] {
            let id = d.ports.len() as u64;
            let [from_switch, to_switch] = [from, to].map(|n| n.starts_with("sw"));
            d.ports.push(Port {
                id,
                name: format!("{from}->{to}"),
                from: from.into(),
                to: to.into(),
                from_switch,
                to_switch,
                rate_bps: 1e9,
                utilization: id as f64 / 1_000.0,
                drops: 1.0,
                seeds: 1,
                ..Port::default()
            });
        }
    }

    fn drawn(d: &Data) -> Topology {
        let Some(View { chart: Chart::Topology(t), .. }) = figure(d).unwrap().views.pop() else { panic!("nothing drawn") };
        t
    }

    #[test]
    fn many_senders_collapse_to_node() {
        let mut d = data(2);
        (0..40).for_each(|i| cable(&mut d, &format!("s{i}"), "sw"));
        cable(&mut d, "recv", "sw");
        let id = d.ports.len() - 1;
        d.ports[id].name = "bottleneck".into();
        let t = drawn(&d);
        let nodes: Vec<(&str, u64, bool, f64)> = t.nodes.iter().map(|n| (n.name.as_str(), n.count, n.switch, n.y)).collect();
        assert_eq!(nodes, [("s0 to s39", 40, false, 1.0), ("sw", 1, true, 0.0), ("recv", 1, false, 1.0)]);
        assert_eq!(t.links.len(), 4);
        let up = &t.links[0];
        assert_eq!((up.count, up.drops.clone(), up.utilization.clone()), (40, vec![40.0; 2], vec![0.078; 2]));
        assert!(t.links.iter().any(|l| l.name == "bottleneck" && l.count == 1));
        assert!(t.note.contains("drawn as one"), "{}", t.note);
    }

    #[test]
    fn hosts_with_different_parts_stay_apart() {
        let mut d = data(2);
        (0..44).for_each(|i| cable(&mut d, &format!("s{i}"), "sw"));
        cable(&mut d, "recv", "sw");
        d.hosts = (0..44).map(|i| format!("s{i}")).chain(["recv".to_owned()]).collect();
        let flow = |i: u32| Flow {
            from: Some(i),
            to: Some(44),
            class: Some(u32::from(i >= 40)),
            subject: usize::from(i >= 40),
            ..Flow::default()
        };
        d.flows = (0..44).map(flow).collect();
        let names: Vec<String> = drawn(&d).nodes.into_iter().map(|n| n.name).collect();
        assert_eq!(names, ["s0 to s39", "sw", "s40 to s43", "recv"]);
        // If every host has a role of its own, roles are not informative.
        (0..44).for_each(|i| d.flows[i].class = Some(i as u32));
        assert_eq!(drawn(&d).nodes.len(), 2, "one of 45 hosts, and the switch");
    }

    #[test]
    fn tiers_above_their_hosts() {
        let mut d = data(1);
        for leaf in 0..3 {
            (0..2).for_each(|h| cable(&mut d, &format!("h{}", 2 * leaf + h), &format!("sw-leaf{leaf}")));
            (0..2).for_each(|s| cable(&mut d, &format!("sw-leaf{leaf}"), &format!("sw-spine{s}")));
        }
        let t = drawn(&d);
        let at = |name: &str| t.nodes.iter().find(|n| n.name == name).map(|n| (n.x, n.y)).unwrap();
        assert_eq!((at("h0").1, at("sw-leaf1").1, at("sw-spine0").1), (1.0, 0.5, 0.0));
        assert_eq!(at("sw-leaf1").0, (at("h2").0 + at("h3").0) / 2.0);
        assert!(at("sw-spine0").0 < at("sw-spine1").0 && at("h1").0 < at("h2").0);
        assert_eq!((t.links.len(), t.note.as_str()), (24, ""));
    }

    #[test]
    fn variants_share_topology_picture() {
        let mut d = data(1);
        cable(&mut d, "a", "sw");
        d.networks.push(Network { first: 1, groups: 1, ..Network::default() });
        d.subjects.push(Subject::default());
        let again: Vec<Port> = d.ports.iter().map(|p| Port { network: 1, utilization: 0.5, ..p.clone() }).collect();
        d.ports.extend(again);
        let f = figure(&d).unwrap();
        let Chart::Topology(t) = &f.views[0].chart else { panic!() };
        assert_eq!((f.views.len(), t.links[0].utilization.clone()), (1, vec![0.0, 0.5]));
        d.ports[2].rate_bps = 1e10;
        assert_eq!(figure(&d).unwrap().views.len(), 2);
    }

    #[test]
    fn names_of_several() {
        assert_eq!(range(&["s0"]), "s0");
        assert_eq!(range(&["s8", "s9", "s10"]), "s8 to s10");
        assert_eq!(range(&["a", "b"]), "a, b");
        assert_eq!(range(&["h1", "h3", "h5"]), "h1 and 2 more");
    }
}
