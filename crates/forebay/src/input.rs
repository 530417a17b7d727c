//! Scenario that a command works on: a file, and the changes on the command line.

use crate::terminal::failure::Failure;
use forebay_scenario::Scenario;
use std::path::{Path, PathBuf};

/// Environment variable with the folder of an installed package's examples.
const SHARE: &str = "FOREBAY_SHARE";

/// The file itself, or the example of the installed package if there is no such file and its name begins as that of an example.
pub(crate) fn resolve_path(file: &Path) -> PathBuf {
    let example = || {
        let share = std::env::var_os(SHARE).filter(|_| file.starts_with("scenarios") && !file.exists())?;
        Some(Path::new(&share).join(file)).filter(|path| path.is_file())
    };
    example().unwrap_or_else(|| file.to_owned())
}

/// Arguments that choose a scenario.
#[derive(Debug, clap::Args)]
pub(crate) struct Input {
    /// The scenario file
    pub file: PathBuf,
    /// Change a value of the file, such as topology.senders=64 (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Backend that runs it, instead of the file's: see `forebay list worlds`
    #[arg(long, value_name = "NAME")]
    pub world: Option<String>,
    /// Kernel of the backend linux, by version or name: see `forebay kernel list`
    #[arg(long, value_name = "NAME")]
    pub kernel: Option<String>,
    /// Seed of the first run, instead of the file's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of runs with different seeds, instead of the file's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: Option<u32>,
}

impl Input {
    /// Changes of the command line to the file, except the seeds.
    pub(crate) fn overrides(&self) -> Vec<String> {
        let world = self.world.as_ref().map(|name| format!("world={name}"));
        self.set.iter().cloned().chain(world).collect()
    }

    /// The scenario, and the overrides that were applied to it: those of the command line, with one `more`. `--runs` is one of them, so that a stored
    /// scenario has the number of runs.
    ///
    /// # Errors
    /// The file cannot be read, or an override is invalid.
    pub(crate) fn load(&self, more: Option<String>) -> Result<(Scenario, Vec<String>), Failure> {
        forebay_backends::choose_kernel(self.kernel.clone());
        let mut overrides = self.overrides();
        overrides.extend(more);
        overrides.extend(self.runs.map(|n| format!("runs={n}")));
        Ok((forebay_scenario::load(forebay_backends::all(), &resolve_path(&self.file), &overrides, self.seed)?, overrides))
    }
}
