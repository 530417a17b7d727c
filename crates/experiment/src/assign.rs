//! Assignment of transports to connections: one rule per workload.

use forebay_types::{GroupId, IndexVec, NodeId};
use std::sync::Arc;

/// Rule of one workload. Its counters are those of the workload, so that other traffic does not change the assignment.
#[derive(Debug, Clone, PartialEq)]
pub enum Assign {
    /// All connections use this transport.
    One(GroupId),
    /// By the sending host of the connection; `None`: no group names the host.
    ByHost(Arc<IndexVec<NodeId, Option<GroupId>>>),
    /// By share of the connections, in the order of their creation.
    Share(Shares),
}

/// Transports and the target share of connections of each.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// (transport, share above 0, connections it has so far).
    parts: Vec<(GroupId, f64, u64)>,
}

/// Calls a closure with every host that sends on a connection of a workload.
pub(crate) type EachSender<'a> = &'a dyn Fn(&mut dyn FnMut(NodeId));

impl Assign {
    /// Hosts of each transport, as (host, transport), on a network of `nodes` nodes.
    pub fn by_host(nodes: usize, members: impl IntoIterator<Item = (NodeId, GroupId)>) -> Assign {
        let mut table = IndexVec::repeat(None, nodes);
        for (host, group) in members {
            table[host] = Some(group);
        }
        Assign::ByHost(Arc::new(table))
    }

    /// Transports with their shares, which need not add up to 1 exactly.
    pub fn share(parts: impl IntoIterator<Item = (GroupId, f64)>) -> Assign {
        Assign::Share(Shares { parts: parts.into_iter().map(|(group, share)| (group, share, 0)).collect() })
    }

    /// Transport of the next connection, whose data `src` sends. Panics for a host without a transport;
    /// [`Experiment::check`](crate::Experiment::check) refuses such experiments.
    #[inline]
    pub fn pick(&mut self, src: NodeId) -> GroupId {
        match self {
            Assign::One(group) => *group,
            Assign::ByHost(table) => table[src].unwrap_or_else(|| panic!("host {src} has no transport")),
            Assign::Share(shares) => shares.next(),
        }
    }

    /// Transports of the next two connections, which serve one client together: from `client`, and back from `server`. Shares give both directions
    /// the same transport. Otherwise, of two transports, one would carry all requests and the other all responses.
    pub fn pick_pair(&mut self, client: NodeId, server: NodeId) -> (GroupId, GroupId) {
        let there = self.pick(client);
        let back = if matches!(self, Assign::Share(_)) { there } else { self.pick(server) };
        (there, back)
    }

    /// Returns true if host `src` has a transport.
    pub fn covers(&self, src: NodeId) -> bool {
        !matches!(self, Assign::ByHost(table) if table[src].is_none())
    }

    /// Checks that every sending host gets one of `groups` transports, on a network of `nodes` nodes that has these hosts. The error is the reason.
    pub(crate) fn check(&self, nodes: usize, groups: usize, senders: EachSender<'_>) -> Result<(), String> {
        let exists = |group: GroupId| {
            if group.index() < groups { Ok(()) } else { Err(format!("there is no transport {group}; there are {groups}")) }
        };
        match self {
            Assign::One(group) => exists(*group),
            Assign::ByHost(table) => {
                if table.len() != nodes {
                    return Err(format!("the table has {} entries for {nodes} nodes", table.len()));
                }
                let mut result = Ok(());
                senders(&mut |host| {
                    let own = table[host].map_or_else(|| Err(format!("host {host} has no transport")), exists);
                    if result.is_ok() {
                        result = own;
                    }
                });
                result
            }
            Assign::Share(shares) => {
                if shares.parts.is_empty() || !shares.parts.iter().all(|p| p.1.is_finite() && p.1 > 0.0) {
                    return Err("shares must be above zero and finite, and there must be one".into());
                }
                shares.parts.iter().try_for_each(|p| exists(p.0))
            }
        }
    }

    /// Returns true if a connection of one of the senders can get transport `group`.
    pub(crate) fn uses(&self, group: GroupId, senders: EachSender<'_>) -> bool {
        match self {
            Assign::One(one) => *one == group,
            Assign::ByHost(table) => {
                let mut any = false;
                senders(&mut |host| any |= table[host] == Some(group));
                any
            }
            Assign::Share(shares) => shares.parts.iter().any(|p| p.0 == group),
        }
    }

