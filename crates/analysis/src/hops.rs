//! Hop counts between the switches of a network.
//!
//! A network of 65 536 hosts has 2 048 racks and 5 120 switches with 327 680 links between them. Distances to 64 switches are therefore found in
//! one search, with one bit per switch (as in the multi-source search of Then et al., "The more the merrier", VLDB 2014).

/// Unreachable.
pub(crate) const FAR: u16 = u16::MAX;
/// Switches whose distances are found together.
const BLOCK: usize = 64;

/// Distances between the switches of a network, computed on demand.
#[derive(Default)]
pub(crate) struct Hops {
    /// For each switch, the switches with a link to it.
    before: Vec<Vec<usize>>,
    /// For each block of switches, once computed: hops to each of them from every switch.
    blocks: Vec<Option<Vec<[u16; BLOCK]>>>,
}

/// Distances to one switch.
pub(crate) struct To<'a> {
    block: &'a [[u16; BLOCK]],
    place: usize,
}

impl Hops {
    /// Distances for the given predecessors of each switch.
    pub(crate) fn new(mut before: Vec<Vec<usize>>) -> Hops {
        for list in &mut before {
            list.sort_unstable();
            list.dedup();
        }
        let blocks = vec![None; before.len().div_ceil(BLOCK)];
        Hops { before, blocks }
    }

    /// The distances to switch number `goal`.
    pub(crate) fn to(&mut self, goal: usize) -> To<'_> {
        let (before, first) = (&self.before, goal / BLOCK * BLOCK);
        let block = self.blocks[goal / BLOCK].get_or_insert_with(|| hops_to(before, first..before.len().min(first + BLOCK)));
        To { block, place: goal % BLOCK }
    }
}

impl To<'_> {
    /// From switch number `from`; [`FAR`] if unreachable or more than 65 534 hops away.
    pub(crate) fn from(&self, from: usize) -> u16 {
        self.block[from][self.place]
    }
}

/// Hops to each of some switches from every switch, by breadth-first search with one bit per target.
fn hops_to(before: &[Vec<usize>], goals: std::ops::Range<usize>) -> Vec<[u16; BLOCK]> {
    let mut hops = vec![[FAR; BLOCK]; before.len()];
    // Targets reached from each switch so far, and in the last step.
    let (mut known, mut new) = (vec![0_u64; before.len()], vec![0_u64; before.len()]);
    let mut front: Vec<usize> = goals.clone().collect();
    for (place, goal) in goals.enumerate() {
        (known[goal], new[goal], hops[goal][place]) = (1 << place, 1 << place, 0);
    }
    let mut reached = vec![0_u64; before.len()];
    for far in 1..FAR {
        let mut next = Vec::new();
        for node in front {
            for &b in &before[node] {
                let more = new[node] & !known[b];
                if more != 0 && reached[b] == 0 {
                    next.push(b);
                }
                reached[b] |= more;
            }
        }
        for &node in &next {
            let mut bits = std::mem::take(&mut reached[node]);
            (known[node], new[node]) = (known[node] | bits, bits);
            while bits != 0 {
                hops[node][bits.trailing_zeros() as usize] = far;
                bits &= bits - 1;
            }
        }
        if next.is_empty() {
            break;
        }
        front = next;
    }
    hops
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Rng;
    use std::collections::VecDeque;

    /// One search for each switch.
    fn one_by_one(before: &[Vec<usize>], goal: usize) -> Vec<u16> {
        let mut hops = vec![FAR; before.len()];
        hops[goal] = 0;
        let mut next = VecDeque::from([goal]);
        while let Some(node) = next.pop_front() {
            for &b in &before[node] {
                if hops[b] == FAR {
                    hops[b] = hops[node] + 1;
                    next.push_back(b);
                }
            }
        }
        hops
    }

    #[test]
    fn multi_source_search_equals_single_searches() {
        let mut rng = Rng::stream(8, &[]);
        for nodes in [1, 2, 63, 64, 65, 200] {
            for links in [0, nodes / 2, 2 * nodes, 5 * nodes] {
                let mut before = vec![Vec::new(); nodes];
                for _ in 0..links {
                    before[rng.below(nodes as u64) as usize].push(rng.below(nodes as u64) as usize);
                }
                let mut hops = Hops::new(before.clone());
                for goal in 0..nodes {
                    let to = hops.to(goal);
                    let found: Vec<u16> = (0..nodes).map(|from| to.from(from)).collect();
                    assert_eq!(found, one_by_one(&before, goal), "{nodes} switches, {links} links, to {goal}");
                }
            }
        }
    }
}
