//! What a report says, as plain data: made from results on one side, drawn as HTML on the other.
//!
//! Charts travel into the page as JSON (`data.figures[id]`) and are drawn there; everything else is text that needs no script.
//! All values are in SI units (seconds, bits per second, bytes) or counts; whoever draws chooses the prefix from [`Dimension`].
//! In texts, help, notes and meanings backticks enclose code.

pub use forebay_analysis::{Cell, Dimension, Grid, GridCell, Headline, HeadlineChart};
use serde::Serialize;

/// Everything a report shows, in the order in which it is read.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Page {
    /// Name of the scenario, or of all that are compared.
    pub title: String,
    /// One line about what was run: "3 transports, 3 seeds each, 20 s of simulated time".
    pub summary: String,
    /// Where the numbers come from: fingerprint, version, start, machine, speed.
    pub facts: Vec<Fact>,
    /// Remarks about how the scenario was read.
    pub notes: Vec<String>,
    /// What is compared. Everything else refers to subjects by index, which is also their colour.
    pub subjects: Vec<Subject>,
    /// The comparison in words and one picture.
    pub headline: Headline,
    /// All numbers.
    pub table: MetricTable,
    /// Charts by subject matter.
    pub sections: Vec<Section>,
    /// What was run, to the last default.
    pub scenarios: Vec<ScenarioText>,
    /// What the numbers mean.
    pub glossary: Vec<Term>,
}

/// A label and what it is.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Fact {
    /// Such as "fingerprint".
    pub label: String,
    /// Its value, ready to print.
    pub value: String,
}

/// One of the things that are compared: a transport group of a variant of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Subject {
    /// Name, unique in the page.
    pub name: String,
}

/// All numbers of all subjects.
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
    /// What it is, one sentence.
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

/// Figures about one matter.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Section {
    /// Anchor, such as `queue`.
    pub id: String,
    /// Heading.
    pub title: String,
    /// What there is to see; may be empty.
    pub text: String,
    /// Tables before the figures.
    pub grids: Vec<TitledGrid>,
    /// The figures.
    pub figures: Vec<Figure>,
}

/// A picture, of which there may be several views to choose from.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Figure {
    /// Unique in the page; letters, digits and `-`.
    pub id: String,
    /// Heading.
    pub title: String,
    /// How to read it.
    pub text: String,
    /// What the views differ in ("size bins", "seed", "port"); empty with a single view.
    pub choice: String,
    /// At least one; the first is shown at the start.
    pub views: Vec<View>,
}

/// One of a figure's views.
#[derive(Debug, Clone, Serialize)]
pub struct View {
    /// Name in the list of views.
    pub name: String,
    /// What it shows.
    pub chart: Chart,
}

/// A chart, by how it is drawn.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Chart {
    /// Panels over one time axis, with zoom.
    Time(TimeChart),
    /// Lines over a common axis: cumulative distributions, curves of a sweep.
    Lines(LineChart),
    /// Groups of bars.
    Bars(BarChart),
    /// The network.
    Topology(Topology),
}

/// Panels over one time axis in seconds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TimeChart {
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// What was done to long series, such as "each point is the extreme of 5 ms"; empty when nothing was.
    pub note: String,
}

/// One panel.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Panel {
    /// What is drawn upward.
    pub title: String,
    /// Its unit.
    #[serde(serialize_with = "forebay_analysis::by_name")]
    pub unit: Dimension,
    /// The lines.
    pub lines: Vec<TimeLine>,
    /// Things that happened, drawn along the panel's lower edge.
    pub events: Vec<Events>,
    /// Values to compare with, drawn across the panel.
    pub thresholds: Vec<Threshold>,
}

/// A value that a quantity is compared with.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Threshold {
    /// What it is, such as "K".
    pub name: String,
    /// In the unit of the panel.
    pub value: f64,
}

/// A quantity over time.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TimeLine {
    /// Index of the subject; `None` for what belongs to no single one.
    pub subject: Option<usize>,
    /// Name in legend and hover, such as "dctcp, connection 3".
    pub label: String,
    /// When each value was read.
    pub at: Times,
    /// The values (of a reduced series the largest of each bucket); `None` is a gap.
    pub y: Vec<Option<f64>>,
    /// Of a reduced series the smallest of each bucket; empty otherwise.
    pub low: Vec<Option<f64>>,
}

/// Points in time, seconds.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Times {
    /// `from`, `from + step`, ...: as many as there are values.
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

/// Things that happened, counted in short intervals.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Events {
    /// Index of the subject; `None` for what belongs to no single one.
    pub subject: Option<usize>,
    /// Name in legend and hover, such as "dctcp timeouts".
    pub label: String,
    /// `mark`, `drop` or `timeout`: each has a symbol of its own.
    pub kind: EventKind,
    /// Middle of each interval in which something happened, seconds.
    pub at: Vec<f64>,
    /// How often it happened in that interval.
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
    /// A retransmission timer ran out.
    Timeout,
}

/// An axis.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Axis {
    /// What it shows.
    pub title: String,
    /// Unit of its values.
    #[serde(serialize_with = "forebay_analysis::by_name")]
    pub unit: Dimension,
    /// Whether it is logarithmic; its values are above 0 then.
    pub log: bool,
}

/// Lines over a common axis.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LineChart {
    /// To the right.
    pub x: Axis,
    /// Upward.
    pub y: Axis,
    /// Whether the points themselves are drawn: few points that were measured, rather than many of a distribution.
    pub points: bool,
    /// The lines.
    pub lines: Vec<XyLine>,
}

/// One line.
#[derive(Debug, Clone, Default, Serialize)]
pub struct XyLine {
    /// Index of the subject; `None` for what belongs to no single one.
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
    /// Drawn with dashes, to tell lines of one subject apart.
    pub dash: bool,
}

/// Groups of bars.
#[derive(Debug, Clone, Default, Serialize)]
pub struct BarChart {
    /// What the categories are, such as "size of the message".
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
    /// What the mark is, such as "p99".
    pub mark_name: String,
    /// How many messages a bar stands for.
    pub n: Vec<u64>,
}

/// The network, with what its links did.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Topology {
    /// Nodes, laid out in the unit square, y downward.
    pub nodes: Vec<Node>,
    /// Directed links.
    pub links: Vec<Link>,
    /// Of each run the index of its first subject, whose numbers are those of all that share its links;
    pub subjects: Vec<usize>,
    /// and its name.
    pub labels: Vec<String>,
    /// What was left out or drawn together, such as "40 hosts are drawn as one"; may be empty.
    pub note: String,
}

/// A node.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Node {
    /// Name, or a range of names.
    pub name: String,
    /// How many nodes it stands for.
    pub count: u64,
    /// Whether it is a switch.
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
    /// How many links it stands for.
    pub count: u64,
    /// Rate of each, bit/s.
    pub rate_bps: f64,
    /// Fraction of time it transmitted, for each subject's run (mean over seeds; of several links the busiest).
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
    /// What the command line changed in it.
    pub overrides: Vec<String>,
    /// Name of each variant, and the scenario with every default written out, as TOML.
    pub resolved: Vec<(String, String)>,
}

/// A word of the page and what it means.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Term {
    /// The word.
    pub name: String,
    /// Its unit; may be empty.
    pub unit: String,
    /// What it means.
    pub text: String,
}
