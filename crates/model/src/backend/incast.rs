//! The incast model, for a workload of barrier-synchronized blocks under NewReno.

use super::path::{bottleneck, other_workloads, pairs};
use super::{Line, Predicts, Section, measure};
use crate::incast::{Branch, FirstWindow, Incast, NstarRule, Params, TailMode};
use forebay_experiment::Experiment;
use forebay_experiment::assign::Assign;
use forebay_experiment::dimension::Dimension;
use forebay_experiment::report::Report;
use forebay_experiment::traffic::WorkloadKind;
use forebay_experiment::transport::{Idle, Recovery, RtoRule, Transport};
use forebay_types::{Bytes, Time, WorkloadId};

/// Congestion controls with NewReno's sawtooth.
pub(crate) const NEWRENO: [&str; 2] = ["newreno", "reno"];

/// Values and comparison, or the reason why the model does not apply.
pub(crate) fn section(v: &Experiment) -> Result<Section, String> {
    let rounds = |k: &WorkloadKind| matches!(k, WorkloadKind::Incast { .. });
    let found: Vec<WorkloadId> = v.workloads.ids().filter(|&id| rounds(&v.workloads[id].kind)).collect();
    let w = match found[..] {
        [one] => one,
        [] => return Err("there is no incast workload".into()),
        _ => return Err("there are several incast workloads".into()),
    };
    let workload = &v.workloads[w];
    let WorkloadKind::Incast { block, jitter, .. } = workload.kind else { return Err("there is no incast workload".into()) };
    let Assign::One(group) = workload.transport else { return Err("its senders have different transports".into()) };
    let tcp = &v.groups[group].tcp;
    let first = assumptions(tcp)?;
    let senders = pairs(&workload.kind).unwrap_or_default();
    let n = senders.len() as u64;
    let b = bottleneck(v, &senders, tcp)?;
    let supported = b.is_drop_tail(v, tcp) || (protected(tcp) && b.has_reserve(v));
    if !supported {
        return Err(format!("the queue of {} is not drop-tail for this transport", b.name));
    }
    let Some(buffer) = b.buffer else { return Err(format!("the buffer of {} is unlimited", b.name)) };
    let rto = match tcp.rto_rule {
        RtoRule::Linux => tcp.rto_min.saturating_add(b.pipe.rtt()),
        RtoRule::Rfc6298 | RtoRule::Fixed => tcp.rto_min,
    };
    let params = Params {
        rate: b.pipe.rate(),
        packet: b.pipe.packet(),
        payload: u64::from(tcp.mss),
        rtt: b.pipe.rtt(),
        buffer,
        block,
        rto,
    };
    let m = Incast::new(&params).map_err(|e| e.to_string())?;
    if n > buffer {
        return Err(format!("{n} senders exceed the buffer of {buffer} packets, which the derivation excludes"));
    }
    let mut inputs = vec![("N", format!("{n} senders"))];
    inputs.extend(b.inputs());
    let window = (tcp.rcv_wnd / u64::from(tcp.mss)).max(1);
    inputs.extend([
        ("S_b", format!("{} = {} packets each", Bytes(block), m.block())),
        ("T_0", rto.to_string()),
        ("W_l", format!("{window} packets")),
    ]);
    let mut lines = head_lines(&m, n, first, w).map_err(|e| e.to_string())?;
    lines.push(Line::theory("payload that the link carries", Dimension::BitsPerSecond, 8.0 * m.ceiling()));
    let mut notes = notes(v, w, tcp, jitter, b.pipe.rtt());
    // Our choice: 5 % of a block.
    if let Some(request) = workload.kind.request_bytes().filter(|bytes| bytes.saturating_mul(20) > block) {
        notes.push(format!("the model excludes the time and the losses of requests, which have {}", Bytes(request)));
    }
    if first == FirstWindow::Inherited {
        lines.extend(goodput_lines(&m, n, window, w, &mut notes).map_err(|e| e.to_string())?);
    } else if protected(tcp) && b.has_reserve(v) {
        lines.extend(protected_lines(&m, n, first, w).map_err(|e| e.to_string())?);
        notes.push("PRIN: the last packets of a block are not lost and first windows are halved; timeouts in the middle of blocks, which PRIN does not prevent, are not modeled".into());
    } else {
        notes.push(format!(
            "PRIN halves the first windows, but {} has no reserve for the last packets: no value for goodput",
            b.name
        ));
    }
    let about = "barrier-synchronized blocks under NewReno (Zhang, Ren, Tang, Lin: Modeling and Solving TCP Incast)";
    Ok(Section { model: "incast", about, group: Some(group), port: Some(b.port), inputs, lines, notes })
}

