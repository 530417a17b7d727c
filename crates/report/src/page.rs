//! Content of a report as plain data, between results and HTML.
//!
//! Charts are embedded as JSON (`data.figures[id]`) and drawn by the script; everything else is text that needs no script. All values are in SI
//! units (seconds, bits per second, bytes) or counts; the renderer chooses the prefix from [`Dimension`]. In texts, help, notes and meanings
//! backticks enclose code.

pub use forebay_analysis::{Cell, Change, Differences, Dimension, Grid, GridCell, Headline, HeadlineChart, Quantity};
use serde::Serialize;

/// A whole report, in reading order.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Page {
    /// Name of the scenario, or of all that are compared.
    pub title: String,
    /// One line about the runs: "3 transports, 3 seeds each, 20 s of simulated time".
    pub summary: String,
    /// Origin of the numbers: fingerprint, version, start, machine, speed.
    pub facts: Vec<Fact>,
    /// Notes on the reading of the scenario.
    pub notes: Vec<String>,
    /// Compared subjects. Everything else refers to them by index, which also determines the color.
    pub subjects: Vec<Subject>,
    /// The comparison as sentences and one picture.
    pub headline: Headline,
    /// Differences of compared results from the first one; `None` for a single result.
    pub differences: Option<Differences>,
    /// Next steps, one sentence each.
    pub next: Vec<String>,
    /// Sections that are closed until the reader opens them, by their ids.
    pub folded: Vec<String>,
    /// All numbers.
    pub table: MetricTable,
    /// Charts by topic.
    pub sections: Vec<Section>,
    /// The scenario with all defaults.
    pub scenarios: Vec<ScenarioText>,
    /// Meaning of the numbers.
    pub glossary: Vec<Term>,
}

/// A label and its value.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Fact {
    /// Such as "fingerprint".
    pub label: String,
    /// Its value, formatted.
    pub value: String,
}

/// A compared subject: a transport group of a variant of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Subject {
    /// Name, unique in the page.
    pub name: String,
    /// Color and symbol; `None`: those of its index.
    #[serde(flatten)]
    pub style: Option<Style>,
}

/// Numbers of a color and of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Style {
    /// Color.
    pub hue: usize,
    /// Symbol.
    pub shape: usize,
}

impl Page {
    /// Color and symbol of a subject.
    pub fn style(&self, subject: usize) -> Style {
        let own = self.subjects.get(subject).and_then(|s| s.style);
        own.unwrap_or(Style { hue: subject, shape: subject })
    }
}

/// All metrics of all subjects.
#[derive(Debug, Clone, Default, Serialize)]
pub struct MetricTable {
    /// The lines.
    pub rows: Vec<MetricRow>,
}

/// One line of the table.
#[derive(Debug, Clone, Default, Serialize)]
pub struct MetricRow {
    /// Name of the metric.
    pub label: String,
    /// Unit of the values.
    #[serde(serialize_with = "forebay_analysis::by_name")]
    pub unit: Dimension,
    /// Meaning, one sentence.
    pub help: String,
    /// A value for each subject; `None` where it has none.
    pub cells: Vec<Option<Cell>>,
}

/// A table of texts.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TitledGrid {
    /// Heading; may be empty.
    pub title: String,
    /// The table.
    pub grid: Grid,
}

/// Figures about one topic.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Section {
    /// Anchor, such as `queue`.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Introduction; may be empty.
    pub text: String,
    /// Tables before the figures.
    pub grids: Vec<TitledGrid>,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// A figure with one or several views.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Figure {
    /// Unique in the page; letters, digits and `-`.
    pub id: String,
    /// Heading.
    pub title: String,
    /// Explanation.
    pub text: String,
    /// Quantity in which the views differ ("size bins", "seed", "port"); empty with a single view.
    pub choice: String,
    /// At least one; the first is shown at the start.
    pub views: Vec<View>,
}

/// One of a figure's views.
#[derive(Debug, Clone, Serialize)]
pub struct View {
    /// Name in the list of views.
    pub name: String,
    /// Shown quantity.
    pub chart: Chart,
}

/// A chart, by its kind.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Chart {
    /// Panels over one time axis, with zoom.
    Time(TimeChart),
    /// Lines over a common axis: cumulative distributions, curves of a sweep.
    Lines(LineChart),
    /// Groups of bars.
    Bars(BarChart),
    /// Messages and timers over time.
    Lanes(LaneChart),
    /// The network.
    Topology(Topology),
}

