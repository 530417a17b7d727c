//! Connections with a shim below TCP: every packet of theirs passes through it, at both ends, on its way out and on its way in. Other
//! connections do not come here: the check of a packet's generation, which it goes through anyway, tells the two apart
//! ([`SHIMMED`]).

use super::core::{Call, Core, Nic};
use super::hosts::Wake;
use crate::config::{Network, TcpConfig};
use crate::net::arena::Arena;
use crate::net::packet::{Packet, SackBlocks, Wire};
use crate::observe::{FlowRow, ShimRow};
use crate::shim::proboscis::{Budget, ReceiverShim, Rules, SenderShim};
use crate::streams::Draws;
use crate::tcp::SHIMMED;

/// One end of a connection: its entry of the flow table, and whether it is in the host's list of entries that wait.
#[derive(Debug, Clone, Copy, Default)]
struct Entry<S> {
    shim: S,
    listed: bool,
}

/// What a host has for all its connections of a transport. Every transport has a shim of its own, so that transports with different
/// parameters can run side by side.
#[derive(Debug, Clone, Default)]
struct HostShim {
    /// Connection slots and generations whose SYN waits for its answer, and those whose SYN-ACK is held; lazy.
    syns: Vec<(u32, u8)>,
    syn_acks: Vec<(u32, u8)>,
    budget: Budget,
    /// Of the timer, which runs while one of the lists has entries, ps.
    phase: u64,
    armed: bool,
}

/// All shims below TCP.
pub(super) struct Below {
    /// By transport; `None`: it has none.
    rules: Arena<Option<Rules>>,
    /// By transport and node; empty without shim.
    hosts: Arena<Arena<HostShim>>,
    /// By slot, as far as slots were used with a shim.
    senders: Arena<Entry<SenderShim>>,
    receivers: Arena<Entry<ReceiverShim>>,
}

/// Packets that are in the hands of shims or were added or taken by them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ShimBalance {
    /// Sent beside what the endpoints sent.
    pub sent: u64,
    /// Taken in beside what reached the endpoints.
    pub taken: u64,
    /// Sent by an endpoint and not handed on yet.
    pub held: u64,
}

/// An endpoint's way to the network through its shim.
struct Through<'a, S> {
    shim: &'a mut S,
    rules: &'a Rules,
    nic: Nic<'a>,
}

impl Wire for Through<'_, SenderShim> {
    fn emit(&mut self, packet: Packet, sack: Option<&SackBlocks>) {
        self.shim.egress(self.rules, self.nic.now, packet, sack, &mut self.nic);
    }

    fn alarm(&mut self, conn: u32, generation: u8, time: u64) {
        self.nic.alarm(conn, generation, time);
    }

    fn departure(&self) -> u64 {
        self.nic.departure()
    }
}

impl Wire for Through<'_, ReceiverShim> {
    fn emit(&mut self, packet: Packet, sack: Option<&SackBlocks>) {
        self.shim.egress(self.rules, self.nic.now, packet, sack, &mut self.nic);
    }
}

impl Below {
    /// The shims of all transports that have one.
    pub fn new(network: &Network, tcp: &[TcpConfig], seed: u64) -> Below {
        let rules: Vec<Option<Rules>> = tcp.iter().map(Rules::of).collect();
        let any = rules.iter().any(Option::is_some);
        // Rate of each node's first port.
        let mut rates = vec![None; if any { network.nodes.len() } else { 0 }];
        for p in network.ports.iter().filter(|_| any) {
            rates[p.from as usize].get_or_insert(p.rate);
        }
        let host = |group: usize, rules: &Rules, node: usize| {
            let link = rates[node].map_or(0, |rate| rate.tx_time(u64::from(rules.probe_size)).0);
            HostShim {
                budget: Budget::new(rules, link),
                // Our choice: hosts are not synchronised, or the trains that they repeat would always meet.
                phase: Draws::ShimPhase.stream(seed, &[group as u64, node as u64]).below(rules.c.tick),
                ..HostShim::default()
            }
        };
        let hosts = rules.iter().enumerate().map(|(group, rules)| {
            let nodes = rules.iter().flat_map(|r| (0..network.nodes.len()).map(move |node| host(group, r, node)));
            Arena::new(nodes.collect())
        });
        Below {
            hosts: Arena::new(hosts.collect()),
            rules: Arena::new(rules),
            senders: Arena::new(Vec::new()),
            receivers: Arena::new(Vec::new()),
        }
    }