/// First windows of the transport, or the reason why the derivation excludes it.
fn assumptions(tcp: &Transport) -> Result<FirstWindow, String> {
    if !NEWRENO.contains(&tcp.cc.name) {
        return Err("the model describes NewReno's sawtooth, but the incast workload uses another congestion control".into());
    }
    if tcp.recovery == Recovery::Rack {
        return Err("RACK-TLP repairs losses at the end of a block, which the model counts as timeouts".into());
    }
    if tcp.dup_thresh != 3 {
        return Err(format!("the model assumes `dup-thresh` = 3, but it is {}", tcp.dup_thresh));
    }
    if tcp.idle != Idle::Keep {
        return Err("windows do not survive the wait for the slowest sender (`slow-start-after-idle`)".into());
    }
    match &tcp.shims[..] {
        [] => Ok(FirstWindow::Inherited),
        [shim] if shim.name == "prin" && shim.values.bool("halve") => {
            let delayed = if tcp.ack_every > 1 { 2 } else { 1 };
            Ok(FirstWindow::Halved { floor: shim.values.opt_int("floor").unwrap_or(delayed) as f64 })
        }
        [shim] if shim.name == "prin" => Ok(FirstWindow::Inherited),
        _ => Err("the model excludes the shim of the transport".into()),
    }
}

/// Returns true if the transport gives the last packets of a block priority.
fn protected(tcp: &Transport) -> bool {
    matches!(&tcp.shims[..], [s] if s.name == "prin" && s.values.bool("priority") && s.values.bool("halve"))
}

fn protected_lines(m: &Incast, n: u64, first: FirstWindow, w: WorkloadId) -> Result<Vec<Line>, crate::ModelError> {
    let found = m.goodput_protected(n, first, NstarRule::First)?;
    let per_block = n as f64 * m.block() as f64 / (found.share * m.pipe().capacity());
    Ok(vec![
        Line::pair("goodput", Dimension::BitsPerSecond, 8.0 * found.bytes_per_s, move |run| measure::round_goodput(run, w))
            .predicts(Predicts::Goodput),
        Line::pair("duration of a block", Dimension::Seconds, per_block, move |run| measure::round_time(run, w))
            .predicts(Predicts::QueryTime),
        Line::pair("timeouts per block", Dimension::Ratio, found.timeouts_per_block(m.block()), move |run| {
            measure::round_timeouts(run, w)
        }),
    ])
}

fn head_lines(m: &Incast, n: u64, first: FirstWindow, w: WorkloadId) -> Result<Vec<Line>, crate::ModelError> {
    let mut lines = Vec::new();
    for (name, rule) in [("N*, collapse from", NstarRule::First), ("N*, first of three in a row", NstarRule::Run3)] {
        lines.extend(m.nstar_with(first, rule)?.map(|found| Line::theory(name, Dimension::Count, found as f64)));
    }
    if first == FirstWindow::Inherited {
        lines.extend(m.nstar_smooth().map(|found| Line::theory("N*, smoothed", Dimension::Count, found)));
    }
    let windows = m.windows(n)?;
    lines.push(Line::theory("window at overflow, W_m", Dimension::Packets, windows.overflow as f64));
    lines.push(Line::theory("flows that lose a packet there, N_m", Dimension::Count, windows.losers as f64));
    let lost = m.head(n, first)?.flows_in_timeout;
    lines.push(Line::pair("flows losing their first window, N^O", Dimension::Count, lost, move |run| {
        measure::head_timeouts(run, w)
    }));
    Ok(lines)
}

