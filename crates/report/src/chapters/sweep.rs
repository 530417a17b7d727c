//! Page of a sweep: every metric against the first swept axis, one line per combination of the others.

use super::reduce::short;
use super::sweep_answer as answer;
use super::sweep_choices::{NARROW, choices, overlap, telling};
pub use super::sweep_data::{Point, Sweep, SweptAxis, Value};
use super::sweep_data::{Seeds, value};
use super::sweep_load;
use super::sweep_shares;
use crate::page::{
    Axis, BarChart, Bars, Cell, Chart, Dimension, Figure, Headline, HeadlineChart, LineChart, MetricRow, MetricTable, Page,
    Section, Style, Subject, Term, View, XyLine,
};
use forebay_analysis::{FEW_SEEDS as FEW, Metric, metrics};
use forebay_analysis::{bold, count, list, quantity};
use std::collections::BTreeMap;

/// A line of every figure: one subject at one combination of the other axes.
struct Line {
    name: String,
    /// Variant and group.
    subject: String,
    /// Values of the other axes.
    setting: String,
    /// Positions on the first axis, ascending; for each metric the values of the seeds.
    at: Vec<(f64, Seeds)>,
}

/// The page of a sweep.
pub fn page(sweep: &Sweep) -> Page {
    let (lines, names) = lines(sweep);
    let mut page = Page { title: sweep.title.clone(), ..Page::default() };
    page.subjects = subjects(&lines);
    let keys: Vec<String> = sweep.axes.iter().map(|a| a.key.clone()).collect();
    page.summary = format!("a sweep of {}, {}", list(&keys), count(sweep.points.len(), "result"));
    let axis = sweep.axes.first();
    let key = axis.map_or("", |a| a.key.as_str());
    let x = Axis {
        title: axis.map_or(String::new(), SweptAxis::words),
        unit: axis.map_or(Dimension::Ratio, |a| a.unit),
        log: log(&lines),
    };
    let figures: Vec<Figure> = metrics().filter_map(|m| figure(&m, &x, &names, &lines)).collect();
    page.glossary = metrics()
        .filter(|m| figures.iter().any(|f| f.id == id(m)))
        .map(|m| Term { name: m.label.replace("{first}", "the first group"), unit: String::new(), text: m.doc.into() })
        .collect();
    let choices = choices(sweep);
    page.headline = headline(&lines, axis, &names);
    let mut first = answer::sentences(&choices);
    // After unfinished points; the example of one load follows.
    let at = first.iter().take_while(|s| s.contains("**Nothing")).count();
    let chosen = sweep_load::sentence(sweep, &choices).or_else(|| sweep_shares::sentence(sweep, &choices));
    chosen.into_iter().for_each(|s| first.insert(at, s));
    // Beside the answer about times, which it follows.
    let beside = long_flows(&lines, axis, &names);
    let ends = page.headline.sentences.split_off(page.headline.sentences.len().min(1));
    page.headline.sentences = [first, page.headline.sentences, beside, ends].concat();
    page.headline.sentences.truncate(MAX_SENTENCES);
    // Predictions count nothing, and have no seeds.
    let mut values = sweep.points.iter().map(|p| p.metrics.iter().any(|(name, _)| name == "drops"));
    if values.any(|counted| counted)
        && lines.iter().flat_map(|l| &l.at).flat_map(|(_, of)| of.values()).all(|seeds| seeds.len() == 1)
    {
        page.headline.sentences.truncate(MAX_SENTENCES - 1);
        page.headline.sentences.push("Only one seed was run: differences may be due to chance.".into());
    }
    page.table = last(&lines);
    let few = lines.iter().flat_map(|l| &l.at).flat_map(|(_, of)| of.values()).all(|seeds| seeds.len() < FEW);
    let bands = if few { "the range over the seeds" } else { "95 % confidence intervals, clipped at physical bounds" };
    let marks = if names.is_empty() { "Bands" } else { "Strokes" };
    let text = format!("Means over seeds against {key}. {marks} are {bands}.");
    // The metric of the answer; the others are folded.
    let whole: Vec<_> = choices.iter().collect();
    let chief = telling(&whole).map(|(m, _)| id(&m)).filter(|chief| figures.iter().any(|f| f.id == *chief));
    let (asked, others): (Vec<Figure>, Vec<Figure>) =
        figures.into_iter().partition(|f| chief.as_ref().is_none_or(|chief| f.id == *chief));
    page.sections = [
        ("sweep", format!("Against {key}"), text, asked),
        ("others", format!("Other metrics against {key}"), String::new(), others),
    ]
    .into_iter()
    .filter(|(id, _, _, figures)| *id == "sweep" || !figures.is_empty())
    .map(|(id, title, text, figures)| Section { id: id.into(), title, text, figures, ..Section::default() })
    .collect();
    let maps = answer::maps(sweep, &choices);
    if !maps.is_empty() {
        let text = "Main metric of the headline. Stronger colors are better, among settings with the same load.".into();
        page.sections
            .insert(0, Section { id: "maps".into(), title: "Best regions".into(), text, grids: maps, figures: Vec::new() });
    }
    let (id, title, text) = ("points".into(), "All points".into(), "Click a column head to sort.".into());
    page.sections.push(Section { id, title, text, grids: vec![answer::table(sweep, &choices)], figures: Vec::new() });
    page.folded = ["others", "points"].map(String::from).into();
    page
}

