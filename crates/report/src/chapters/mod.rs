//! Conversion of finished results to a [`Page`], without drawing or running anything.
//!
//! The input is the tables and the manifest of run directories, so that a directory can be reported at any time and in any table format. Equal
//! tables give equal pages.

mod cdf;
mod draft;
mod goodput;
mod overlay;
mod owner;
mod reduce;
mod sizes;
pub mod sweep;
mod sweep_answer;
mod sweep_choices;
mod sweep_data;
mod sweep_load;
mod sweep_other;
pub mod sweep_read;
mod sweep_shares;
mod table;
mod text;
mod time;
mod timeline;
mod topology;

pub use overlay::Overlay;

use crate::page::{Figure, Page, Section, Style, Subject, TitledGrid};
use forebay_analysis::{Data, Dimension, Grid, differences, directories, headline, ports, read, workloads};
use forebay_store::{RunDir, StoreError};

/// The page of a finished run, or of several runs that are compared, with measured series drawn over theirs.
///
/// # Errors
/// A directory without a summary, and tables that cannot be read.
pub fn page(dirs: &[RunDir], overlays: &[Overlay]) -> Result<Page, StoreError> {
    let data = read(dirs)?;
    let labels = directories(dirs);
    let mut page = from_data(&data, overlays);
    page.title = text::title(dirs);
    page.summary = text::summary(&data, dirs);
    page.facts = text::facts(dirs, &labels);
    page.notes = [text::notes(dirs, &labels), page.notes].concat();
    page.scenarios = text::scenarios(dirs);
    page.next = text::next(dirs);
    Ok(page)
}

/// The subjects of a page. Where several networks have several groups each, the color is that of the network and the symbol that of the group, so that
/// the same group of two results is compared at a glance.
fn subjects(data: &Data) -> Vec<Subject> {
    let groups = data.networks.iter().map(|n| n.groups);
    let both = data.networks.len() > 1 && groups.clone().all(|g| g > 1 && Some(g) == groups.clone().next());
    let style = |i: usize, network: usize| Style { hue: network, shape: i - data.networks[network].first };
    let one =
        |(i, s): (usize, &forebay_analysis::Subject)| Subject { name: s.name.clone(), style: both.then(|| style(i, s.network)) };
    data.subjects.iter().enumerate().map(one).collect()
}

/// The parts that follow from the tables alone.
fn from_data(data: &Data, overlays: &[Overlay]) -> Page {
    let mut page = Page {
        notes: data.notes.clone(),
        subjects: subjects(data),
        headline: headline(data),
        differences: differences(data),
        table: table::table(data),
        ..Page::default()
    };
    let (mut time, undrawn) = time::figures(data, overlays, reduce::BUDGET);
    page.notes.extend(undrawn);
    let mut cdfs = cdf::figures(data);
    let take = |figures: &mut Vec<Figure>, wanted: &dyn Fn(&str) -> bool| -> Vec<Figure> {
        let (taken, left) = std::mem::take(figures).into_iter().partition(|f| wanted(&f.id));
        *figures = left;
        taken
    };
    let mut queue = take(&mut time, &|id| id == "queue-over-time");
    queue.extend(take(&mut cdfs, &|id| id == "cdf-queue"));
    let mut waits = take(&mut cdfs, &|id| id == "cdf-queries" || id == "cdf-query-messages");
    let timeouts = take(&mut time, &|id| id == "timeouts-over-time");
    let goodput = take(&mut cdfs, &|id| id == "cdf-goodput");
    let (of_queries, mut of_flows): (Vec<Figure>, Vec<Figure>) =
        sizes::figures(data).into_iter().partition(|f| f.id.ends_with("-queries"));
    waits.extend(of_queries);
    of_flows.extend(cdfs);
    // Without queries the timeouts are those of messages.
    if waits.is_empty() && !of_flows.is_empty() {
        of_flows.extend(timeouts)
    } else {
        waits.extend(timeouts)
    }
    let (of_query, of_message) = timeline::figures(data);
    waits.splice(0..0, of_query);
    of_flows.splice(0..0, of_message);
    let over_time = take(&mut time, &|id| id == "goodput-over-time");
    section(&mut page, "queries", "Which queries were late, and why?", Vec::new(), waits);
    section(&mut page, "sizes", "How long did messages take?", Vec::new(), of_flows);
    let ports: Vec<Grid> = ports(data).into_iter().collect();
    let listed = !ports.is_empty();
    section(&mut page, "queue", "Where were the queues?", ports, queue);
    if let Some(s) = page.sections.last_mut().filter(|_| listed) {
        s.text = "Ports with most drops first, then by queue and marks; means over the seeds. Drops and marks count the packets of all \
                  transports that share the port. Ports without either and with less than 5 % utilization are omitted."
            .into();
    }
    let who: Vec<Grid> = workloads(data).into_iter().collect();
    let compared = !who.is_empty();
    section(&mut page, "workloads", "Who got the bandwidth?", who, over_time);
    if let Some(s) = page.sections.last_mut().filter(|_| compared) {
        s.text = "Each workload at its bottleneck port, of the ports that all its messages pass. Fairness is Jain's index over its endless \
                  flows, else over its senders."
            .into();
    }
    section(&mut page, "connections", "What limited each connection?", Vec::new(), [time, goodput].concat());
    section(&mut page, "network", "Network", Vec::new(), topology::figure(data).into_iter().collect());
    page.folded = folded(&page);
    page.glossary = text::glossary(&page);
    page
}

fn section(page: &mut Page, id: &str, title: &str, grids: Vec<Grid>, figures: Vec<Figure>) {
    if !figures.is_empty() || !grids.is_empty() {
        let grids = grids.into_iter().map(|grid| TitledGrid { title: String::new(), grid }).collect();
        page.sections.push(Section { id: id.into(), title: title.into(), grids, figures, ..Section::default() });
    }
}

/// The sections to fold: all but the one that explains the first chart of the headline, and that of messages where a subject is missing in it.
fn folded(page: &Page) -> Vec<String> {
    let first = page.headline.charts.first();
    let explains: &[&str] = match first.map(|c| c.unit) {
        Some(Dimension::BitsPerSecond | Dimension::Ratio) => &["workloads", "connections"],
        Some(Dimension::Packets) => &["queue"],
        _ => &["queries", "sizes"],
    };
    let ids = || page.sections.iter().map(|s| s.id.as_str());
    let mut open: Vec<&str> = explains.iter().copied().filter(|id| ids().any(|i| i == *id)).collect();
    if first.is_none_or(|c| c.values.iter().all(Option::is_some)) {
        open.truncate(1);
    }
    if open.is_empty() {
        open.extend(ids().next());
    }
    ids().filter(|id| !open.contains(id)).map(str::to_owned).collect()
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
