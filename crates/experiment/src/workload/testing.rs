//! Small scenarios for tests of workloads.

use super::{BuildError, Context, find};
use crate::network::Network;
use crate::profile;
use crate::topology::testing::{build, values};
use crate::traffic::WorkloadKind;
use crate::transport::Profile;
use crate::transport::Stack;
use forebay_types::Time;
use forebay_types::param::Value;

pub(super) struct World {
    pub network: Network,
    pub tcp: Stack,
    pub duration: Option<Time>,
}

impl World {
    fn new(topology: &str, given: &[(&'static str, Value)]) -> World {
        World {
            network: build(topology, given).unwrap(),
            tcp: profile::defaults(Profile::Ns2),
            duration: Some(Time::from_secs(1)),
        }
    }

    /// 3 racks of 4 hosts, 1 Gbps.
    pub(super) fn racks() -> World {
        World::new("leaf-spine", &[("leaves", Value::Int(3)), ("hosts-per-leaf", Value::Int(4)), ("spines", Value::Int(2))])
    }

    /// Racks of hosts at `rate`, with oversubscribed uplinks.
    pub(super) fn fabric(leaves: i64, hosts: i64, spines: i64, rate: &str, oversubscription: f64) -> World {
        let host = crate::topology::testing::link(rate, "5us");
        let size = [("leaves", Value::Int(leaves)), ("hosts-per-leaf", Value::Int(hosts)), ("spines", Value::Int(spines))];
        let links = [("host", Value::Link(host)), ("oversubscription", Value::Float(oversubscription))];
        World::new("leaf-spine", &[&size[..], &links[..]].concat())
    }

    /// `n` senders and a receiver, 1 Gbps.
    pub(super) fn many_to_one(n: i64) -> World {
        World::new("many-to-one", &[("senders", Value::Int(n))])
    }

    pub(super) fn context(&self) -> Context<'_> {
        Context { network: &self.network, tcp: &self.tcp, duration: self.duration, seed: 1 }
    }

    /// Builds workload `name`, with defaults for missing parameters.
    pub(super) fn build(&self, name: &str, given: &[(&'static str, Value)]) -> Result<WorkloadKind, BuildError> {
        let w = find(name).unwrap();
        (w.build)(&values(w.entry, given), &self.context())
    }

    /// The key that the error of [`World::build`] names.
    pub(super) fn refused(&self, name: &str, given: &[(&'static str, Value)]) -> &'static str {
        self.build(name, given).unwrap_err().key
    }
}
