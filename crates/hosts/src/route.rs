//! Routes that give connections to a prefix a congestion control (`congctl` of `ip route`). Our route is a copy of the one that the kernel uses for
//! the prefix, with the congestion control and a higher priority. The original stays and is used again when ours is removed. Our routes are
//! identified by their protocol number, so that they are found without a state file.

use crate::netlink::Netlink;
use crate::{Error, Prefix};
use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

/// The protocol number of our routes (`proto 251` of `ip route`); the kernel and the routing daemons do not use it.
pub(crate) const PROTOCOL: u8 = 251;

/// One of our routes, with the fields that its removal needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Route {
    pub(crate) prefix: Prefix,
    table: u32,
    priority: u32,
}

/// A route that is to be made.
pub(crate) struct Plan {
    pub(crate) route: Route,
    message: RouteMessage,
}

impl Plan {
    /// Plans of the routes for the prefix: a copy of the route to it, and of each route to a part of it.
    pub(crate) fn all(prefix: Prefix, cc: &str) -> Result<Vec<Plan>, Error> {
        let routes = unicast(family(prefix.address()))?;
        if let Some((taken, _)) = routes.iter().find(|(p, r)| is_own(r) && (p.within(prefix) || prefix.within(*p))) {
            return Err(Error::new(format!("{taken} already has a route of forebay"))
                .fix("`forebay status` names the attachment; detach it first"));
        }
        Plan::copies(&routes, prefix, cc)
    }

    /// Copies of the route to the prefix and of those to parts of it.
    fn copies(routes: &[(Prefix, RouteMessage)], prefix: Prefix, cc: &str) -> Result<Vec<Plan>, Error> {
        // The longest prefix wins, and among equal ones the least priority, which the kernel lists first.
        let mut above: Vec<&(Prefix, RouteMessage)> = routes.iter().filter(|(p, _)| prefix.within(*p)).collect();
        above.sort_by_key(|(p, r)| (std::cmp::Reverse(p.length()), priority(r)));
        let mut plans: Vec<Plan> = above.first().map(|(_, r)| Plan::copy(r, prefix, cc)).into_iter().collect();
        let mut parts: Vec<&(Prefix, RouteMessage)> = routes.iter().filter(|(p, _)| p.within(prefix) && *p != prefix).collect();
        parts.sort_by_key(|(p, r)| (*p, priority(r)));
        parts.dedup_by_key(|(p, _)| *p);
        plans.extend(parts.iter().map(|(p, r)| Plan::copy(r, *p, cc)));
        if plans.is_empty() {
            return Err(Error::new(format!("this host has no route to {prefix}"))
                .fix("name a prefix that it can reach (`ip route show` lists the routes of the main table)"));
        }
        Ok(plans)
    }

    /// A copy of a route, for this prefix, with the congestion control.
    fn copy(route: &RouteMessage, prefix: Prefix, cc: &str) -> Plan {
        let mut message = route.clone();
        let mut metrics = Vec::new();
        let same = message.header.destination_prefix_length == prefix.length();
        let mut priority = priority(route);
        message.attributes.retain(|a| {
            if let RouteAttribute::Metrics(m) = a {
                metrics.clone_from(m);
            }
            matches!(
                a,
                RouteAttribute::Gateway(_)
                    | RouteAttribute::Via(_)
                    | RouteAttribute::Oif(_)
                    | RouteAttribute::MultiPath(_)
                    | RouteAttribute::PrefSource(_)
                    | RouteAttribute::NhId(_)
                    | RouteAttribute::Encap(_)
                    | RouteAttribute::EncapType(_)
                    | RouteAttribute::Table(_)
            )
        });
        // IPv6 has no order among routes of one prefix and priority: ours has to be ahead by one.
        if prefix.address().is_ipv6() && same {
            priority = priority.max(2) - 1;
        }
        metrics.retain(|m| !matches!(m, RouteMetric::CcAlgo(_)));
        metrics.push(RouteMetric::CcAlgo(cc.to_owned()));
        message.header.destination_prefix_length = prefix.length();
        message.header.protocol = RouteProtocol::Other(PROTOCOL);
        message.header.flags = RouteFlags::empty();
        if prefix.length() > 0 {
            message.attributes.push(RouteAttribute::Destination(prefix.address().into()));
        }
        message.attributes.push(RouteAttribute::Metrics(metrics));
        if priority > 0 {
            message.attributes.push(RouteAttribute::Priority(priority));
        }
        Plan { route: Route { prefix, table: u32::from(route.header.table), priority }, message }
    }

    /// The same by hand.
    pub(crate) fn command(&self, cc: &str) -> String {
        let mut text = format!("ip route prepend {}", self.route.prefix);
        for a in &self.message.attributes {
            match a {
                RouteAttribute::Gateway(RouteAddress::Inet(a)) => text += &format!(" via {a}"),
                RouteAttribute::Gateway(RouteAddress::Inet6(a)) => text += &format!(" via {a}"),
                RouteAttribute::Oif(i) => text += &format!(" dev {}", interface_name(*i)),
                RouteAttribute::PrefSource(RouteAddress::Inet(a)) => text += &format!(" src {a}"),
                RouteAttribute::PrefSource(RouteAddress::Inet6(a)) => text += &format!(" src {a}"),
                RouteAttribute::MultiPath(_) => text += " (and the same next hops as now)",
                _ => {}
            }
        }
        if self.message.header.scope == RouteScope::Link {
            text += " scope link";
        }
        if self.route.priority > 0 {
            text += &format!(" metric {}", self.route.priority);
        }
        format!("{text} proto {PROTOCOL} congctl {cc}")
    }

