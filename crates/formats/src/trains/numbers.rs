//! Numbers of hosts and connections, in order of first appearance.

use crate::trains::packet::Endpoint;
use crate::trains::sink::Host;
use hashbrown::HashMap;
use std::net::IpAddr;

/// Numbers that are in use.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    hosts: Vec<IpAddr>,
    by_address: HashMap<IpAddr, u32>,
    connections: u64,
}

impl Numbers {
    /// An end with the number of its address.
    pub(crate) fn host(&mut self, end: Endpoint) -> Host {
        let ip = end.ip();
        let number = *self.by_address.entry(ip).or_insert_with(|| {
            self.hosts.push(ip);
            self.hosts.len() as u32 - 1
        });
        Host { end, number }
    }

    /// The number of a new connection.
    pub(crate) fn connection(&mut self) -> u64 {
        self.connections += 1;
        self.connections - 1
    }

    /// Addresses by number.
    pub(crate) fn into_hosts(self) -> Vec<IpAddr> {
        self.hosts
    }
}