fn goodput_lines(
    m: &Incast,
    n: u64,
    window: u64,
    w: WorkloadId,
    notes: &mut Vec<String>,
) -> Result<Vec<Line>, crate::ModelError> {
    let goodput = |mode| m.goodput(n, mode, NstarRule::First);
    let bits = |bytes_per_s: f64| 8.0 * bytes_per_s;
    let literal = goodput(TailMode::Literal)?;
    let limited = m.limited(n, window, TailMode::Literal, NstarRule::First)?;
    let measured = move |run: &Report| measure::round_goodput(run, w);
    let below = matches!(literal.branch, Branch::Below { .. });
    let mut lines =
        vec![Line::pair("goodput", Dimension::BitsPerSecond, bits(limited.bytes_per_s), measured).predicts(Predicts::Goodput)];
    if limited.bytes_per_s != literal.bytes_per_s {
        notes.push(format!("the receive window limits: {:?} regime", limited.regime).to_lowercase());
        return Ok(lines);
    }
    if below {
        for (name, mode) in [("goodput, harmonic P^O", TailMode::Harmonic), ("goodput, uniform P^O", TailMode::Uniform)] {
            lines.push(Line::pair(name, Dimension::BitsPerSecond, bits(goodput(mode)?.bytes_per_s), measured));
        }
        notes.push("below N* the model's timeouts are erratic in N: single values give the order of magnitude only".into());
    } else if m.windows(n)?.overflow <= 3 {
        notes.push(
            "windows of 3 packets or less at overflow prevent fast retransmit: expect more than the model's one timeout".into(),
        );
    } else if m.nstar(NstarRule::First).is_some_and(|c| 4 * n > 5 * c) {
        notes.push("beyond 1.25 N* timeouts repeat within a block, which is not modeled".into());
    }
    let per_block = n as f64 * m.block() as f64 / (literal.share * m.pipe().capacity());
    lines.push(
        Line::pair("duration of a block", Dimension::Seconds, per_block, move |run| measure::round_time(run, w))
            .predicts(Predicts::QueryTime),
    );
    if let Branch::Beyond { ca, .. } = &literal.branch {
        // The number of these flows from which the goodput is computed.
        let flows = ca.windows.n as f64;
        lines
            .push(Line::pair("flows in timeout, N - N* + 1", Dimension::Count, flows, move |run| measure::head_timeouts(run, w)));
    }
    let timeouts = literal.timeouts_per_block(m.block());
    lines.push(Line::pair("timeouts per block", Dimension::Ratio, timeouts, move |run| measure::round_timeouts(run, w)));
    Ok(lines)
}

/// Differences between the scenario and the model.
fn notes(v: &Experiment, w: WorkloadId, tcp: &Transport, jitter: Time, rtt: Time) -> Vec<String> {
    let mut notes = Vec::new();
    let rest = other_workloads(v, |id| id == w);
    if !rest.is_empty() {
        notes.push(format!("the model excludes the other traffic: {}", rest.join(", ")));
    }
    if tcp.recovery != Recovery::NewReno {
        notes.push("the model assumes NewReno's recovery".into());
    }
    if tcp.limited_transmit {
        notes.push("limited transmit repairs some losses that the model counts as timeouts".into());
    }
    if tcp.ack_every > 1 {
        notes.push("the model assumes an ACK for every packet, but the stack delays ACKs".into());
    }
    // A fifth of the RTT: with 20 us at D = 100 us hardly any flow loses a whole window (PRIN specification 1.10).
    if jitter.0 < rtt.0 / 5 {
        notes.push("senders start nearly simultaneously, but the model spreads them over the time of a window".into());
    }
    notes
}