    /// Share of transport `group` if the rule is by share.
    pub fn share_of(&self, group: GroupId) -> Option<f64> {
        let Assign::Share(shares) = self else { return None };
        shares.parts.iter().find(|p| p.0 == group).map(|p| p.1)
    }
}

impl Shares {
    /// Method of Webster and Sainte-Lague: the next connection goes to the smallest (2 n + 1) / share. After any number of connections each transport
    /// has its rounded share, except in rare cases with three or more transports. Whole shares are exact, and equal shares alternate. The method
    /// draws no random numbers, so that all seeds have the same assignment.
    fn next(&mut self) -> GroupId {
        let claim = |p: &(GroupId, f64, u64)| (2 * p.2 + 1) as f64 / p.1;
        let mut first = 0;
        for i in 1..self.parts.len() {
            if claim(&self.parts[i]) < claim(&self.parts[first]) {
                first = i;
            }
        }
        self.parts[first].2 += 1;
        self.parts[first].0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_types::Rng;

    fn picks(shares: &[f64], n: usize) -> Vec<usize> {
        let mut a = Assign::share(shares.iter().enumerate().map(|(group, &share)| (GroupId::from_index(group), share)));
        (0..n).map(|_| a.pick(NodeId::new(0)).index()).collect()
    }

    fn counts(shares: &[f64], n: usize) -> Vec<usize> {
        let all = picks(shares, n);
        (0..shares.len()).map(|g| all.iter().filter(|p| **p == g).count()).collect()
    }

    #[test]
    fn equal_shares_take_turns() {
        assert_eq!(picks(&[0.5, 0.5], 6), [0, 1, 0, 1, 0, 1]);
        assert_eq!(picks(&[0.333, 0.333, 0.333], 6), [0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn small_share_is_centred() {
        assert_eq!(picks(&[0.1, 0.9], 20).iter().map(|p| p.to_string()).collect::<String>(), "11110111111111011111");
        assert_eq!(counts(&[0.9, 0.1], 10), [9, 1]);
    }

    /// Whole quotas are met exactly, whatever the number of transports.
    #[test]
    fn whole_quotas_are_met() {
        let mut rng = Rng::stream(3, &[]);
        for _ in 0..300 {
            let quota: Vec<u64> = (0..2 + rng.below(6)).map(|_| 1 + rng.below(30)).collect();
            let total: u64 = quota.iter().sum();
            let shares: Vec<f64> = quota.iter().map(|q| *q as f64 / total as f64).collect();
            let got = counts(&shares, total as usize);
            assert!(got.iter().zip(&quota).all(|(g, q)| *g as u64 == *q), "{quota:?}: {got:?}");
        }
    }

    /// With two transports, counts deviate from the shares by rounding only.
    #[test]
    fn shares_hold_at_every_moment() {
        for share in [0.01, 0.123, 0.5, 0.77] {
            let all = picks(&[share, 1.0 - share], 500);
            for n in 1..=500 {
                let got = all[..n].iter().filter(|p| **p == 0).count() as f64;
                assert!((got - share * n as f64).abs() <= 0.5 + 1e-9, "{share}: {got} of {n}");
            }
        }
    }

    #[test]
    fn assigns_by_host() {
        let (first, second) = (GroupId::new(0), GroupId::new(1));
        let mut a = Assign::by_host(4, [(NodeId::new(0), second), (NodeId::new(2), first)]);
        assert_eq!((a.pick(NodeId::new(0)), a.pick(NodeId::new(2)), a.pick(NodeId::new(0))), (second, first, second));
        assert_eq!((a.covers(NodeId::new(0)), a.covers(NodeId::new(1)), a.covers(NodeId::new(3))), (true, false, false));
        assert_eq!(a.pick_pair(NodeId::new(0), NodeId::new(2)), (second, first));
        let senders: EachSender<'_> = &|see| see(NodeId::new(0));
        assert!(a.uses(second, senders) && !a.uses(first, senders));
    }

    #[test]
    fn client_pair_shares_one_choice() {
        let mut a = Assign::share([0, 1].map(|group| (GroupId::new(group), 0.5)));
        assert_eq!(
            [
                a.pick_pair(NodeId::new(0), NodeId::new(1)),
                a.pick_pair(NodeId::new(0), NodeId::new(1)),
                a.pick_pair(NodeId::new(0), NodeId::new(1))
            ],
            [(0, 0), (1, 1), (0, 0)].map(|(there, back)| (GroupId::new(there), GroupId::new(back)))
        );
    }
}
