//! Upper bounds by headers and windows, for every scenario.

use super::path::{Pair, bottleneck, endless};
use super::{Line, Predicts, Section, measure};
use crate::ceilings::{UNSCALED_WINDOW, bdp_bytes, payload_share, window_limited};
use forebay_experiment::Experiment;
use forebay_experiment::dimension::Dimension;
use forebay_experiment::transport::Stack;
use forebay_types::GroupId;

/// Values and comparison. It always applies; values without a basis are omitted.
pub(crate) fn section(v: &Experiment) -> Result<Section, String> {
    let error = |e: crate::ModelError| e.to_string();
    let about = "upper bounds by headers and windows";
    let mut s =
        Section { model: "ceilings", about, group: None, port: None, inputs: Vec::new(), lines: Vec::new(), notes: Vec::new() };
    let groups = &v.groups;
    let sizes = |t: &Stack| (u64::from(t.mss), u64::from(t.header));
    for g in groups {
        let name = &g.name;
        let (mss, header) = sizes(&g.tcp);
        let of = if groups.len() > 1 { format!(", `{name}`") } else { String::new() };
        s.lines.push(Line::theory(
            format!("payload of a full packet{of}"),
            Dimension::Fraction,
            payload_share(mss, header).map_err(error)?,
        ));
    }
    let long: Vec<(GroupId, Vec<Pair>)> =
        groups.ids().map(|g| (g, endless(v, g))).filter(|(_, pairs)| !pairs.is_empty()).collect();
    let Some((first, _)) = long.first() else {
        s.notes.push("no endless flows, so no goodput to bound".into());
        return Ok(s);
    };
    let tcp = &groups[*first].tcp;
    if long.iter().any(|(g, _)| sizes(&groups[*g].tcp) != sizes(tcp)) {
        s.notes.push("packet sizes of the transports differ: no common upper bound".into());
        return Ok(s);
    }
    let all: Vec<Pair> = long.iter().flat_map(|(_, pairs)| pairs).copied().collect();
    let b = match bottleneck(v, &all, tcp) {
        Ok(b) => b,
        Err(reason) => {
            s.notes.push(reason);
            return Ok(s);
        }
    };
    s.inputs = b.inputs();
    let (mss, header) = sizes(tcp);
    let (rate, rtt) = (b.pipe.rate(), b.pipe.rtt());
    // Sum over the windows of all flows, each limited by the link.
    let one = |(g, pairs): &(GroupId, Vec<Pair>)| {
        window_limited(rate, mss, header, groups[*g].tcp.rcv_wnd.max(1), rtt).map(|x| x * pairs.len() as f64)
    };
    let windows = long.iter().map(one).sum::<Result<f64, _>>().map_err(error)?;
    let link = rate.0 as f64 * payload_share(mss, header).map_err(error)?;
    let ids: Vec<GroupId> = long.iter().map(|(g, _)| *g).collect();
    let name = if windows < link { "goodput of the endless flows, by windows" } else { "goodput of the endless flows, at most" };
    let bound =
        Line::pair(name, Dimension::BitsPerSecond, windows.min(link), move |r| ids.iter().map(|&g| measure::goodput(r, g)).sum());
    // The link's rate is an upper bound, not a prediction; a limit by the windows of one transport is.
    if let (true, [(group, _)]) = (windows < link, &long[..]) {
        s.group = Some(*group);
        s.lines.push(bound.predicts(Predicts::Goodput));
    } else {
        s.lines.push(bound);
    }
    s.lines.push(Line::theory("pipe, C D", Dimension::Packets, b.pipe.bdp()));
    if bdp_bytes(rate, rtt).map_err(error)? > UNSCALED_WINDOW {
        s.notes.push(format!("the pipe holds more than the {UNSCALED_WINDOW} B that a window can advertise without scaling"));
    }
    Ok(s)
}