/// Panels over one time axis in seconds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TimeChart {
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// Note on reduced series, such as "each point is the extreme of 5 ms"; empty without reduction.
    pub note: String,
}

/// One panel.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Panel {
    /// Quantity of the y axis.
    pub title: String,
    /// Its unit.
    #[serde(serialize_with = "forebay_analysis::by_name")]
    pub unit: Dimension,
    /// The lines.
    pub lines: Vec<TimeLine>,
    /// Events, drawn along the panel's lower edge.
    pub events: Vec<Events>,
    /// Reference values, drawn across the panel.
    pub thresholds: Vec<Threshold>,
    /// True for a panel that is more than twice as high as others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tall: bool,
}

/// A reference value.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Threshold {
    /// Name, such as "K".
    pub name: String,
    /// In the unit of the panel.
    pub value: f64,
}

/// A quantity over time.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TimeLine {
    /// Index of the subject; `None` for a line without a single subject.
    pub subject: Option<usize>,
    /// Name in legend and hover, such as "dctcp, connection 3".
    pub label: String,
    /// Time of each value.
    pub at: Times,
    /// The values (for a reduced series the largest of each interval); `None` is a gap.
    pub y: Vec<Option<f64>>,
    /// For a reduced series the smallest of each interval, and the lower ends of strokes; empty otherwise.
    pub low: Vec<Option<f64>>,
    /// True for a vertical stroke at each time, from `low` to `y`, instead of a line.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub strokes: bool,
}

/// Points in time, seconds.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Times {
    /// `from`, `from + step`, ...: one for each value.
    Even {
        /// The first.
        from: f64,
        /// Distance.
        step: f64,
    },
    /// Each for itself.
    List(Vec<f64>),
}

impl Default for Times {
    fn default() -> Times {
        Times::List(Vec::new())
    }
}

/// Events, counted in short intervals.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Events {
    /// Index of the subject; `None` for events without a single subject.
    pub subject: Option<usize>,
    /// Name in legend and hover, such as "dctcp timeouts".
    pub label: String,
    /// Kind, which determines the symbol.
    pub kind: EventKind,
    /// Middle of each interval with events, seconds.
    pub at: Vec<f64>,
    /// Number of events in that interval.
    pub n: Vec<u64>,
}

/// Kind of an event.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A congestion mark was set.
    Mark,
    /// A packet was dropped.
    #[default]
    Drop,
    /// A retransmission timer fired.
    Timeout,
}

/// An axis.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Axis {
    /// Shown quantity.
    pub title: String,
    /// Unit of its values.
    #[serde(serialize_with = "forebay_analysis::by_name")]
    pub unit: Dimension,
    /// True for a logarithmic axis; its values are above 0.
    pub log: bool,
}

/// Lines over a common axis.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LineChart {
    /// To the right.
    pub x: Axis,
    /// Upward.
    pub y: Axis,
    /// True to draw the points: few measured points, not the many points of a distribution.
    pub points: bool,
    /// The lines.
    pub lines: Vec<XyLine>,
}

/// One line.
#[derive(Debug, Clone, Default, Serialize)]
pub struct XyLine {
    /// Index of the subject; `None` for a line without a single subject.
    pub subject: Option<usize>,
    /// Name in legend and hover.
    pub label: String,
    /// Ascending.
    pub x: Vec<f64>,
    /// As many.
    pub y: Vec<Option<f64>>,
    /// Lower edge of the confidence band; empty without one.
    pub low: Vec<Option<f64>>,
    /// Upper edge.
    pub high: Vec<Option<f64>>,
    /// Drawn as steps: each value holds up to the next x.
    pub step: bool,
    /// Drawn with dashes, to distinguish lines of one subject.
    pub dash: bool,
    /// Interval of x of each point, drawn as a horizontal stroke; empty without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub x_ends: Vec<(f64, f64)>,
    /// Interval of y of each point, drawn as a vertical stroke; empty without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub y_ends: Vec<(f64, f64)>,
    /// Text beside its points, which get a ring; empty without one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub mark: String,
}

/// Groups of bars.
#[derive(Debug, Clone, Default, Serialize)]
pub struct BarChart {
    /// Meaning of the categories, such as "size of the message".
    pub x_title: String,
    /// Upward.
    pub y: Axis,
    /// Names of the groups.
    pub categories: Vec<String>,
    /// The bars of each subject.
    pub series: Vec<Bars>,
}