/// The lines as subjects. If there are several transports and several settings, the color is that of the transport and the symbol that of the setting.
fn subjects(lines: &[Line]) -> Vec<Subject> {
    fn distinct<'a>(of: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
        of.fold(Vec::new(), |mut all, one| {
            if !all.contains(&one) {
                all.push(one);
            }
            all
        })
    }
    let (transports, settings) =
        (distinct(lines.iter().map(|l| l.subject.as_str())), distinct(lines.iter().map(|l| l.setting.as_str())));
    let both = transports.len() > 1 && settings.len() > 1;
    let place = |all: &[&str], one: &str| all.iter().position(|o| *o == one).unwrap_or(0);
    let style = |l: &Line| Style { hue: place(&transports, &l.subject), shape: place(&settings, &l.setting) };
    lines.iter().map(|l| Subject { name: l.name.clone(), style: both.then(|| style(l)) }).collect()
}

/// The lines, in the order of the sweep; and the names of the values of the first axis in the order of their positions, if they are no numbers.
fn lines(sweep: &Sweep) -> (Vec<Line>, Vec<&str>) {
    let mut lines: Vec<Line> = Vec::new();
    static UNSET: std::sync::LazyLock<Value> = std::sync::LazyLock::new(|| Value::Text("unset".into()));
    let named = sweep.points.iter().any(|p| matches!(p.at.first(), Some(Value::Text(_))));
    let mut names: Vec<&str> = Vec::new();
    let in_name = sweep.axes_name_subjects();
    for p in &sweep.points {
        let at = p.at.first().map(|v| if named && *v == Value::Unset { &*UNSET } else { v });
        let x = match at {
            Some(Value::Number(v)) => *v,
            // Names have no distances: they are placed side by side in the order of the sweep.
            Some(Value::Text(t)) => match names.iter().position(|n| n == t) {
                Some(i) => i as f64,
                None => {
                    names.push(t);
                    (names.len() - 1) as f64
                }
            },
            // No position on an axis of numbers.
            Some(Value::Unset) => continue,
            None => 0.0,
        };
        // Unset values, and values that the subject's name includes, are omitted.
        let others =
            p.at.iter().zip(&sweep.axes).skip(1).filter(|(v, _)| **v != Value::Unset && !(in_name && v.text() == p.subject));
        let rest: Vec<String> = others.map(|(v, a)| format!("{} {}", a.short, v.text()).trim_start().to_owned()).collect();
        let name = [&[p.subject.clone()][..], &rest].concat().join(", ");
        let line = match lines.iter().position(|l| l.name == name) {
            Some(i) => &mut lines[i],
            None => {
                lines.push(Line { name, subject: p.subject.clone(), setting: rest.join(", "), at: Vec::new() });
                let last = lines.len() - 1;
                &mut lines[last]
            }
        };
        let place = line.at.partition_point(|a| a.0 < x);
        if line.at.get(place).is_none_or(|a| a.0 != x) {
            line.at.insert(place, (x, BTreeMap::new()));
        }
        for (metric, value) in &p.metrics {
            line.at[place].1.entry(metric.clone()).or_default().push(*value);
        }
    }
    (lines, names)
}

