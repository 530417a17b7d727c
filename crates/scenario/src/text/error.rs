//! Errors with positions. All errors of a file are reported, not only the first.

use crate::text::message_text::{plain, plain_lines, short};
use crate::text::source::{At, Source};
use miette::{Diagnostic, LabeledSpan, SourceCode};
use std::fmt::{self, Write as _};
use std::sync::Arc;

/// Maximum number of listed errors of a file; further ones are counted.
const MAX_LISTED: usize = 50;

/// Maximum number of counted errors.
const MAX_COUNTED: usize = 1000;

/// Error in a scenario: message, position, and the legal values.
#[derive(Debug, Clone)]
pub struct ScenarioError {
    message: String,
    label: String,
    help: Option<String>,
    place: Option<(Arc<Source>, usize, usize)>,
}

impl ScenarioError {
    /// Error of a file as a whole.
    pub(crate) fn whole(message: impl Into<String>, help: Option<String>) -> ScenarioError {
        ScenarioError {
            message: plain_lines(&message.into()),
            label: String::new(),
            help: help.map(|h| plain_lines(&h)),
            place: None,
        }
    }

    /// Message.
    pub fn message(&self) -> &str {
        &self.message
    }
    /// Advice.
    pub fn help(&self) -> Option<&str> {
        self.help.as_deref()
    }
    /// Name of the file (or `--set`), if the error has a position.
    pub fn file(&self) -> Option<&str> {
        self.place.as_ref().map(|p| p.0.name())
    }
    /// One-based line and column, if the error has a position.
    pub fn line_column(&self) -> Option<(usize, usize)> {
        self.place.as_ref().map(|(s, start, _)| s.line_column(*start))
    }

    /// Error with its line, like that of a compiler, without colors.
    pub fn render(&self) -> String {
        let mut out = format!("error: {}\n", self.message);
        let mut gutter = 1;
        if let Some((source, start, end)) = &self.place {
            let (line, column) = source.line_column(*start);
            let (from, to, left, right) = source.excerpt(*start, *end);
            let number = line.to_string();
            gutter = number.len();
            let (text, dots) = (&source.text()[from..to], |cut| if cut { "..." } else { "" });
            let shown = |s: &str| plain(&s.replace('\t', " "));
            let indent = source.text()[from..(*start).max(from)].chars().count() + dots(left).len();
            let width = source.text()[*start..(*end).max(*start)].chars().count().max(1);
            let _ = writeln!(out, "{:gutter$}--> {}:{line}:{column}", "", plain(source.name()));
            let _ = writeln!(out, "{:gutter$} |", "");
            let _ = writeln!(out, "{number} | {}{}{}", dots(left), shown(text), dots(right));
            let _ = writeln!(out, "{:gutter$} | {:indent$}{} {}", "", "", "^".repeat(width), self.label);
        }
        for line in self.help.iter().flat_map(|h| h.lines()) {
            let _ = writeln!(out, "{:gutter$} = {line}", "");
        }
        out
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScenarioError {}

impl Diagnostic for ScenarioError {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place.as_ref().map(|p| &*p.0 as &dyn SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let (_, start, end) = self.place.as_ref()?;
        Some(Box::new(std::iter::once(LabeledSpan::new(Some(self.label.clone()), *start, end - start))))
    }
}

/// Adds a line to the help for each override that the shown text lacks.
fn with_replaced(help: Option<String>, replaced: Vec<String>) -> Option<String> {
    let lines: Vec<String> = help.into_iter().chain(replaced).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// All errors of a scenario, in the order of the file.
#[derive(Debug, Clone)]
pub struct Errors {
    list: Vec<ScenarioError>,
}

impl Errors {
    /// Single error of a file as a whole.
    pub(crate) fn whole(message: impl Into<String>, help: Option<String>) -> Errors {
        Errors { list: vec![ScenarioError::whole(message, help)] }
    }

    /// Adds a line of help to all errors.
    pub(crate) fn with_help(mut self, line: &str) -> Errors {
        for e in &mut self.list {
            e.help = Some(e.help.take().map_or(line.to_owned(), |h| format!("{h}\n{line}")));
        }
        self
    }

    /// Merges the errors of several readings of a scenario, such as of the points of a sweep, without duplicates.
    pub fn merged(all: impl IntoIterator<Item = Errors>) -> Errors {
        let mut list: Vec<ScenarioError> = Vec::new();
        for e in all.into_iter().flat_map(|errors| errors.list) {
            if list.len() < MAX_COUNTED && !list.iter().any(|o| o.message == e.message && o.place == e.place) {
                list.push(e);
            }
        }
        Errors { list }
    }

    /// The errors.
    pub fn list(&self) -> &[ScenarioError] {
        &self.list
    }

    /// All errors as [`ScenarioError::render`] shows them.
    pub fn render(&self) -> String {
        let mut out: Vec<String> = self.list.iter().take(MAX_LISTED).map(ScenarioError::render).collect();
        if self.list.len() > MAX_LISTED {
            out.push(format!("and {} more errors\n", self.list.len() - MAX_LISTED));
        }
        out.join("\n")
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.list.len() {
            1 => f.write_str("the scenario has an error"),
            n => write!(f, "the scenario has {n} errors"),
        }
    }
}

impl std::error::Error for Errors {}

impl Diagnostic for Errors {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.list.iter().take(MAX_LISTED).map(|e| e as &dyn Diagnostic)))
    }
}

