//! `forebay kernel`: builds, lists and removes the kernels of the backend `linux`.

use crate::terminal::escape::escape;
use crate::terminal::failure::Failure;
use crate::terminal::output::print;
use crate::terminal::style;
use forebay_kernel::{Cache, Error, Kernel, Patch, Request, Source, Step, build, is_current, kernel, known, parse_sha256};
use indicatif::ProgressBar;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

/// Number of files in a build of a kernel from scratch (540 in 6.12).
const FILES: usize = 540;

/// Build, show, list and remove kernels of the backend `linux`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Build a kernel from the sources of Linux (minutes the first time)
    Build(Build),
    /// Show the kernel that a run uses, and the space that kernels take
    Status,
    /// List all built kernels, the newest version first
    List,
    /// Remove kernels, or the sources and objects of builds
    Remove(Remove),
}

#[derive(Debug, clap::Args)]
struct Build {
    /// Archive (.tar.xz, .tar.gz, .tar.bz2, .tar.zst) or folder with the sources [default: the distribution's package in /usr/src, 6.12 first]
    #[arg(long, value_name = "DIR|TARBALL")]
    source: Option<PathBuf>,
    /// Refuse sources with another SHA-256 than this one, which their author publishes; without it, unknown sources are accepted
    #[arg(long, value_name = "HEX", value_parser = parse_sha256)]
    sha256: Option<String>,
    /// Change the sources by this unified diff before they are compiled; the kernel without it stays, and only changed files are compiled again
    #[arg(long, value_name = "FILE")]
    patch: Option<PathBuf>,
    /// Remove the change of --patch instead of making it
    #[arg(long, requires = "patch")]
    reverse: bool,
    /// Name of the kernel for --kernel: a letter, then letters, digits, `.`, `-` and `_`
    #[arg(long, value_name = "NAME", value_parser = parse_label)]
    name: Option<String>,
    /// Number of files to compile at the same time [default: the machine's cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Remove sources and objects after the build; the next build then takes minutes instead of seconds
    #[arg(long)]
    no_tree: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
struct Remove {
    /// Names of kernels, as `forebay kernel list` shows them
    names: Vec<String>,
    /// Remove the kernels that another version of forebay built
    #[arg(long)]
    old: bool,
    /// Remove all kernels
    #[arg(long)]
    all: bool,
    /// Remove the sources and objects that were kept for the next build
    #[arg(long)]
    trees: bool,
}

impl From<Error> for Failure {
    fn from(e: Error) -> Failure {
        Failure::Machine(e.to_string())
    }
}

/// Runs the action.
pub(crate) fn execute(args: &Args) -> Result<(), Failure> {
    let cache = Cache::of_user()?;
    match &args.action {
        Action::Build(args) => execute_build(&cache, args),
        Action::Status => print(&status(&cache)),
        Action::List => print(&list(&cache)),
        Action::Remove(args) => remove(&cache, args),
    }
}

fn execute_build(cache: &Cache, args: &Build) -> Result<(), Failure> {
    let source = Source::find(args.source.as_deref())?;
    let jobs = args.jobs.map_or_else(|| available_parallelism().map_or(1, Into::into), usize::from);
    let (start, mut display) = (Instant::now(), Display::new());
    display.line(&format!("sources: {}", source.path().display()));
    let patch = args.patch.as_ref().map(|file| Patch::read(file, args.reverse)).transpose();
    let patch = patch.map_err(|e| Failure::Usage(e.to_string()))?;
    let sha256 = args.sha256.as_deref();
    let request = Request { source: &source, sha256, patch: patch.as_ref(), jobs, keep_tree: !args.no_tree };
    let built = build(cache, &request, &mut |step| match step {
        Step::Sources(sum) => display.line(&format!("SHA-256: {sum} ({})", origin(&request, sum))),
        step => display.step(step),
    });
    display.end();
    let mut built = built?;
    if let Some(label) = &args.name {
        cache.set_label(&built.kernel, label)?;
        built.kernel = cache.get(built.kernel.name()).unwrap_or(built.kernel);
    }
    let mut out = if built.new {
        format!("Linux {} is built ({:.0} s): {}\n", built.kernel.version(), start.elapsed().as_secs_f64(), about(&built.kernel))
    } else {
        format!(
            "Linux {} exists already, from these sources and with these drivers: {}\n",
            built.kernel.version(),
            about(&built.kernel)
        )
    };
    if built.new && !args.no_tree {
        let _ = writeln!(out, "{}", trees(cache));
    }
    print(&out)
}

/// Origin of the sources with this checksum.
fn origin(request: &Request<'_>, sum: &str) -> String {
    match (request.sha256, known(sum), request.source) {
        (Some(wanted), ..) if wanted == sum => "as given by --sha256".into(),
        (Some(_), ..) => "not the one given by --sha256".into(),
        (None, Some(package), _) => format!("known: {package}"),
        (None, None, Source::Archive(..)) => "unknown archive: pass --sha256 with the sum that its author publishes".into(),
        (None, None, Source::Folder(_)) => "a folder".into(),
    }
}

/// Name and size of a kernel.
fn about(kernel: &Kernel) -> String {
    let label = kernel.label().map_or_else(String::new, |label| format!("{label}, "));
    format!("{label}{}, {}", kernel.name(), megabytes(kernel.bytes()))
}

/// Parses a name for a kernel, which must not look like a version.
fn parse_label(text: &str) -> Result<String, String> {
    let legal = |b: u8| b.is_ascii_alphanumeric() || b".-_".contains(&b);
    if text.len() <= 40 && text.bytes().all(legal) && text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        Ok(text.to_owned())
    } else {
        Err("a name begins with a letter, has at most 40 characters, and has letters, digits, `.`, `-` and `_` only".into())
    }
}

