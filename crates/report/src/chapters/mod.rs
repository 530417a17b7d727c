//! Conversion of finished results to a [`Page`], without drawing or running anything.
//!
//! The input is the tables and the manifest of run directories, so that a directory can be reported at any time and in any table format. Equal
//! tables give equal pages.

mod cdf;
mod draft;
mod goodput;
mod owner;
mod reduce;
mod sizes;
pub mod sweep;
mod sweep_answer;
mod sweep_data;
mod sweep_load;
pub mod sweep_read;
mod table;
mod text;
mod time;
mod topology;

use crate::page::{Figure, Page, Section, Subject, TitledGrid};
use forebay_analysis::{Data, directories, headline, ports, read, workloads};
use forebay_store::{RunDir, StoreError};

/// The page of a finished run, or of several runs that are compared.
///
/// # Errors
/// A directory without a summary, and tables that cannot be read.
pub fn page(dirs: &[RunDir]) -> Result<Page, StoreError> {
    let data = read(dirs)?;
    let labels = directories(dirs);
    let mut page = from_data(&data);
    page.title = text::title(dirs);
    page.summary = text::summary(&data, dirs);
    page.facts = text::facts(dirs, &labels);
    page.notes = [text::notes(dirs, &labels), page.notes].concat();
    page.scenarios = text::scenarios(dirs);
    Ok(page)
}

/// The parts that follow from the tables alone.
fn from_data(data: &Data) -> Page {
    let mut page = Page {
        notes: data.notes.clone(),
        subjects: data.subjects.iter().map(|s| Subject { name: s.name.clone() }).collect(),
        headline: headline(data),
        table: table::table(data),
        ..Page::default()
    };
    let mut time = time::figures(data, reduce::BUDGET);
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
    waits.extend(timeouts);
    of_flows.extend(cdfs);
    let over_time = take(&mut time, &|id| id == "goodput-over-time");
    let who = workloads(data);
    if who.is_some() || !over_time.is_empty() {
        let text = "Each workload at its bottleneck port, of the ports that all its messages pass. Fairness is Jain's index over its endless \
                    flows, else over its senders.";
        let section = Section {
            id: "workloads".into(),
            title: "Bandwidth shares".into(),
            text: if who.is_some() { text.into() } else { String::new() },
            grids: who.into_iter().map(|grid| TitledGrid { title: String::new(), grid }).collect(),
            figures: over_time,
        };
        page.sections.push(section);
    }
    section(&mut page, "queries", "Queries and timeouts", waits);
    section(&mut page, "sizes", "Completion times by size", of_flows);
    if let Some(grid) = ports(data) {
        let text = "Ports with most drops first, then by queue and marks; means over the seeds. Drops and marks count the packets of all \
                    transports that share the port. Ports without either and with less than 5 % utilization are omitted.";
        let (id, title) = ("ports".into(), "Ports".into());
        let grids = vec![TitledGrid { title: String::new(), grid }];
        page.sections.push(Section { id, title, text: text.into(), grids, figures: Vec::new() });
    }
    section(&mut page, "queue", "Queue", queue);
    section(&mut page, "connections", "Connections", [time, goodput].concat());
    section(&mut page, "network", "Network", topology::figure(data).into_iter().collect());
    page.glossary = text::glossary(&page);
    page
}

fn section(page: &mut Page, id: &str, title: &str, figures: Vec<Figure>) {
    if !figures.is_empty() {
        page.sections.push(Section { id: id.into(), title: title.into(), figures, ..Section::default() });
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
