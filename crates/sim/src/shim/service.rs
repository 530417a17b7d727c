//! A class of service for all packets of a transport's senders, as an operator sets a DSCP for an application. A new transport can so have a
//! separate queue.

use super::tag::{Message, Segment, TagShim};
use crate::net::packet::service;
use forebay_experiment::registry::{Place, ShimEntry};
use forebay_types::param::{Entry, Kind, Param};

/// Parameters, from the registry entry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Config {
    class: u8,
}

/// The class of one connection.
#[derive(Debug, Clone, Copy)]
pub struct Service {
    class: u8,
}

impl TagShim for Service {
    type Config = Config;

    /// Our choice: the other end's ACKs keep their class, as those of a receiver that sets no DSCP.
    const URGENT_CONTROL: bool = false;

    fn new(c: &Config, _delayed_acks: bool) -> Service {
        Service { class: c.class }
    }

    fn tag(&self, _m: &Message, _s: &Segment) -> u16 {
        service(self.class, 0)
    }

    fn control(&self) -> u8 {
        self.class
    }
}

pub(super) const ENTRY: ShimEntry<Config> = ShimEntry {
    entry: Entry {
        name: "service",
        summary: "sends all packets in one class of service, as by a DSCP: a queue of its own under strict-priority, dwrr or wfq",
        params: &[Param {
            key: "class",
            kind: Kind::Int(0, 7),
            default: Some("4"),
            doc: "class of service, 7 is the most urgent (class selectors of DSCP: CS4 is 4); ACKs of the other end keep class 0",
        }],
    },
    place: Place::Tag,
    needs_handshake: false,
    wants_marks: false,
    duplicates_only: &[],
    build: |v| Ok(Config { class: v.int("class") as u8 }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::service;
    use crate::shim::tag_shims::{self, Tagger};

    #[test]
    fn data_syn_fin_have_class() {
        let config = tag_shims::Config::Service(Config { class: 5 });
        let mut t = Tagger::new(Some(&config), false).unwrap();
        t.write(0, 3_000, 0);
        let mut at = |offset, una| t.data(&Segment { offset, una, sacked: 0, high: offset, mss: 1_000, again: false });
        assert_eq!([at(0, 0), at(2_000, 0), at(3_000, 3_000)], [service(5, 0); 3]);
        assert_eq!(t.control(), service(5, 0));
        assert!(!config.urgent_acks());
    }
}
