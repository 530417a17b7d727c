//! Loading of a [`Scenario`] from a path or a text, with overrides, before checks.

use crate::text::doc::{self, TomlTable};
use crate::text::error::{Errors, Sink};
use crate::text::keys::Leaf;
use crate::text::set;
use crate::text::source::Source;
use forebay_experiment::worlds::Worlds;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum size of a scenario file, bytes. Flow lists and size tables are files of their own.
pub(crate) const MAX_FILE: u64 = 16_000_000;

/// Scenario with correct syntax, before checks.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Backends, congestion controls and shims that it may name.
    pub(crate) worlds: &'static Worlds,
    pub(crate) root: TomlTable,
    pub(crate) sources: Vec<Arc<Source>>,
    /// Folder that file names in the scenario are relative to.
    pub(crate) base: PathBuf,
    /// Default name.
    pub(crate) stem: String,
    /// `--seed`.
    pub(crate) seed: Option<u64>,
    /// Axes of a sweep beside those of the file.
    pub(crate) axes: Vec<Leaf>,
    /// Point of a sweep, for errors.
    pub(crate) point: Option<String>,
}

/// Reads a scenario file, which may name entries of `worlds`, and applies `--set` and `--seed`.
///
/// # Errors
/// A file that cannot be read (missing, a directory, above 16 MB, not UTF-8), TOML syntax, and overrides that lead nowhere.
pub fn load(worlds: &'static Worlds, path: &Path, sets: &[String], seed: Option<u64>) -> Result<Scenario, Errors> {
    let text = read(path, "scenario file").map_err(|message| {
        let help =
            path.extension().is_none().then(|| "a scenario is a TOML file; scenarios/quickstart.toml is an example".to_owned());
        Errors::whole(message, help)
    })?;
    parse(worlds, text, &path.display().to_string(), path, sets, seed)
}

impl Scenario {
    /// Text of the file, without overrides.
    pub fn text(&self) -> &str {
        self.sources.first().map_or("", |s| s.text())
    }

    /// Document with its overrides, unchecked. Dates and integers beyond 64 bits, which no key accepts, become texts.
    pub fn document(&self) -> serde_json::Value {
        self.root.json()
    }

    /// Reads a scenario, which may name entries of `worlds`, from a text, with `name` for errors; file names in it are relative to `base`.
    ///
    /// # Errors
    /// As of [`load`], without those of the file system.
    pub fn from_text(
        worlds: &'static Worlds,
        text: &str,
        name: &str,
        base: &Path,
        sets: &[String],
        seed: Option<u64>,
    ) -> Result<Scenario, Errors> {
        parse(worlds, text.to_owned(), name, &base.join(name), sets, seed)
    }

    /// Removes `[stop]`, for a backend that cannot end a run.
    pub fn remove_stop(&mut self) {
        self.root.items.retain(|item| item.key != "stop");
    }

    /// Adds an axis to the scenario's sweep: `topology.senders=[8, 16]`. It replaces the axis of the same key in the grid.
    ///
    /// # Errors
    /// A text that is not a key with a list.
    pub fn add_axis(&mut self, text: &str) -> Result<(), Errors> {
        let mut sink = Sink::new(self.sources.clone());
        let leaf = set::axis(text, &mut sink);
        self.sources = sink.sources().to_vec();
        let leaf = sink.finish(leaf)?;
        self.axes.retain(|l| l.key != leaf.key);
        self.axes.push(leaf);
        Ok(())
    }
}

fn parse(
    worlds: &'static Worlds,
    text: String,
    name: &str,
    path: &Path,
    sets: &[String],
    seed: Option<u64>,
) -> Result<Scenario, Errors> {
    if text.len() as u64 > MAX_FILE {
        return Err(Errors::whole(format!("{name}: {} bytes; a scenario file has at most {MAX_FILE}", text.len()), None));
    }
    // Editors on Windows write a byte order mark, which TOML does not allow.
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    let source = Arc::new(Source::new(name, text));
    let mut sink = Sink::new(vec![source.clone()]);
    let mut root = doc::parse(source.text(), 0, &mut sink);
    if sink.is_empty() {
        for text in sets {
            set::apply(&mut root, text, &mut sink);
        }
    }
    let sources = sink.sources().to_vec();
    let scenario = Scenario {
        worlds,
        root,
        sources,
        base: path.parent().map(Path::to_path_buf).unwrap_or_default(),
        stem: path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default(),
        seed,
        axes: Vec::new(),
        point: None,
    };
    sink.finish(Some(scenario))
}

/// Reads the text of a file.
pub(crate) fn read(path: &Path, what: &str) -> Result<String, String> {
    let shown = path.display();
    let fail = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::NotFound => format!("{shown}: there is no such {what}"),
        _ => format!("{shown}: the {what} cannot be read: {e}"),
    };
    let meta = std::fs::metadata(path).map_err(fail)?;
    if meta.is_dir() {
        return Err(format!("{shown} is a directory, not a {what}"));
    }
    // A shell's `<(command)` and standard input have a writer. A named pipe may have none, and reading it could block without end.
    let open = ["/dev/stdin", "/dev/fd", "/proc/self/fd"].iter().any(|p| path.starts_with(p));
    if !meta.is_file() && !open {
        return Err(format!("{shown} is a pipe, a socket or a device, not a {what}: copy it to a file"));
    }
    let too_large = || format!("{shown}: the {what} has more than {MAX_FILE} bytes");
    if meta.len() > MAX_FILE {
        return Err(too_large());
    }
    // Pipes and devices have no length: the read is limited.
    let mut bytes = Vec::new();
    File::open(path).map_err(fail)?.take(MAX_FILE + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = good.iter().filter(|b| **b == b'\n').count() + 1;
        format!("{shown}:{line}: the {what} is not UTF-8 text (byte {})", good.len())
    })
}
