//! TRIM's threshold, for transports that use it.

use super::path::{Pair, Subject, base_rtt, bottleneck, other_than_endless, subject};
use super::{Line, Predicts, Section, measure};
use crate::Pipe;
use crate::trim::{as_wait, k_interval, queue_after_cut, smallest_buffer};
use forebay_experiment::Experiment;
use forebay_experiment::dimension::Dimension;
use forebay_experiment::topology::Fib;
use forebay_experiment::transport::Transport;
use forebay_types::{QueueLen, Time};

/// Values and comparison, or the reason why the model does not apply.
pub(crate) fn section(v: &Experiment) -> Result<Section, String> {
    let Subject { group, long, pairs: senders } = subject(v, "trim")?;
    let tcp = &v.groups[group].tcp;
    let b = bottleneck(v, &senders, tcp)?;
    let error = |e: crate::ModelError| e.to_string();
    let buffer = b.buffer.map_or(f64::INFINITY, |n| n as f64);
    let interval = k_interval(&b.pipe, buffer).map_err(error)?;
    let flows = senders.len() as u64;
    let mut inputs = vec![("N", format!("{flows} connections"))];
    inputs.extend(b.inputs());
    let mut lines = vec![Line::theory("K, lower bound", Dimension::Seconds, interval.lower)];
    if buffer.is_finite() {
        lines.push(Line::theory("K, upper bound", Dimension::Seconds, interval.upper));
    }
    lines.push(Line::theory("smallest buffer for an interval", Dimension::Packets, smallest_buffer(&b.pipe)));
    lines.push(Line::theory("flows that need the lower bound", Dimension::Count, interval.worst_flows));
    let mut notes = Vec::new();
    if interval.is_empty() {
        notes.push("the interval of K is empty because the buffer is too small: TRIM uses the upper bound".into());
    }
    if let Some(k) = threshold(v, senders[0], tcp)? {
        lines.push(Line::theory("K in use", Dimension::Seconds, k));
        let target = b.pipe.capacity() * k - b.pipe.bdp();
        let max = target + flows as f64;
        let least = queue_after_cut(&b.pipe, flows, k).map_err(error)?;
        let wait = as_wait(&b.pipe, flows as f64, (target + b.pipe.bdp()) / flows as f64, buffer).map_err(error)?;
        lines.push(Line::theory("longest wait after probing, K C / N packets each", Dimension::Seconds, wait.upper));
        let port = b.port;
        if long.is_empty() {
            lines.push(Line::theory("queue at K", Dimension::Packets, target));
        } else {
            lines.push(
                Line::pair("queue at K, mean queue", Dimension::Packets, target, move |r| {
                    measure::port(r, port).map(|p| p.queue_mean_pkts)
                })
                .predicts(Predicts::QueueMean),
            );
            lines.push(
                Line::pair("largest queue, synchronized", Dimension::Packets, max, move |r| {
                    measure::port(r, port).map(|p| f64::from(p.queue_max_pkts))
                })
                .predicts(Predicts::QueueMax),
            );
            lines.push(Line::pair("smallest queue, one cut each", Dimension::Packets, least, move |r| {
                measure::queue_min(r, port)
            }));
            notes.push("in the model all flows reduce once, simultaneously; by default TRIM reduces on every ACK above K".into());
        }
    } else {
        notes.push("K is set from the first RTT sample (`min-rtt-seed`): the queue at K is unknown in advance".into());
    }
    let rest = other_than_endless(v, group);
    if !long.is_empty() && !rest.is_empty() {
        notes.push(format!("the model excludes the other traffic: {}", rest.join(", ")));
    }
    Ok(Section {
        model: "trim",
        about: "the RTT threshold K and its queue (TCP-TRIM, Eqs. 4 to 33)",
        group: Some(group),
        port: Some(b.port),
        inputs,
        lines,
        notes,
    })
}

/// K as TRIM computes it on this path, s (TRIM 2.4 (f)); `None` if it depends on an RTT sample.
fn threshold(v: &Experiment, (src, dst): Pair, tcp: &Transport) -> Result<Option<f64>, String> {
    let cc = &tcp.cc.values;
    if cc.text("min-rtt-seed") != "idle-data" {
        return Ok(None);
    }
    let network = &v.network;
    let fib = Fib::new(network).map_err(|e| e.to_string())?;
    let path: Vec<_> = fib.path(network, src, dst, 0).into_iter().map(|p| &network.ports[p]).collect();
    // TRIM A11: C and B are those of the slowest switch port on the path.
    let switches = || path.iter().filter(|p| !network.nodes[p.from].host);
    let narrowest = switches().map(|p| p.rate).min().or_else(|| path.iter().map(|p| p.rate).min());
    let Some(rate) = cc.opt_rate("rate").or(narrowest) else { return Ok(None) };
    let packet = u64::from(tcp.mss + tcp.header);
    let packets = |len: Option<QueueLen>| match len {
        None => f64::INFINITY,
        Some(QueueLen::Packets(n)) => n as f64,
        Some(QueueLen::Bytes(b)) => (b / packet) as f64,
    };
    let smallest = switches().filter(|p| Some(p.rate) == narrowest).map(|p| packets(p.buffer)).fold(f64::INFINITY, f64::min);
    let buffer = cc.opt_queue_len("buffer").map_or(smallest, |b| packets(Some(b)));
    let error = |e: crate::ModelError| e.to_string();
    let pipe = Pipe::new(rate, packet, Time(base_rtt(v, &fib, (src, dst), tcp))).map_err(error)?;
    let i = k_interval(&pipe, buffer).map_err(error)?;
    let k = match (cc.opt_time("k"), cc.text("k-policy").as_str()) {
        (Some(k), _) => k.as_secs_f64(),
        _ if i.is_empty() => i.upper,
        (None, "mid") if i.upper.is_finite() => (i.lower + i.upper) / 2.0,
        (None, "upper") if i.upper.is_finite() => i.upper,
        _ => i.lower,
    };
    Ok(Some(k.max((pipe.bdp() + cc.float("k-guard")) / pipe.capacity())))
}