/// Collector of errors while a scenario is read.
#[derive(Debug)]
pub(crate) struct Sink {
    sources: Vec<Arc<Source>>,
    list: Vec<(At, ScenarioError)>,
}

impl Sink {
    pub(crate) fn new(sources: Vec<Arc<Source>>) -> Sink {
        Sink { sources, list: Vec::new() }
    }

    /// Adds a source and returns its index.
    pub(crate) fn add_source(&mut self, source: Source) -> u32 {
        self.sources.push(Arc::new(source));
        self.sources.len() as u32 - 1
    }

    pub(crate) fn sources(&self) -> &[Arc<Source>] {
        &self.sources
    }

    /// Reports `message` at a position. `label` is shown under the line, `help` below.
    pub(crate) fn error(
        &mut self,
        at: At,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<Option<String>>,
    ) {
        let (message, label) = (plain_lines(&message.into()), plain_lines(&label.into()));
        // Each variant of the scenario reports the same error.
        if self.list.len() >= MAX_COUNTED || self.list.iter().any(|(a, e)| *a == at && e.message == message) {
            return;
        }
        let help = with_replaced(help.into(), self.replaced_on_line(at)).map(|h| plain_lines(&h));
        let place = self.sources.get(at.source as usize).map(|s| {
            let (start, end) = s.label(at.start as usize, at.end as usize);
            (s.clone(), start, end)
        });
        self.list.push((at, ScenarioError { message, label, help, place }));
    }

    /// Records that `--set` number `by` replaces the text at `at`.
    pub(crate) fn replaced(&mut self, by: u32, at: At) {
        if let Some(source) = self.sources.get_mut(by as usize).filter(|_| by != at.source) {
            Arc::make_mut(source).add_replaced(at);
        }
    }

    /// Lists the `--set`s that changed the line that is shown with an error at `at`; the line is shown without them.
    fn replaced_on_line(&self, at: At) -> Vec<String> {
        let Some(shown) = self.sources.get(at.source as usize) else { return Vec::new() };
        let line = |place: u32| shown.line_column(place as usize).0;
        let beside = |old: &&At| old.source == at.source && line(old.start) <= line(at.start) && line(at.start) <= line(old.end);
        let describe = |set: &Arc<Source>| {
            let old = set.replaced().iter().find(beside)?;
            let text = shown.text().get(old.start as usize..old.end as usize)?;
            Some(format!("`{}` in this line is replaced by --set {}", short(text), short(set.text())))
        };
        self.sources.iter().filter_map(describe).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Text from a position to the end of its source; empty for an unknown source.
    pub(crate) fn text_at(&self, at: At) -> &str {
        self.sources.get(at.source as usize).and_then(|s| s.text().get(at.start as usize..)).unwrap_or("")
    }

    /// Returns the errors in the order of the file, or `value` if there are none.
    pub(crate) fn finish<T>(mut self, value: Option<T>) -> Result<T, Errors> {
        self.list.sort_by_key(|(at, _)| *at);
        let list: Vec<ScenarioError> = self.list.into_iter().map(|e| e.1).collect();
        match value {
            Some(v) if list.is_empty() => Ok(v),
            _ if list.is_empty() => {
                Err(Errors::whole("the scenario could not be resolved without a reported error: please report this defect", None))
            }
            _ => Err(Errors { list }),
        }
    }
}
