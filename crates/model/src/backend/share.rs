//! Shares of the endless flows of several transports in their bottleneck: the AIMD model.

use super::path::{Pair, bottleneck, endless};
use super::{Line, Measure, ModelValue, Section, measure};
use crate::aimd::{Aimd, shares, throughput_ratio};
use forebay_experiment::Experiment;
use forebay_experiment::dimension::Dimension;
use forebay_experiment::report::Report;
use forebay_types::GroupId;
use std::rc::Rc;

/// Endless flows of one transport.
struct Flows {
    group: GroupId,
    count: usize,
    rule: Rule,
}

/// Values and comparison, or the reason why the model does not apply.
pub(crate) fn section(v: &Experiment) -> Result<Section, String> {
    let mut groups: Vec<(GroupId, Vec<Pair>)> =
        v.groups.ids().map(|g| (g, endless(v, g))).filter(|(_, pairs)| !pairs.is_empty()).collect();
    if groups.len() < 2 {
        return Err("requires endless flows of two or more transports".into());
    }
    let tcp = &v.groups[groups[0].0].tcp;
    let all: Vec<Pair> = groups.iter().flat_map(|(_, pairs)| pairs).copied().collect();
    let b = bottleneck(v, &all, tcp)?;
    // DCTCP first, as in the coexistence study: each of the others is compared with the last one.
    let dctcp = |g: GroupId| v.groups[g].tcp.cc.name == "dctcp";
    groups.sort_by_key(|(g, _)| !dctcp(*g));
    let flows: Rc<[Flows]> = groups
        .iter()
        .map(|(group, pairs)| Ok(Flows { group: *group, count: pairs.len(), rule: rule(v, *group)? }))
        .collect::<Result<_, String>>()?;
    let name = |f: &Flows| v.groups[f.group].name.as_str();
    let mut inputs = b.inputs();
    let counts: Vec<String> = flows.iter().map(|f| format!("{} of `{}`", f.count, name(f))).collect();
    inputs.push(("flows", counts.join(", ")));
    let mut notes =
        vec!["the model assumes that all flows see every congestion event; otherwise the ratio can differ several times".into()];
    if flows.iter().any(|f| dctcp(f.group)) {
        inputs.push(("alpha", "the run's mean".into()));
        if v.observe.tcp_series.is_empty() {
            notes.push("DCTCP's marked fraction is a result of the run: record it with `tcp` in [observe]".into());
        }
    }
    let last = flows.len() - 1;
    let mut lines: Vec<Line> = (0..last)
        .map(|i| {
            let (model, sim) = (flows.clone(), flows.clone());
            let ratio: Measure = Box::new(move |r| Some(throughput_ratio((model[i].rule)(r)?, (model[last].rule)(r)?)));
            let measured: Measure = Box::new(move |r| {
                let bottom = sim[last].goodput(r)?;
                (bottom > 0.0).then_some(sim[i].goodput(r)? / bottom)
            });
            let label = format!("throughput of a `{}` flow over a `{}` flow", name(&flows[i]), name(&flows[last]));
            line(label, ratio, measured, f64::INFINITY)
        })
        .collect();
    lines.extend((0..=last).map(|i| {
        let (model, sim) = (flows.clone(), flows.clone());
        let share: Measure = Box::new(move |r| {
            let rules: Vec<Aimd> = model.iter().map(|f| (f.rule)(r)).collect::<Option<_>>()?;
            let each: Vec<Aimd> = model.iter().zip(&rules).flat_map(|(f, rule)| std::iter::repeat_n(*rule, f.count)).collect();
            let first = model[..i].iter().map(|f| f.count).sum::<usize>();
            shares(&each).ok()?.get(first).copied()
        });
        let measured: Measure = Box::new(move |r| {
            let each: Vec<f64> = sim.iter().map(|f| f.goodput(r)).collect::<Option<_>>()?;
            let total: f64 = each.iter().zip(sim.iter()).map(|(x, f)| x * f.count as f64).sum();
            (total > 0.0).then(|| each[i] / total)
        });
        line(format!("share of a `{}` flow", name(&flows[i])), share, measured, 1.0)
    }));
    let about = "additive increase, multiplicative decrease (coexistence study, Eqs. 3 and 4)";
    Ok(Section { model: "share", about, group: None, port: None, inputs, lines, notes })
}

fn line(name: String, model: Measure, sim: Measure, max: f64) -> Line {
    Line { name, unit: Dimension::Ratio, model: ModelValue::Run(model), sim: Some(sim), predicts: None, max }
}

impl Flows {
    /// Mean goodput of a flow, bit/s.
    fn goodput(&self, r: &Report) -> Option<f64> {
        measure::goodput(r, self.group).map(|x| x / self.count as f64)
    }
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