    /// A new connection of transport `group` in `slot`: the generation its endpoints must have, which is `generation` without shim.
    pub fn connect(&mut self, group: u32, slot: u32, generation: u8) -> u8 {
        if self.rules[group].is_none() {
            return generation;
        }
        while self.senders.len() <= slot as usize {
            self.senders.push(Entry::default());
            self.receivers.push(Entry::default());
        }
        (self.senders[slot], self.receivers[slot]) = (Entry::default(), Entry::default());
        generation | SHIMMED
    }

    /// What conservation has to know about `slot`, whose endpoints have `generation`.
    pub fn balance(&self, slot: u32, generation: u8) -> ShimBalance {
        if generation & SHIMMED == 0 {
            return ShimBalance::default();
        }
        let (sent, r) = (self.senders[slot].shim.stats.sent, &self.receivers[slot].shim);
        ShimBalance { sent, taken: r.stats.swallowed + r.stats.superseded, held: u64::from(r.waiting()) }
    }

    /// Completes the row of a message of `slot`; `first`: the first of its connection, which the handshake was made for.
    pub fn complete(&mut self, slot: u32, first: bool, row: &mut FlowRow) {
        let stats = &mut self.senders[slot].shim.stats;
        let mut shim = ShimRow { throttled: std::mem::take(&mut stats.throttled), ..ShimRow::default() };
        if first {
            let r = &self.receivers[slot].shim.stats;
            shim = ShimRow { probes: stats.probes, verdict: r.verdict, window: r.window, held_ps: r.held, ..shim };
        }
        row.shim = Some(Box::new(shim));
    }
}

impl Core {
    /// As the rest of `with_sender`, through the shim.
    #[cold]
    #[inline(never)]
    pub(super) fn call_through(&mut self, conn: u32, now: u64, call: Call) {
        let host = self.streams[conn].src;
        let sender = &mut self.senders[conn];
        let group = u32::from(sender.group);
        if let Some(rules) = &self.below.rules[group] {
            let jitter = self.tcp[group].send_jitter.0;
            let nic = Nic { fabric: &mut self.fabric, host: &mut self.hosts[host], now, jitter };
            let mut way = Through { shim: &mut self.below.senders[conn].shim, rules, nic };
            call.make(&mut self.senders[conn], &self.tcp[group], now, &mut way);
        }
        self.list_syn(conn, host, group, now);
        self.arm_sender(conn, host);
    }

    /// An ACK whose generation is not simply that of its connection: it has a shim, or it came too late.
    #[cold]
    #[inline(never)]
    pub(super) fn deliver_ack_through(&mut self, node: u32, p: &Packet, sack: Option<&SackBlocks>) {
        let (now, conn) = (p.arrival, p.conn);
        let sender = &mut self.senders[conn];
        if sender.generation() != p.generation() | SHIMMED {
            self.closed.stale += 1;
            return;
        }
        sender.received += 1;
        let group = u32::from(sender.group);
        if let Some(rules) = &self.below.rules[group] {
            let jitter = self.tcp[group].send_jitter.0;
            let shim = &mut self.below.senders[conn].shim;
            let mut p = *p;
            shim.ingress(rules, now, &mut p);
            let nic = Nic { fabric: &mut self.fabric, host: &mut self.hosts[node], now, jitter };
            let mut way = Through { shim, rules, nic };
            self.senders[conn].on_packet(&self.tcp[group], now, &p, sack, &mut way);
        }
        self.ack_done(node, conn, now);
    }

