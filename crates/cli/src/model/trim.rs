//! TRIM's threshold, for transports that run it.

use super::path::{Subject, beside_endless, bottleneck, subject, transport};
use super::{Line, Section, measure};
use forebay_model::trim::{as_wait, k_interval, queue_after_cut, smallest_buffer};
use forebay_sampling::Rng;
use forebay_scenario::Variant;
use forebay_sim::cc::Law;
use forebay_sim::config::TcpConfig;
use forebay_sim::engine::path::empty_path;
use forebay_sim::topology::Fib;
use forebay_store::summary::Unit;
use forebay_units::NodeId;

/// Values and comparison, or why the model has none.
pub fn section(v: &Variant) -> Result<Section, String> {
    let Subject { group, long, pairs: senders } = subject(v, "trim")?;
    let tcp = &transport(v, group)?;
    let b = bottleneck(v, &senders, tcp)?;
    let error = |e: forebay_model::ModelError| e.to_string();
    let buffer = b.buffer.map_or(f64::INFINITY, |n| n as f64);
    let interval = k_interval(&b.pipe, buffer).map_err(error)?;
    let flows = senders.len() as u64;
    let mut inputs = vec![("N", format!("{flows} connections"))];
    inputs.extend(b.inputs());
    let mut lines = vec![Line::theory("K, lower bound", Unit::Seconds, interval.lower)];
    if buffer.is_finite() {
        lines.push(Line::theory("K, upper bound", Unit::Seconds, interval.upper));
    }
    lines.push(Line::theory("smallest buffer for an interval", Unit::Packets, smallest_buffer(&b.pipe)));
    lines.push(Line::theory("flows that need the lower bound", Unit::Count, interval.worst_flows));
    let mut notes = Vec::new();
    if interval.is_empty() {
        notes.push("the buffer is too small for any K in the interval: the law falls back to the upper bound".into());
    }
    if let Some(k) = threshold(v, senders[0], tcp)? {
        lines.push(Line::theory("K in use", Unit::Seconds, k));
        let target = b.pipe.capacity() * k - b.pipe.bdp();
        let most = target + flows as f64;
        let least = queue_after_cut(&b.pipe, flows, k).map_err(error)?;
        let wait = as_wait(&b.pipe, flows as f64, (target + b.pipe.bdp()) / flows as f64, buffer).map_err(error)?;
        lines.push(Line::theory("longest wait after probing, K C / N packets each", Unit::Seconds, wait.upper));
        let port = b.port;
        if long.is_empty() {
            lines.push(Line::theory("queue at K", Unit::Packets, target));
        } else {
            lines.push(Line::pair("queue at K, mean queue", Unit::Packets, target, move |r| {
                measure::port(r, port).map(|p| p.queue_mean_pkts)
            }));
            lines.push(Line::pair("largest queue, synchronised", Unit::Packets, most, move |r| {
                measure::port(r, port).map(|p| f64::from(p.queue_max_pkts))
            }));
            lines.push(Line::pair("smallest queue, one cut each", Unit::Packets, least, move |r| measure::queue_min(r, port)));
            notes.push("the model's flows cut once and together; by default the law cuts on every ACK above K".into());
        }
    } else {
        notes.push("K starts with the first RTT sample (`min-rtt-seed`): the queue at K is not known in advance".into());
    }
    let rest = beside_endless(v, group);
    if !long.is_empty() && !rest.is_empty() {
        notes.push(format!("the model does not know the other traffic: {}", rest.join(", ")));
    }
    Ok(Section { model: "trim", about: "the RTT threshold K and its queue (TCP-TRIM, Eqs. 4 to 33)", inputs, lines, notes })
}

/// K as the law itself computes it on this path, s; `None` where it waits for a sample.
fn threshold(v: &Variant, (src, dst): (NodeId, NodeId), tcp: &TcpConfig) -> Result<Option<f64>, String> {
    let network = &v.config.network;
    let fib = Fib::new(network).map_err(|e| e.to_string())?;
    let mut law = tcp.law.start();
    law.path(empty_path(network, &fib, src, dst, (0, 0), tcp, Rng::stream(0, &[])));
    Ok(match law {
        Law::Trim(t) if t.k().is_finite() => Some(t.k() * 1e-12),
        _ => None,
    })
}
