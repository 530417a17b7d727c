//! Interfaces, addresses and routes of the namespace that the calling thread is in, by rtnetlink(7).

use crate::tap::LINK_ADDRESS;
use forebay_platform::netlink;
use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use nix::net::if_::if_nametoindex;
use std::io;
use std::net::{IpAddr, Ipv4Addr};

/// All hosts are in this network, at the same link, whatever the experiment's network looks like.
pub const NETWORK: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 0, 0, 0), 8);

/// Gateway of every host: with it a kernel keeps one neighbor entry per host. No interface has this address.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 255, 255, 254);

/// Bytes that sockets leave for headers of what an interface takes (MAX_TCP_HEADER and one, sk_dst_gso_max_size), and the most that it takes of IPv4
/// (GSO_LEGACY_MAX_SIZE).
const HEADROOM: u32 = 321;
const GSO_LARGEST: u32 = 65_536;

/// The number of the metric "smallest retransmission timeout" (linux/rtnetlink.h).
const RTAX_RTO_MIN: u32 = 13;

/// Route metrics that configure a host's TCP; `None`: the kernel's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RouteMetrics {
    /// Initial window, segments.
    pub init_cwnd: Option<u32>,
    /// Smallest retransmission timeout, ms.
    pub rto_min_ms: Option<u32>,
    /// Acknowledge every segment at once.
    pub quickack: bool,
}

/// A connection to the kernel's routing.
pub struct Netlink(netlink::Netlink);

impl Netlink {
    /// Opens a socket in the namespace of the calling thread.
    ///
    /// # Errors
    /// Errors of the socket.
    pub fn open() -> io::Result<Netlink> {
        netlink::Netlink::open(NETLINK_ROUTE).map(Netlink)
    }

    /// Sends a request and waits until the kernel has carried it out.
    fn request(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.0.request(message, NLM_F_ACK | flags)?.map(drop).map_err(io::Error::from)
    }

    /// Brings interface `name` up with the link address that all hosts have, and without ARP. A `burst` of 0 disables GSO: each TCP segment is sent as
    /// one packet, as on the wire. Otherwise it is the most bytes of TCP data that leave the stack as one packet.
    ///
    /// # Errors
    /// There is no such interface, or no right to change it.
    pub fn up(&mut self, name: &str, mtu: u32, burst: u32) -> io::Result<u32> {
        let index = if_nametoindex(name)?;
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up | LinkFlags::Noarp;
        link.header.change_mask = link.header.flags;
        let offload = match burst {
            0 => LinkAttribute::GsoMaxSegs(1),
            burst => LinkAttribute::GsoMaxSize((burst.max(mtu) + HEADROOM).min(GSO_LARGEST)),
        };
        link.attributes = vec![LinkAttribute::Mtu(mtu), offload, LinkAttribute::Address(LINK_ADDRESS.to_vec())];
        self.request(RouteNetlinkMessage::SetLink(link), 0)?;
        Ok(index)
    }

    /// Brings the loopback device up.
    ///
    /// # Errors
    /// Missing privileges.
    pub fn loopback_up(&mut self) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = if_nametoindex("lo")?;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        self.request(RouteNetlinkMessage::SetLink(link), 0)
    }

    /// Gives interface `index` an address, and the way to all other hosts.
    ///
    /// # Errors
    /// Missing privileges, or the address is in use.
    pub fn address(&mut self, index: u32, address: Ipv4Addr, metrics: RouteMetrics) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = AddressFamily::Inet;
        message.header.prefix_len = 32;
        message.header.index = index;
        message.attributes = vec![AddressAttribute::Local(IpAddr::V4(address)), AddressAttribute::Address(IpAddr::V4(address))];
        self.request(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_REPLACE)?;
        let mut attributes = Vec::new();
        attributes.extend(metrics.init_cwnd.map(RouteMetric::InitCwnd));
        // In milliseconds; of a metric that is not locked tcp_rto_min takes no notice.
        attributes.extend(
            metrics.rto_min_ms.into_iter().flat_map(|ms| [RouteMetric::Lock(1 << RTAX_RTO_MIN), RouteMetric::RtoMin(ms)]),
        );
        attributes.extend(metrics.quickack.then_some(RouteMetric::QuickAck(1)));
        let mut route = RouteMessage::default();
        route.header = RouteHeader {
            address_family: AddressFamily::Inet,
            destination_prefix_length: NETWORK.1,
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Static,
            scope: RouteScope::Universe,
            kind: RouteType::Unicast,
            flags: RouteFlags::Onlink,
            ..RouteHeader::default()
        };
        route.attributes = vec![
            RouteAttribute::Destination(RouteAddress::Inet(NETWORK.0)),
            RouteAttribute::Oif(index),
            RouteAttribute::Gateway(RouteAddress::Inet(GATEWAY)),
            RouteAttribute::PrefSource(RouteAddress::Inet(address)),
        ];
        if !attributes.is_empty() {
            route.attributes.push(RouteAttribute::Metrics(attributes));
        }
        self.request(RouteNetlinkMessage::NewRoute(route), NLM_F_CREATE | NLM_F_REPLACE)
    }
}
