//! Routes of flows. They change when switches avoid a link.

use forebay_types::{NodeId, PortId};

/// Route of one flow.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Route {
    /// In the order in which a packet passes them, the host's own first; behind those, ports of nodes where packets may be that set out on an
    /// earlier way.
    ports: Box<[PortId]>,
    /// The host that it leads to.
    end: NodeId,
}

/// Routes of all flows, by the number that their packets carry ([`Arrival::flow`](forebay_queues::Arrival)).
#[derive(Debug, Default)]
pub struct Routes(Vec<Option<Route>>);

impl Routes {
    /// Flow `flow` passes `ports` to the host `end`; a flow that has a way already keeps its end.
    pub fn set(&mut self, flow: u64, ports: &[PortId], end: NodeId) {
        let place = flow as usize;
        if place >= self.0.len() {
            self.0.resize(place + 1, None);
        }
        let end = self.0[place].as_ref().map_or(end, |route| route.end);
        self.0[place] = Some(Route { ports: ports.into(), end });
    }

    /// First port of a flow; `None` if it has no route.
    pub fn first(&self, flow: u64) -> Option<PortId> {
        Some(*self.0.get(flow as usize)?.as_ref()?.ports.first()?)
    }

    /// The host that a flow leads to.
    pub fn end(&self, flow: u64) -> Option<NodeId> {
        Some(self.0.get(flow as usize)?.as_ref()?.end)
    }

    /// Returns true if `node` is the flow's destination, or if the flow has no route.
    pub fn ends_at(&self, flow: u64, node: NodeId) -> bool {
        self.0.get(flow as usize).and_then(Option::as_ref).is_none_or(|route| route.end == node)
    }

    /// The port by which a packet leaves `node`, the `hop`th on its way; `None`: the path does not contain `node`. `from` returns the node of
    /// a port.
    pub fn next(&self, flow: u64, hop: usize, node: NodeId, from: impl Fn(PortId) -> NodeId) -> Option<PortId> {
        let route = self.0.get(flow as usize)?.as_ref()?;
        let straight = route.ports.get(hop).copied().filter(|p| from(*p) == node);
        straight.or_else(|| route.ports.iter().copied().find(|p| from(*p) == node))
    }
}