/// Patch of a kernel, for a list.
fn patch_of(kernel: &Kernel) -> String {
    let Some(patch) = &kernel.manifest().patch else { return String::new() };
    format!(" with {}{}", patch.file, if patch.reverse { " reversed" } else { "" })
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

fn trees(cache: &Cache) -> String {
    format!(
        "Kept for the next build: {} in {} (`forebay kernel remove --trees` removes it)",
        megabytes(cache.tree_bytes()),
        cache.trees().display()
    )
}

fn status(cache: &Cache) -> String {
    let mut out = String::new();
    match kernel(cache, None) {
        Ok(k) => {
            let _ = writeln!(out, "The backend linux uses Linux {}: {}", k.version(), about(&k));
            let m = k.manifest();
            let _ = writeln!(
                out,
                "  program   {}\n  sources   {}\n  SHA-256   {}\n  compiler  {}",
                k.program().display(),
                m.source,
                m.sha256,
                m.compiler
            );
        }
        Err(e) => {
            let _ = writeln!(out, "{e}");
        }
    }
    let (all, old) = (cache.list(), cache.list().into_iter().filter(|k| !is_current(k)).count());
    let size: u64 = all.iter().map(Kernel::bytes).sum();
    let _ = writeln!(
        out,
        "{} kernel{} in {}: {}",
        all.len(),
        if all.len() == 1 { "" } else { "s" },
        cache.kernels().display(),
        megabytes(size)
    );
    if old > 0 {
        let _ = writeln!(out, "{old} of them from another version of forebay (`forebay kernel remove --old` removes them)");
    }
    if cache.tree_bytes() > 0 {
        let _ = writeln!(out, "{}", trees(cache));
    }
    out
}

/// One line a kernel, for people and for `cut`.
fn list(cache: &Cache) -> String {
    let (all, mut out) = (cache.list(), String::new());
    let width = all.iter().map(|k| k.version().to_string().len()).max().unwrap_or(0);
    for k in &all {
        let note = if is_current(k) { "" } else { "  (of another version of forebay)" };
        let _ = writeln!(
            out,
            "{}  {:width$}  {:>8}  {}{}{}{note}",
            k.name(),
            k.version().to_string(),
            megabytes(k.bytes()),
            k.label().map_or_else(String::new, |label| format!("{label}: ")),
            k.manifest().source,
            patch_of(k)
        );
    }
    out
}

fn remove(cache: &Cache, args: &Remove) -> Result<(), Failure> {
    let all = cache.list();
    let called = |k: &Kernel, name: &String| k.name() == name || k.label() == Some(name);
    if let Some(name) = args.names.iter().find(|n| !all.iter().any(|k| called(k, n))) {
        return Err(Failure::Usage(format!("no kernel is called `{name}`: `forebay kernel list` lists all")));
    }
    let (mut out, mut gone) = (String::new(), 0);
    for k in all.iter().filter(|k| args.all || (args.old && !is_current(k)) || args.names.iter().any(|n| called(k, n))) {
        cache.remove(k)?;
        gone += 1;
        let _ = writeln!(out, "removed Linux {}: {}", k.version(), k.name());
    }
    if args.trees && cache.tree_bytes() > 0 {
        let size = cache.tree_bytes();
        cache.remove_trees()?;
        gone += 1;
        let _ = writeln!(out, "removed sources and objects: {}", megabytes(size));
    }
    if gone == 0 {
        out.push_str("nothing to remove\n");
    }
    print(&out)
}

/// Prints the progress of a build on standard error: a line that changes on a terminal, else one line per step.
struct Display {
    spinner: Option<ProgressBar>,
    unpacked: bool,
}

impl Display {
    fn new() -> Display {
        let spinner = io::stderr().is_terminal().then(ProgressBar::new_spinner);
        if let Some(s) = &spinner {
            s.enable_steady_tick(Duration::from_millis(200));
        }
        Display { spinner, unpacked: false }
    }

    fn line(&self, text: &str) {
        match &self.spinner {
            Some(s) => s.println(escape(text, style::stderr())),
            // A closed standard error is no reason to stop.
            None => drop(writeln!(io::stderr().lock(), "{}", escape(text, false))),
        }
    }

    fn step(&mut self, step: Step<'_>) {
        let text = match step {
            Step::Sources(_) => return,
            Step::Waiting => "another process builds a kernel; waiting for it".to_owned(),
            Step::Unpacking => {
                self.unpacked = true;
                "unpacking the needed files".to_owned()
            }
            Step::Configuring => "configuring".to_owned(),
            Step::Compiling(files) if self.unpacked => format!("compiling: {files} of about {FILES} files"),
            Step::Compiling(files) => format!("compiling: {files} files"),
        };
        match (&self.spinner, step) {
            (Some(s), _) => s.set_message(text),
            (None, Step::Compiling(files)) if files % 100 != 0 => {}
            (None, _) => self.line(&text),
        }
    }

    fn end(&self) {
        if let Some(s) = &self.spinner {
            s.finish_and_clear();
        }
    }
}
