//! Note on a buffer that its traffic cannot fill: the windows of all connections together hold less.

use crate::schema::context::Cx;
use crate::text::message_text::grouped;
use forebay_experiment::Experiment;
use forebay_experiment::network::PortConfig;
use forebay_experiment::skb::{send_limit, window_limit};
use forebay_experiment::traffic::{Workload, WorkloadKind};
use forebay_types::QueueLen;

/// Most that all connections can have in the network at one time.
#[derive(Debug, Clone, Copy, Default)]
struct InFlight {
    connections: u64,
    packets: u64,
    wire_bytes: u64,
}

impl InFlight {
    /// `n` connections with at most `payload` bytes each, in segments of `mss` bytes with `header`. The FIN is a packet more.
    fn add(&mut self, n: u64, payload: u64, mss: u64, header: u64) {
        let packets = payload.div_ceil(mss) + 1;
        self.connections += n;
        self.packets = self.packets.saturating_add(n.saturating_mul(packets));
        self.wire_bytes = self.wire_bytes.saturating_add(n.saturating_mul(payload.saturating_add(packets * header)));
    }

    /// The same in the unit of `len`.
    fn in_unit_of(self, len: QueueLen) -> u64 {
        match len {
            QueueLen::Packets(_) => self.packets,
            QueueLen::Bytes(_) => self.wire_bytes,
        }
    }

    fn is_below(self, len: QueueLen) -> bool {
        self.in_unit_of(len) < len.amount()
    }
}

/// Adds a note about the first bottleneck whose buffer is larger than all windows together: it never overflows. ACKs are counted as data, because a
/// port can carry both, and an ACK is not larger than its segment.
pub(crate) fn note_unfilled_buffer(cx: &mut Cx, config: &Experiment) {
    let Some(most) = in_flight(config) else { return };
    let network = &config.network;
    let finite = |port: &PortConfig| {
        let node = &network.nodes[port.from];
        port.buffer.filter(|_| !node.host && node.shared_buffer.is_none() && port.queue.policing_rate().is_none())
    };
    let named =
        network.named_ports.iter().filter_map(|(name, id)| Some((name, &network.ports[*id], finite(&network.ports[*id])?)));
    let Some((name, port, buffer)) = named.into_iter().find(|(_, _, buffer)| most.is_below(*buffer)) else { return };
    let unit = |n: u64| match buffer {
        QueueLen::Packets(_) => format!("{} packets", grouped(n as f64)),
        QueueLen::Bytes(_) => format!("{} B", grouped(n as f64)),
    };
    let n = most.in_unit_of(buffer);
    // K of a step marks from a length on that is not reached.
    let k = port
        .queue
        .marking_threshold()
        .map(|k| if k.packets < u32::MAX { QueueLen::Packets(k.packets.into()) } else { QueueLen::Bytes(k.bytes) });
    let unmarked = k.filter(|k| most.is_below(*k));
    let marks = unmarked.map_or_else(String::new, |k| format!(", and its marking threshold ({k}) is not reached either"));
    let whose = match most.connections {
        1 => "the window of its only connection holds".to_owned(),
        c => format!("the windows of all {} connections together hold", grouped(c as f64)),
    };
    cx.note(format!(
        "`{name}` buffers {}, but {whose} at most {}: it never overflows, so that another buffer of {} or more changes nothing{marks}. To \
         study the buffer, raise `rcv-wnd` and `snd-buf` or the number of connections, or choose a smaller buffer",
        unit(buffer.amount()),
        unit(n),
        unit(n)
    ));
}

/// Most that all connections have in flight; `None` where nothing limits their number, and for datagrams.
fn in_flight(config: &Experiment) -> Option<InFlight> {
    let mut most = InFlight::default();
    for w in &config.workloads {
        let tcp = || config.groups.enumerate().filter(|(id, _)| w.uses(*id)).map(|(_, g)| &g.tcp);
        let window = tcp().map(|t| send_limit(t).map_or(window_limit(t), |s| s.min(window_limit(t)))).max()?;
        // Shims send packets of their own.
        if tcp().any(|t| !t.shims.is_empty()) {
            return None;
        }
        let mss = tcp().map(|t| u64::from(t.mss)).min().filter(|mss| *mss > 0)?;
        let header = tcp().map(|t| u64::from(t.header)).max()?;
        each(w, &mut |n, size| most.add(n, size.map_or(window, |s| s.min(window)), mss, header))?;
    }
    (most.connections > 0).then_some(most)
}

/// Calls `add` with numbers of connections, and with the most that one of them has under way, if its messages limit it. `None` for workloads of other
/// kinds: their connections have no set number, or carry short segments, of which a window holds more.
fn each(w: &Workload, add: &mut dyn FnMut(u64, Option<u64>)) -> Option<()> {
    if w.writes.get() > 1 {
        return None;
    }
    match &w.kind {
        WorkloadKind::Long { pairs, size, .. } => add(pairs.len() as u64, *size),
        // A round begins when all blocks of the last one have arrived; the requests are packets of their own.
        WorkloadKind::Incast { senders, block, .. } => {
            add(senders.len() as u64, Some(*block));
            if let Some(bytes) = w.kind.request_bytes() {
                add(senders.len() as u64, Some(bytes));
            }
        }
        WorkloadKind::Replay { flows, .. } if !flows.is_empty() => flows.iter().for_each(|f| add(1, Some(f.bytes))),
        _ => return None,
    }
    Some(())
}
