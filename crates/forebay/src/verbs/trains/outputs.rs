//! Files that `forebay trains` writes: CSV tables, and scenarios with their lists.

use crate::new_file::{failed, free, illegal_name, put, scenario_name};
use crate::terminal::failure::Failure;
use crate::terminal::output::warn;
use forebay_formats::trains::{
    ConnectionRow, FILES, FlowList, HostNames, Incast, Message, Network, Resample, Sink, Summary, Tables, Train, replay_scenario,
    resample_scenario,
};
use forebay_platform::files;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Permission bits of files with addresses.
const MODE: Option<u32> = Some(0o600);

/// The directory of the CSV tables.
pub(super) struct CsvFolder {
    dir: PathBuf,
}

impl CsvFolder {
    /// Checks that the tables can be written, before the captures are read.
    pub(super) fn new(dir: &Path, force: bool) -> Result<CsvFolder, Failure> {
        FILES.iter().try_for_each(|name| free(&dir.join(name), force))?;
        Ok(CsvFolder { dir: dir.to_owned() })
    }

    /// Creates the tables under temporary names.
    pub(super) fn begin(&self, names: HostNames) -> Result<CsvTables, Failure> {
        let mut created = Vec::new();
        let mut open = |name: &'static str| {
            let path = self.dir.join(name);
            files::remove_unfinished_at(&path);
            let (file, temporary) = files::create_beside(&path, MODE)?;
            created.push((Temporary(temporary), path));
            Ok(file)
        };
        let tables = fs::create_dir_all(&self.dir).and_then(|()| Tables::create(&mut open, names));
        let tables = tables.map_err(|e| failed(&self.dir, &e))?;
        Ok(CsvTables { tables, files: created })
    }

    /// Completes all tables, gives them their final names, and returns their paths.
    pub(super) fn finish(&self, all: CsvTables, summary: &Summary) -> Result<Vec<PathBuf>, Failure> {
        all.tables.finish(summary).map_err(|(name, e)| failed(&self.dir.join(name), &e))?;
        let rename = |(temporary, path): (Temporary, PathBuf)| {
            fs::rename(&temporary.0, &path).map_err(|e| failed(&path, &e))?;
            Ok(path)
        };
        all.files.into_iter().map(rename).collect()
    }
}

/// Tables that are being written, with the temporary and the final name of each.
pub(super) struct CsvTables {
    tables: Tables,
    files: Vec<(Temporary, PathBuf)>,
}

impl Sink for CsvTables {
    fn train(&mut self, train: &Train) {
        self.tables.train(train);
    }

    fn connection(&mut self, connection: &ConnectionRow) {
        self.tables.connection(connection);
    }

    fn incast(&mut self, incast: &Incast) {
        self.tables.incast(incast);
    }
}

/// A list of flows that is being written, under a temporary name.
pub(super) struct List {
    flows: FlowList<BufWriter<File>>,
    temporary: Temporary,
}

/// A file that is removed unless it gets its final name.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename there is none.
        let _ = fs::remove_file(&self.0);
    }
}

impl Sink for List {
    fn begin(&mut self, first_ns: u64) {
        self.flows.begin(first_ns);
    }

    fn message(&mut self, message: &Message) {
        self.flows.message(message);
    }
}

/// A scenario, and the file beside it.
pub(super) struct ScenarioFile {
    scenario: PathBuf,
    beside: PathBuf,
}

impl ScenarioFile {
    /// Checks that both files can be written, before the captures are read.
    pub(super) fn new(scenario: &Path, resample: bool, force: bool) -> Result<ScenarioFile, Failure> {
        let beside = scenario.with_extension(if resample { "cdf" } else { "csv" });
        if scenario == beside || scenario_name(&beside).is_none() {
            return Err(illegal_name(scenario));
        }
        free(scenario, force)?;
        free(&beside, force)?;
        Ok(ScenarioFile { scenario: scenario.to_owned(), beside })
    }

    /// Creates the list of flows under a temporary name.
    pub(super) fn begin_list(&self, names: HostNames) -> Result<List, Failure> {
        files::remove_unfinished_at(&self.beside);
        let (file, temporary) = files::create_beside(&self.beside, MODE).map_err(|e| failed(&self.beside, &e))?;
        Ok(List { flows: FlowList::new(BufWriter::with_capacity(1 << 16, file), names), temporary: Temporary(temporary) })
    }

    /// Completes the list, and writes the scenario that replays it.
    pub(super) fn finish_list(
        &self,
        list: List,
        summary: &Summary,
        names: &HostNames,
        rate: &str,
    ) -> Result<Vec<PathBuf>, Failure> {
        let replay = list.flows.finish().map_err(|e| failed(&self.beside, &e))?;
        if replay.within_host > 0 {
            warn(&format!("{} messages between two ports of one host are not in the scenario", replay.within_host));
        }
        if replay.flows == 0 {
            return Err(nothing());
        }
        fs::rename(&list.temporary.0, &self.beside).map_err(|e| failed(&self.beside, &e))?;
        self.write(&replay_scenario(summary, &replay, &self.network(names, rate), &self.beside_name()))
    }

    /// Writes the table of sizes, and the scenario that draws from it.
    pub(super) fn write_resampled(
        &self,
        resample: &Resample,
        summary: &Summary,
        names: &HostNames,
        rate: &str,
    ) -> Result<Vec<PathBuf>, Failure> {
        if resample.messages() == 0 {
            return Err(nothing());
        }
        if resample.dropped() > 0 {
            warn(&format!(
                "{} messages are between pairs of hosts beyond the first 4096, which the scenario leaves out",
                resample.dropped()
            ));
        }
        put(&self.beside, &resample.size_table(), MODE)?;
        self.write(&resample_scenario(summary, resample, &self.network(names, rate), &self.beside_name()))
    }

    fn beside_name(&self) -> String {
        self.beside.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn network(&self, names: &HostNames, rate: &str) -> Network {
        let name = scenario_name(&self.scenario).unwrap_or_default();
        Network { rate: rate.to_owned(), names: names.clone(), name }
    }

    fn write(&self, text: &str) -> Result<Vec<PathBuf>, Failure> {
        put(&self.scenario, text, MODE)?;
        Ok(vec![self.beside.clone(), self.scenario.clone()])
    }
}

fn nothing() -> Failure {
    Failure::Usage("the captures have no data between two hosts, so there is no scenario to write".into())
}
