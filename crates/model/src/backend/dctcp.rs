//! DCTCP's threshold and steady state, for transports that use it with step marking.

use super::path::{Subject, bottleneck, other_than_endless, subject};
use super::{Line, Predicts, Section, measure};
use crate::dctcp::{gain_bound, steady_state, threshold_guideline, worst_flows};
use forebay_experiment::Experiment;
use forebay_experiment::dimension::Dimension;
use forebay_queues::{FifoDiscipline, Queue};

/// Values and comparison, or the reason why the model does not apply.
pub(crate) fn section(v: &Experiment) -> Result<Section, String> {
    let Subject { group, long, pairs: senders } = subject(v, "dctcp")?;
    let tcp = &v.groups[group].tcp;
    let b = bottleneck(v, &senders, tcp)?;
    let Queue::Fifo(FifoDiscipline::DctcpStep(step)) = &v.network.ports[b.port].queue else {
        return Err(format!("the queue of {} does not mark by a step", b.name));
    };
    let packet = b.pipe.packet() as f64;
    let k = if step.k().packets == u32::MAX { step.k().bytes as f64 / packet } else { f64::from(step.k().packets) };
    let error = |e: crate::ModelError| e.to_string();
    let guideline = threshold_guideline(&b.pipe);
    let mut inputs = b.inputs();
    inputs.push(("K", format!("{k} packets")));
    let mut lines = vec![
        Line::theory("smallest K, C RTT / 7", Dimension::Packets, guideline),
        Line::theory("number of flows with the smallest queue", Dimension::Count, worst_flows(&b.pipe, k).map_err(error)?),
        Line::theory("largest gain g", Dimension::Ratio, gain_bound(&b.pipe, k).map_err(error)?),
    ];
    let mut notes = Vec::new();
    if k <= guideline {
        notes.push("K is at most C RTT / 7: for some number of flows the synchronized sawtooth empties the queue".into());
    }
    let rest = other_than_endless(v, group);
    if long.is_empty() {
        notes.push("no endless flows: the steady state does not apply".into());
    } else {
        let n = long.len() as u64;
        inputs.push(("N", format!("{n} flows")));
        let s = steady_state(&b.pipe, n, k).map_err(error)?;
        let port = b.port;
        lines.push(
            Line::pair("largest queue, K + N", Dimension::Packets, s.queue_max, move |r| {
                measure::port(r, port).map(|p| f64::from(p.queue_max_pkts))
            })
            .predicts(Predicts::QueueMax),
        );
        lines.push(Line::pair("smallest queue", Dimension::Packets, s.queue_min.max(0.0), move |r| measure::queue_min(r, port)));
        let mid = (s.queue_max + s.queue_min.max(0.0)) / 2.0;
        lines.push(
            Line::pair("middle of the sawtooth, mean queue", Dimension::Packets, mid, move |r| {
                measure::port(r, port).map(|p| p.queue_mean_pkts)
            })
            .predicts(Predicts::QueueMean),
        );
        let alpha = Line::pair("marked fraction alpha", Dimension::Ratio, s.alpha_exact, move |r| measure::alpha(r, group));
        lines.push(Line { max: 1.0, ..alpha });
        lines.push(Line::theory("window at K, W*", Dimension::Packets, s.critical_window));
        if s.queue_min < 0.0 {
            notes.push("the synchronized sawtooth would empty the queue: the link idles at its bottom".into());
        }
        if s.critical_window < 4.0 {
            notes.push("windows are near the minimum of 2 segments, below which flows cannot reduce".into());
        }
        if !rest.is_empty() {
            notes.push(format!("the model excludes the other traffic: {}", rest.join(", ")));
        }
        if v.observe.warmup.0 == 0 {
            notes.push("without `warmup` in [observe] the measured queue includes slow start".into());
        }
    }
    let about = "synchronized long flows at a marking step (Alizadeh et al., SIGCOMM 2010, section 3.3)";
    Ok(Section { model: "dctcp", about, group: Some(group), port: Some(b.port), inputs, lines, notes })
}
