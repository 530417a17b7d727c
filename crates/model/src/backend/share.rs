//! Shares of the endless flows of two transports in their bottleneck: the AIMD model.

use super::path::{Pair, bottleneck, endless};
use super::{Line, Measure, ModelValue, Section, measure};
use crate::aimd::{Aimd, throughput_ratio};
use forebay_experiment::Experiment;
use forebay_experiment::dimension::Dimension;
use forebay_experiment::report::Report;
use forebay_types::GroupId;

/// Values and comparison, or the reason why the model does not apply.
pub(crate) fn section(v: &Experiment) -> Result<Section, String> {
    let groups: Vec<(GroupId, Vec<Pair>)> =
        v.groups.ids().map(|g| (g, endless(v, g))).filter(|(_, pairs)| !pairs.is_empty()).collect();
    let [(first, one), (second, two)] = &groups[..] else {
        return Err("requires endless flows of exactly two transports".into());
    };
    let tcp = &v.groups[*first].tcp;
    let all: Vec<Pair> = one.iter().chain(two).copied().collect();
    let b = bottleneck(v, &all, tcp)?;
    // DCTCP first, as in the coexistence study.
    let dctcp = |g: GroupId| v.groups[g].tcp.cc.name == "dctcp";
    let ((a, n_a), (z, n_z)) = if dctcp(*second) && !dctcp(*first) {
        ((*second, two.len()), (*first, one.len()))
    } else {
        ((*first, one.len()), (*second, two.len()))
    };
    let (rule_a, rule_z) = (rule(v, a)?, rule(v, z)?);
    let mut inputs = b.inputs();
    inputs.push(("flows", format!("{n_a} of `{}`, {n_z} of `{}`", v.groups[a].name, v.groups[z].name)));
    let mut notes =
        vec!["the model assumes that all flows see every congestion event; otherwise the ratio can differ several times".into()];
    if [a, z].into_iter().any(dctcp) {
        inputs.push(("alpha", "the run's mean".into()));
        if v.observe.tcp_series.is_empty() {
            notes.push("DCTCP's marked fraction is a result of the run: record it with `tcp` in [observe]".into());
        }
    }
    let ratio: Measure = Box::new(move |r| Some(throughput_ratio(rule_a(r)?, rule_z(r)?)));
    let name = format!("throughput of a `{}` flow over a `{}` flow", v.groups[a].name, v.groups[z].name);
    let sim: Measure = Box::new(move |r| {
        let per_flow = |g, n: usize| measure::goodput(r, g).map(|x| x / n as f64);
        let (top, bottom) = (per_flow(a, n_a)?, per_flow(z, n_z)?);
        (bottom > 0.0).then(|| top / bottom)
    });
    let lines = vec![Line {
        name,
        unit: Dimension::Ratio,
        model: ModelValue::Run(ratio),
        sim: Some(sim),
        predicts: None,
        max: f64::INFINITY,
    }];
    let about = "additive increase, multiplicative decrease (coexistence study, Eqs. 3 and 4)";
    Ok(Section { model: "share", about, group: None, port: None, inputs, lines, notes })
}

/// An AIMD rule, which may require results of the run.
type Rule = Box<dyn Fn(&Report) -> Option<Aimd>>;

/// The AIMD rule of a transport's congestion control.
fn rule(v: &Experiment, group: GroupId) -> Result<Rule, String> {
    match v.groups[group].tcp.cc.name {
        "newreno" | "reno" => Ok(Box::new(|_| Some(Aimd::TCP))),
        "dctcp" => Ok(Box::new(move |r| Aimd::dctcp(measure::alpha(r, group)?).ok())),
        _ => Err(format!("`{}` does not use additive increase, multiplicative decrease", v.groups[group].name)),
    }
}