/// A logarithmic axis suits values above 0 that span more than a factor of 20.
fn log(lines: &[Line]) -> bool {
    let all = || lines.iter().flat_map(|l| &l.at).map(|a| a.0);
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    low > 0.0 && high > 20.0 * low
}

fn id(m: &Metric) -> String {
    format!("sweep-{}", m.name.replace('_', "-"))
}

/// The values of a metric: lines along an axis of numbers, bars for each of the `names` of an axis without numbers. `None` if it is constant.
fn figure(m: &Metric, x: &Axis, names: &[&str], lines: &[Line]) -> Option<Figure> {
    let curve = |(subject, line): (usize, &Line)| {
        let cells: Vec<(f64, Option<Cell>)> = line.at.iter().map(|(x, of)| (*x, value(m, of))).collect();
        let edge = |get: fn((f64, f64)) -> f64| -> Vec<Option<f64>> {
            cells.iter().map(|(_, c)| c.and_then(|c| Some(short(get(c.range.or(c.ends)?))))).collect()
        };
        let banded = cells.iter().any(|(_, c)| c.is_some_and(|c| c.ends.is_some()));
        XyLine {
            subject: Some(subject),
            label: line.name.clone(),
            x: cells.iter().map(|c| c.0).collect(),
            y: cells.iter().map(|(_, c)| c.map(|c| short(c.mean))).collect(),
            low: if banded { edge(|ends| ends.0) } else { Vec::new() },
            high: if banded { edge(|ends| ends.1) } else { Vec::new() },
            ..XyLine::default()
        }
    };
    let curves: Vec<XyLine> = lines.iter().enumerate().map(curve).filter(|l| l.y.iter().any(Option::is_some)).collect();
    let values = || curves.iter().flat_map(|l| &l.y).flatten().copied();
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    // Metrics that are constant along the axis need no figure: the table has them.
    let flat = |l: &XyLine| l.y.iter().flatten().all(|y| Some(y) == l.y.iter().flatten().next());
    if m.label.is_empty() || curves.is_empty() || curves.iter().all(flat) {
        return None;
    }
    let label = m.label.replace("{first}", "the first group");
    let y = Axis { title: label.clone(), unit: m.unit, log: low > 0.0 && high > 100.0 * low };
    let chart = if names.is_empty() {
        Chart::Lines(LineChart { x: x.clone(), y, points: true, lines: curves })
    } else {
        let categories = names.iter().map(|n| (*n).to_owned()).collect();
        Chart::Bars(BarChart { x_title: x.title.clone(), y, categories, series: bars(m, names.len(), lines) })
    };
    Some(Figure {
        id: id(m),
        title: label,
        text: description(m.doc),
        choice: String::new(),
        views: vec![View { name: String::new(), chart }],
    })
}

/// The bars of each line at the `places` on the first axis.
fn bars(m: &Metric, places: usize, lines: &[Line]) -> Vec<Bars> {
    let of = |(subject, line): (usize, &Line)| {
        let at = |place: usize| line.at.iter().find(|a| a.0 == place as f64).and_then(|(_, of)| value(m, of));
        let cells: Vec<Option<Cell>> = (0..places).map(at).collect();
        let ends = |c: &Option<Cell>| c.and_then(|c| c.range.or(c.ends)).map(|(low, high)| (short(low), short(high)));
        Bars {
            subject,
            value: cells.iter().map(|c| c.map(|c| short(c.mean))).collect(),
            value_at_least: cells.iter().map(|c| c.is_some_and(|c| c.at_least)).collect(),
            ends: cells.iter().map(ends).collect(),
            mark: vec![None; places],
            n: vec![None; places],
            ..Bars::default()
        }
    };
    lines.iter().enumerate().map(of).filter(|b| b.value.iter().any(Option::is_some)).collect()
}