    /// Makes it.
    pub(crate) fn add(self) -> Result<(), Error> {
        let what = format!("route to {}", self.route.prefix);
        match Netlink::open(NETLINK_ROUTE, "route")?
            .request(RouteNetlinkMessage::NewRoute(self.message), NLM_F_CREATE | NLM_F_ACK)?
        {
            Ok(_) => Ok(()),
            Err(e) => Err(Error::io(what, &io::Error::from_raw_os_error(e.errno))),
        }
    }
}

/// The interfaces through which the host reaches the prefix and its parts.
pub(crate) fn devices(prefix: Prefix) -> Result<Vec<String>, Error> {
    let mut all = BTreeSet::new();
    // Our copies have the next hops of their originals.
    for plan in Plan::copies(&unicast(family(prefix.address()))?, prefix, "reno")? {
        for a in &plan.message.attributes {
            match a {
                RouteAttribute::Oif(i) => all.extend([*i]),
                RouteAttribute::MultiPath(hops) => all.extend(hops.iter().map(|h| h.interface_index)),
                _ => {}
            }
        }
    }
    Ok(all.into_iter().map(interface_name).collect())
}

impl Route {
    /// Checks that it is a route as `attach` makes it: in the main table. Its removal affects only routes with forebay's protocol number.
    pub(crate) fn check(&self) -> Result<(), String> {
        let main = u32::from(RouteHeader::RT_TABLE_MAIN);
        if self.table == main { Ok(()) } else { Err(format!("table {}: attach changes only the main table, {main}", self.table)) }
    }

    /// Removes it; that it is no longer there is no error.
    pub(crate) fn remove(&self) -> Result<(), Error> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(self.prefix.address());
        message.header.destination_prefix_length = self.prefix.length();
        message.header.protocol = RouteProtocol::Other(PROTOCOL);
        message.header.scope = RouteScope::NoWhere;
        message.header.table = u8::try_from(self.table).unwrap_or(0);
        if self.prefix.length() > 0 {
            message.attributes.push(RouteAttribute::Destination(self.prefix.address().into()));
        }
        message.attributes.push(RouteAttribute::Table(self.table));
        if self.priority > 0 {
            message.attributes.push(RouteAttribute::Priority(self.priority));
        }
        match Netlink::open(NETLINK_ROUTE, "route")?.request(RouteNetlinkMessage::DelRoute(message), NLM_F_ACK)? {
            Ok(_) => Ok(()),
            Err(e) if e.errno == libc::ESRCH => Ok(()),
            Err(e) => Err(Error::io(format!("removing the route to {}", self.prefix), &io::Error::from_raw_os_error(e.errno))),
        }
    }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn priority(route: &RouteMessage) -> u32 {
    route.attributes.iter().find_map(|a| if let RouteAttribute::Priority(p) = a { Some(*p) } else { None }).unwrap_or(0)
}

fn is_own(route: &RouteMessage) -> bool {
    route.header.protocol == RouteProtocol::Other(PROTOCOL)
}

/// The routes to other hosts in the main table, with their prefixes.
fn unicast(family: AddressFamily) -> Result<Vec<(Prefix, RouteMessage)>, Error> {
    let mut request = RouteMessage::default();
    request.header.address_family = family;
    let Ok(all) = Netlink::open(NETLINK_ROUTE, "route")?.request(RouteNetlinkMessage::GetRoute(request), NLM_F_DUMP)? else {
        // A kernel without IPv6.
        return Ok(Vec::new());
    };
    let wanted = |r: &RouteMessage| r.header.table == RouteHeader::RT_TABLE_MAIN && r.header.kind == RouteType::Unicast;
    let routes = all.into_iter().filter_map(|m| match m {
        RouteNetlinkMessage::NewRoute(r) if wanted(&r) => Some((prefix_of(&r, family)?, r)),
        _ => None,
    });
    Ok(routes.collect())
}

/// All of our routes in this namespace, including those of other processes.
pub(crate) fn own_routes() -> Result<Vec<Route>, Error> {
    let mut found = Vec::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let routes = unicast(family)?.into_iter().filter(|(_, r)| is_own(r));
        found.extend(routes.map(|(prefix, r)| Route { prefix, table: u32::from(r.header.table), priority: priority(&r) }));
    }
    Ok(found)
}

fn prefix_of(route: &RouteMessage, family: AddressFamily) -> Option<Prefix> {
    let any = if family == AddressFamily::Inet { "0.0.0.0" } else { "::" };
    let address = route.attributes.iter().find_map(|a| match a {
        RouteAttribute::Destination(RouteAddress::Inet(a)) => Some(a.to_string()),
        RouteAttribute::Destination(RouteAddress::Inet6(a)) => Some(a.to_string()),
        _ => None,
    });
    format!("{}/{}", address.as_deref().unwrap_or(any), route.header.destination_prefix_length).parse().ok()
}

/// The name of an interface, or its number where there is no such interface any more.
pub(crate) fn interface_name(index: u32) -> String {
    nix::net::if_::if_indextoname(index).map_or_else(|_| index.to_string(), |name| name.to_string_lossy().into_owned())
}