/// The bars of one subject, one for each category.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Bars {
    /// Index of the subject.
    pub subject: usize,
    /// Heights; `None`: no bar.
    pub value: Vec<Option<f64>>,
    /// A mark within or above the bar, such as the 99th percentile over a median; empty without.
    pub mark: Vec<Option<f64>>,
    /// Meaning of the mark, such as "p99".
    pub mark_name: String,
    /// True where the height is a lower bound, because messages were still running; empty without such heights.
    pub value_at_least: Vec<bool>,
    /// The same for the mark.
    pub mark_at_least: Vec<bool>,
    /// Number of messages per bar; `None` where it has no meaning.
    pub n: Vec<Option<u64>>,
    /// Interval of each height, drawn as a vertical stroke; empty without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ends: Vec<Option<(f64, f64)>>,
}

/// Messages of one query or connection over time, in lanes.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LaneChart {
    /// Index of the subject, which determines the color.
    pub subject: usize,
    /// Identity of the query or message, its time and its main cause of delay.
    pub caption: String,
    /// Command that prints more.
    pub command: String,
    /// From top to bottom.
    pub lanes: Vec<TimelineRow>,
    /// Time from the start to the end of the query or message, s.
    pub length: f64,
}

/// A lane of a timeline.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TimelineRow {
    /// Name, such as that of the server.
    pub name: String,
    /// Messages, each followed by its timers.
    pub spans: Vec<Span>,
}

/// A part of a lane.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Span {
    /// Kind, which determines the shape.
    pub kind: SpanKind,
    /// Start, s since the start of the query or message.
    pub from: f64,
    /// End.
    pub to: f64,
    /// True for a message that the end of the run interrupted.
    pub unfinished: bool,
    /// Explanation, one line each.
    pub text: Vec<String>,
}

/// Kind of a part of a lane.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SpanKind {
    /// A request of a query.
    Request,
    /// A response.
    Response,
    /// A message outside queries.
    #[default]
    Message,
    /// The retransmission timer, which expired at the end.
    Timeout,
    /// The timer of a tail loss probe.
    Probe,
    /// RACK's reordering timer.
    Reordering,
    /// The timer of a SYN.
    Syn,
}

/// Network picture with link statistics.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Topology {
    /// Nodes, laid out in the unit square, y downward.
    pub nodes: Vec<Node>,
    /// Directed links.
    pub links: Vec<Link>,
    /// For each run the index of its first subject, which stands for all subjects that share its links;
    pub subjects: Vec<usize>,
    /// and its name.
    pub labels: Vec<String>,
    /// Note on omitted or merged items, such as "40 hosts are drawn as one"; may be empty.
    pub note: String,
}

/// A node.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Node {
    /// Name, or a range of names.
    pub name: String,
    /// Number of nodes that it stands for.
    pub count: u64,
    /// True for a switch.
    pub switch: bool,
    /// To the right, 0 to 1.
    pub x: f64,
    /// Downward, 0 to 1.
    pub y: f64,
}

/// A directed link, or several drawn together.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Link {
    /// Index of a node.
    pub from: usize,
    /// Index of a node.
    pub to: usize,
    /// Name of the port.
    pub name: String,
    /// Number of links that it stands for.
    pub count: u64,
    /// Rate of each, bit/s.
    pub rate_bps: f64,
    /// Fraction of time it transmitted, for each subject's run (mean over seeds; for several links the busiest).
    pub utilization: Vec<f64>,
    /// Packets dropped, for each subject's run.
    pub drops: Vec<f64>,
    /// Marks set.
    pub marks: Vec<f64>,
    /// Largest queue, packets.
    pub queue_max: Vec<f64>,
}

/// A scenario as text.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ScenarioText {
    /// Name of the file.
    pub file: String,
    /// The file.
    pub text: String,
    /// Changes from the command line.
    pub overrides: Vec<String>,
    /// Name of each variant, and the scenario with all defaults, as TOML.
    pub resolved: Vec<(String, String)>,
}

/// A term of the page and its meaning.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Term {
    /// The word.
    pub name: String,
    /// Its unit; may be empty.
    pub unit: String,
    /// Meaning.
    pub text: String,
}