/// Description of a metric; empty if it continues that of another metric, because the title has more information.
fn description(doc: &str) -> String {
    if doc.starts_with("its ") || doc.starts_with("the same") { String::new() } else { capital(doc) + "." }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// Maximum number of headline sentences.
const MAX_SENTENCES: usize = 5;

/// Metrics by which lines are described, in order of preference.
const TELLING: [&str; 4] = ["qct_p99_s", "fct_small_p99_s", "goodput_bps", "rtos"];

/// First and last value of each line, those with the largest change first; bars at the end.
fn headline(lines: &[Line], axis: Option<&SweptAxis>, names: &[&str]) -> Headline {
    let (Some(axis), true) = (axis, lines.iter().any(|l| l.at.len() > 1)) else { return Headline::default() };
    let telling = |m: &Metric| lines.iter().any(|l| l.at.iter().any(|a| value(m, &a.1).is_some_and(|c| c.mean > 0.0)));
    let Some(m) = TELLING.iter().filter_map(|name| metrics().find(|m| m.name == *name)).find(telling) else {
        return Headline::default();
    };
    let mut changes: Vec<(f64, String)> = Vec::new();
    for l in lines {
        let Some(((x0, y0), (x1, y1))) =
            l.at.first().zip(l.at.last()).and_then(|(a, b)| Some(((a.0, value(&m, &a.1)?), (b.0, value(&m, &b.1)?))))
        else {
            continue;
        };
        let open = overlap(y0, y1) && (y0.mean - y1.mean).abs() > NARROW * y0.mean.max(y1.mean);
        let show = |v: f64| quantity(v, m.unit);
        let spread = |c: Cell| c.spread(show).filter(|_| open).map_or_else(String::new, |s| format!(" {s}"));
        let text = |c: Cell| c.at_least().to_owned() + &bold(&show(c.mean)) + &spread(c);
        // Names stand for themselves.
        let x = |v: f64| match names.get(v as usize) {
            Some(name) => format!("{} {name}", axis.short).trim().to_owned(),
            None => quantity(v, axis.unit),
        };
        let first = if names.is_empty() { format!("{} {}", axis.short, x(x0)).trim().to_owned() } else { x(x0) };
        let sentence = format!(
            "{}: {} is {} at {first} and {} at {}{}{}.",
            bold(&l.name),
            m.label.replace("{first}", "the first group"),
            text(y0),
            text(y1),
            x(x1),
            if open { ": the seeds do not show a difference" } else { "" },
            between(&m, l, (y0, y1)).map_or_else(String::new, |(v, c, word)| format!("; it is {word} at {}: {}", x(v), text(c))),
        );
        // Number of occurrences of one text in another.
        let (y0, y1) = (y0.mean, y1.mean);
        let change = if y0 > 0.0 && y1 > 0.0 { (y1 / y0).ln().abs() } else { f64::INFINITY };
        changes.push((change, sentence));
    }
    changes.sort_by(|a, b| b.0.total_cmp(&a.0));
    let values: Vec<Option<Cell>> = lines.iter().map(|l| l.at.last().and_then(|(_, of)| value(&m, of))).collect();
    // One bar compares nothing.
    let compares = values.iter().flatten().count() > 1;
    let last = lines.iter().filter_map(|l| l.at.last()).map(|(x, _)| *x).fold(f64::NEG_INFINITY, f64::max);
    let last = names.get(last as usize).map_or_else(|| quantity(last, axis.unit), |name| (*name).to_owned());
    let title = format!("{}, at {}", m.label.replace("{first}", "the first group"), format!("{} {last}", axis.short).trim());
    Headline {
        sentences: changes.into_iter().map(|c| c.1).take(4).collect(),
        charts: if compares { vec![HeadlineChart { title, unit: m.unit, better: String::new(), values }] } else { Vec::new() },
    }
}

/// A value between the ends of the axis that is clearly below or above both of them, and that word for it.
fn between(m: &Metric, l: &Line, ends: (Cell, Cell)) -> Option<(f64, Cell, &'static str)> {
    let inner = || l.at.get(1..l.at.len() - 1).into_iter().flatten().filter_map(|(x, of)| Some((*x, value(m, of)?)));
    let apart = |c: &Cell| [ends.0, ends.1].iter().all(|e| !overlap(*c, *e));
    let (low, high) = (ends.0.mean.min(ends.1.mean), ends.0.mean.max(ends.1.mean));
    let by_mean = |a: &(f64, Cell), b: &(f64, Cell)| a.1.mean.total_cmp(&b.1.mean);
    let least = inner().filter(|(_, c)| !c.at_least && c.mean < (1.0 - NARROW) * low && apart(c)).min_by(by_mean);
    let most = || inner().filter(|(_, c)| c.mean * (1.0 - NARROW) > high && apart(c)).max_by(by_mean);
    least.map(|(x, c)| (x, c, "lowest")).or_else(|| most().map(|(x, c)| (x, c, "highest")))
}

/// The goodput at the ends of the axis, if it changes, of lines with long flows beside the queries or messages of the answer.
fn long_flows(lines: &[Line], axis: Option<&SweptAxis>, names: &[&str]) -> Vec<String> {
    let (Some(axis), Some(m)) = (axis, metrics().find(|m| m.name == "goodput_bps")) else { return Vec::new() };
    // Numbers have units, and names do not.
    let at = |v: f64| axis.of(&names.get(v as usize).map_or(Value::Number(v), |name| Value::Text((*name).to_owned())));
    let timed = |of: &Seeds| {
        let long = of.get("long_flows").is_some_and(|n| n.iter().any(|n| *n > 0.0));
        long && ["qct_p99_s", "fct_small_p99_s"].iter().any(|name| of.contains_key(*name))
    };
    let one = |l: &Line| {
        let ((x0, first), (x1, last)) = l.at.first().zip(l.at.last()).filter(|(a, b)| a.0 != b.0 && timed(&a.1))?;
        let (y0, y1) = (value(&m, first)?, value(&m, last)?);
        let changes = (y0.mean - y1.mean).abs() > NARROW * y0.mean.max(y1.mean) && !overlap(y0, y1);
        let text = |c: Cell| bold(&quantity(c.mean, m.unit));
        changes.then(|| {
            format!(
                "{}: with its long flows, the goodput is {} at {} and {} at {}.",
                bold(&l.name),
                text(y0),
                at(*x0),
                text(y1),
                at(*x1)
            )
        })
    };
    lines.iter().filter_map(one).take(2).collect()
}

/// All metrics at the last value of the first axis, where differences are usually largest.
fn last(lines: &[Line]) -> MetricTable {
    let row = |m: Metric| {
        let of = |l: &Line| l.at.last().and_then(|(_, of)| value(&m, of));
        let cells: Vec<Option<Cell>> = lines.iter().map(of).collect();
        let label = format!("{}, at the last point", m.label.replace("{first}", "the first group"));
        // Metrics without a label bound the metrics before them.
        (!m.label.is_empty() && cells.iter().any(Option::is_some)).then(|| MetricRow {
            label,
            unit: m.unit,
            help: m.doc.into(),
            cells,
        })
    };
    MetricTable { rows: metrics().filter_map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep() -> Sweep {
        with_seeds(2)
    }

    fn with_seeds(seeds: u32) -> Sweep {
        let axis = |key: &str, short: &str| SweptAxis { key: key.into(), short: short.into(), unit: Dimension::Count };
        let axes = vec![axis("topology.senders", "senders"), axis("transport.cc", "cc")];
        let mut s = Sweep { title: "incast".into(), axes, points: Vec::new() };
        for cc in ["reno", "dctcp"] {
            for n in [8.0, 64.0, 1.0] {
                for seed in 0..seeds {
                    s.points.push(Point {
                        at: vec![Value::Number(n), Value::Text(cc.into())],
                        variant: String::new(),
                        class: String::new(),
                        subject: "default".into(),
                        metrics: vec![("goodput_bps".into(), 1e9 / n + f64::from(seed)), ("syn_rtos".into(), 0.0)],
                    });
                }
            }
        }
        s
    }

    #[test]
    fn one_line_per_combination() {
        let p = page(&sweep());
        let names: Vec<&str> = p.subjects.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, ["default, cc reno", "default, cc dctcp"]);
        let figures = &p.sections.iter().find(|s| s.id == "sweep").unwrap().figures;
        assert_eq!(figures.iter().map(|f| f.id.as_str()).collect::<Vec<_>>(), ["sweep-goodput-bps"], "no curve of nothing but 0");
        let Chart::Lines(c) = &figures[0].views[0].chart else { panic!() };
        assert_eq!((c.x.log, c.points, c.lines.len()), (true, true, 2));
        let line = &c.lines[1];
        assert_eq!((line.subject, line.x.clone()), (Some(1), vec![1.0, 8.0, 64.0]));
        let (low, y, high) = (line.low[0].unwrap(), line.y[0].unwrap(), line.high[0].unwrap());
        assert!(low <= y && y <= high && y == 1e9, "{low} {y} {high}");
    }

    /// The band of two seeds is their range; a t interval is 12.7 times as wide as their distance.
    #[test]
    fn few_seeds_show_their_range() {
        let p = page(&sweep());
        let section = p.sections.iter().find(|s| s.id == "sweep").unwrap();
        assert!(section.text.contains("Bands are the range over the seeds."), "{}", section.text);
        let Chart::Lines(c) = &section.figures[0].views[0].chart else { panic!() };
        assert_eq!(c.x.title, "senders", "words, and no key");
        // Goodputs of 1e9 and 1e9 + 1 bit/s at one sender.
        assert!(c.lines[1].high[0].unwrap() - c.lines[1].low[0].unwrap() <= 1.0, "{:?}", c.lines[1]);
    }

    /// One of five seeds differs: the t interval exceeds the physical bounds.
    #[test]
    fn bands_stay_in_range() {
        let numbers = [
            ("goodput_bps", 0.9e9, 0.5e9),
            ("goodput_max_bps", 0.95e9, 0.95e9),
            ("flows", 200.0, 200.0),
            ("flows_completed", 199.0, 20.0),
            ("fct_small_p99_s", 0.001, 0.2),
            ("slowdown_p99", 1.5, 4.0),
            ("queue_mean_pkts", 10.0, 90.0),
            ("queue_limit_pkts", 100.0, 100.0),
            ("utilization", 0.5, 0.98),
        ];
        let mut s = with_seeds(5);
        for (i, p) in s.points.iter_mut().enumerate() {
            // All metrics grow a little along the axis, so that they are drawn.
            let number = |(name, even, odd): (&str, f64, f64)| {
                (name.to_owned(), if i % 5 == 0 { even } else { odd * (1.0 + 1e-3 * (i / 5) as f64) })
            };
            p.metrics = numbers.map(number).into();
        }
        let p = page(&s);
        let asked: Vec<&str> = p.sections[0].figures.iter().map(|f| f.id.as_str()).collect();
        assert_eq!((p.sections[0].id.as_str(), asked), ("sweep", vec!["sweep-fct-small-p99-s"]), "the metric of the answer");
        assert_eq!(p.folded, ["others", "points"]);
        let figures = p.sections.iter().flat_map(|s| &s.figures);
        let ends = |f: &Figure| {
            let Chart::Lines(c) = &f.views[0].chart else { panic!() };
            let all = |of: fn(&XyLine) -> &Vec<Option<f64>>| c.lines.iter().flat_map(of).flatten().copied();
            (all(|l| &l.low).fold(f64::INFINITY, f64::min), all(|l| &l.high).fold(0.0, f64::max))
        };
        let drawn: Vec<(&str, (f64, f64))> = figures.map(|f| (f.id.as_str(), ends(f))).collect();
        let limits = [
            ("sweep-fct-small-p99-s", (0.0, f64::INFINITY)),
            ("sweep-goodput-bps", (0.0, 0.9548e9)),
            ("sweep-flows", (0.0, f64::INFINITY)),
            ("sweep-flows-completed", (0.0, 201.0)),
            ("sweep-slowdown-p99", (1.0, f64::INFINITY)),
            ("sweep-queue-mean-pkts", (0.0, 100.5)),
            ("sweep-utilization", (0.0, 1.0)),
        ];
        assert_eq!(drawn.iter().map(|d| d.0).collect::<Vec<_>>(), limits.map(|l| l.0), "and no chart of limits");
        for ((id, (low, high)), (_, (least, most))) in drawn.into_iter().zip(limits) {
            assert!(low >= least && high <= most, "{id}: {low} to {high}");
            assert!(id != "sweep-utilization" || high == most, "{id}: the band ends at its bound, not before: {high}");
        }
    }

    #[test]
    fn headline_gives_range() {
        let h = page(&sweep()).headline;
        // A load is no setting: the goodput with one sender is not better than with 64.
        let ends = "The goodput is nearly the same with all settings at each load.";
        let begin = "**default, cc reno**: goodput is **1 Gbit/s** at senders 1 and **15.6 Mbit/s** at 64.";
        assert_eq!((h.sentences.len(), h.sentences[0].as_str(), h.sentences[1].as_str()), (3, ends, begin));
        assert_eq!(h.charts[0].title, "goodput, at senders 64");
    }

    #[test]
    fn unfinished_is_lower_bound() {
        let mut s = sweep();
        for p in &mut s.points {
            let part = if p.at[0] == Value::Number(64.0) { 1.0 } else { 0.0 };
            p.metrics = vec![("qct_p99_s".into(), 0.2 + 0.8 * part), ("queries_exact_quantile".into(), 1.0 - part)];
        }
        let p = page(&s);
        let output = &p.headline.sentences;
        assert!(output.iter().all(|s| !s.contains("worst")), "equal at each load: {output:?}");
        assert!(output[0].ends_with("is **200 ms** at senders 1 and at least **1 s** at 64."), "{output:?}");
        let bounds = |cells: &[Option<Cell>]| cells.iter().all(|c| c.is_some_and(|c| c.at_least));
        assert!(bounds(&p.headline.charts[0].values) && bounds(&p.table.rows[0].cells));
    }

    #[test]
    fn constant_axes_are_omitted() {
        let mut s = sweep();
        for p in &mut s.points {
            let Value::Text(cc) = &p.at[1] else { panic!() };
            p.subject.clone_from(cc);
        }
        s.points[0].at[0] = Value::Unset;
        s.points[1].at[1] = Value::Unset;
        let names: Vec<String> = page(&s).subjects.into_iter().map(|s| s.name).collect();
        assert_eq!(names, ["reno", "dctcp"]);
    }

    #[test]
    fn extreme_between_ends_is_named() {
        let sentence = |middle: f64| {
            let mut s = sweep();
            for p in &mut s.points {
                let Value::Number(n) = p.at[0] else { panic!() };
                let p99 = if n == 1.0 { 0.2 } else { [middle, 0.3][usize::from(n == 64.0)] };
                p.metrics = vec![("qct_p99_s".into(), p99), ("queries_exact_quantile".into(), 1.0)];
            }
            let ends = "is **200 ms** at senders 1 and **300 ms** at 64";
            page(&s).headline.sentences.into_iter().find(|s| s.contains(ends)).unwrap()
        };
        assert!(sentence(0.05).ends_with("at 64; it is lowest at 8: **50 ms**."), "{}", sentence(0.05));
        assert!(sentence(0.9).ends_with("at 64; it is highest at 8: **900 ms**."));
        assert!(sentence(0.25).ends_with("at 64.") && sentence(0.19).ends_with("at 64."));
    }

    #[test]
    fn colour_is_the_transport() {
        let mut s = sweep();
        let more: Vec<Point> = s.points.iter().map(|p| Point { subject: "bbr".into(), ..p.clone() }).collect();
        assert!(page(&s).subjects.iter().all(|s| s.style.is_none()), "one transport");
        s.points.extend(more);
        let styles: Vec<(usize, usize)> = page(&s).subjects.iter().filter_map(|s| s.style).map(|s| (s.hue, s.shape)).collect();
        assert_eq!(styles, [(0, 0), (0, 1), (1, 0), (1, 1)]);
    }

    #[test]
    fn categorical_first_axis() {
        let mut s = sweep();
        s.axes.swap(0, 1);
        for p in &mut s.points {
            p.at.swap(0, 1);
            let faster = p.at[0] == Value::Text("dctcp".into());
            p.metrics = vec![("goodput_bps".into(), if faster { 2e9 } else { 1e9 })];
        }
        let p = page(&s);
        assert_eq!(p.subjects.len(), 3);
        let figure = p.sections.iter().flat_map(|s| &s.figures).next().expect("a figure");
        let Chart::Bars(chart) = &figure.views[0].chart else { panic!("names have no distances: {figure:?}") };
        assert_eq!(chart.categories, ["reno", "dctcp"]);
        assert!(chart.series.iter().all(|b| b.value.len() == 2 && b.value.iter().all(Option::is_some)), "{chart:?}");
    }

    #[test]
    fn an_empty_sweep_has_a_page() {
        assert!(page(&Sweep::default()).sections.iter().all(|s| s.figures.is_empty()));
    }
}