    /// As `deliver_ack_through`, for a packet of the data direction.
    #[cold]
    #[inline(never)]
    pub(super) fn deliver_data_through(&mut self, node: u32, p: &Packet) {
        let (now, conn) = (p.arrival, p.conn);
        if self.receivers[conn].generation() != p.generation() | SHIMMED {
            self.closed.stale += 1;
            return;
        }
        let group = u32::from(self.receivers[conn].group);
        let mut p = *p;
        if let Some(rules) = &self.below.rules[group] {
            let shim = &mut self.below.receivers[conn].shim;
            if !shim.ingress(rules, now, &mut p) {
                return;
            }
            let nic = Nic { fabric: &mut self.fabric, host: &mut self.hosts[node], now, jitter: 0 };
            self.receivers[conn].on_packet(&self.tcp[group], now, &p, &mut Through { shim, rules, nic });
        }
        self.list_syn_ack(conn, node, group, now);
        self.data_done(node, conn, now);
    }

    /// The receiver's delayed-ACK timer, through the shim.
    #[cold]
    #[inline(never)]
    pub(super) fn receiver_timer_through(&mut self, node: u32, conn: u32, now: u64) {
        let receiver = &mut self.receivers[conn];
        if let Some(rules) = &self.below.rules[u32::from(receiver.group)] {
            let nic = Nic { fabric: &mut self.fabric, host: &mut self.hosts[node], now, jitter: 0 };
            receiver.on_timer(
                &self.tcp[u32::from(receiver.group)],
                now,
                &mut Through { shim: &mut self.below.receivers[conn].shim, rules, nic },
            );
        }
    }

    fn list_syn(&mut self, conn: u32, host: u32, group: u32, now: u64) {
        let entry = &mut self.below.senders[conn];
        if entry.shim.waiting() && !entry.listed {
            entry.listed = true;
            self.below.hosts[group][host].syns.push((conn, self.senders[conn].generation()));
            self.arm_shim(host, group, now);
        }
    }

    fn list_syn_ack(&mut self, conn: u32, host: u32, group: u32, now: u64) {
        let entry = &mut self.below.receivers[conn];
        if entry.shim.waiting() && !entry.listed {
            entry.listed = true;
            self.below.hosts[group][host].syn_acks.push((conn, self.receivers[conn].generation()));
            self.arm_shim(host, group, now);
        }
    }

    /// Sets the timer of a host's shim to its next tick, if it does not run.
    fn arm_shim(&mut self, host: u32, group: u32, now: u64) {
        let Some(tick) = self.below.rules[group].as_ref().map(|r| r.c.tick) else { return };
        let shim = &mut self.below.hosts[group][host];
        if !shim.armed {
            shim.armed = true;
            let next = now + tick - (now + tick - shim.phase) % tick;
            self.wake(host, host, next, Wake::Shim { group });
        }
    }

    /// The timer of a host's shim (ProBoSCIS 3.3 and 3.4).
    pub(super) fn shim_tick(&mut self, node: u32, group: u32, now: u64) {
        let Some(rules) = &self.below.rules[group] else { return };
        // Owned here for the time being.
        let mut host = std::mem::take(&mut self.below.hosts[group][node]);
        host.armed = false;
        let jitter = self.tcp[group].send_jitter.0;
        host.syns.retain(|&(conn, generation)| {
            if self.senders[conn].generation() != generation {
                return false;
            }
            let entry = &mut self.below.senders[conn];
            let mut nic = Nic { fabric: &mut self.fabric, host: &mut self.hosts[node], now, jitter };
            entry.shim.tick(rules, now, &mut host.budget, &mut nic);
            entry.listed = entry.shim.waiting();
            entry.listed
        });
        host.syn_acks.retain(|&(conn, generation)| {
            if self.receivers[conn].generation() != generation {
                return false;
            }
            let entry = &mut self.below.receivers[conn];
            let mut nic = Nic { fabric: &mut self.fabric, host: &mut self.hosts[node], now, jitter: 0 };
            entry.shim.tick(rules, now, &mut nic);
            entry.listed = entry.shim.waiting();
            entry.listed
        });
        let more = !host.syns.is_empty() || !host.syn_acks.is_empty();
        self.below.hosts[group][node] = host;
        if more {
            self.arm_shim(node, group, now);
        }
    }
}
