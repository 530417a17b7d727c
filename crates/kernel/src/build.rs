//! Builds a kernel from its sources into the cache, and skips finished steps.

use crate::cache::{Cache, Kernel, Manifest, Patched, seconds};
use crate::compile::{compile, configure, log_of};
use crate::embedded_files::SOURCES;
use crate::error::{At, Error};
use crate::patch::Patch;
use crate::recipe::{self, Recipe};
use crate::source::Source;
use crate::tcp_sources;
use crate::tree::Tree;
use forebay_platform::files::TempDir;
use std::fs;

/// Prefix of the folders in which patched kernels are built.
const PATCHED: &str = ".patched";

/// How to build.
#[derive(Debug)]
pub struct Request<'a> {
    /// From what.
    pub source: &'a Source,
    /// SHA-256 that the sources must have, if it is given.
    pub sha256: Option<&'a str>,
    /// Change of the sources, if any.
    pub patch: Option<&'a Patch>,
    /// Number of parallel compiler processes.
    pub jobs: usize,
    /// Keep the tree for the next build.
    pub keep_tree: bool,
}

/// The step that a build is at, to show progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<'a> {
    /// The sources were read; this is their SHA-256.
    Sources(&'a str),
    /// Another process builds.
    Waiting,
    /// Unpacks the sources.
    Unpacking,
    /// Writes the configuration.
    Configuring,
    /// Compiles; so many files are done.
    Compiling(usize),
}

/// A kernel, and whether it had to be built.
#[derive(Debug)]
pub struct Outcome {
    /// The kernel.
    pub kernel: Kernel,
    /// False if it was there already.
    pub new: bool,
}

/// Builds a kernel from the request's sources, our files and the machine's compiler, unless one of exactly these is there.
///
/// # Errors
/// If a tool is missing, the sources are not those of a kernel that we know, or it does not compile: with what to do.
pub fn build(cache: &Cache, request: &Request<'_>, progress: &mut dyn FnMut(Step<'_>)) -> Result<Outcome, Error> {
    let recipe = Recipe::new(SOURCES);
    let sha256 = request.source.digest()?;
    progress(Step::Sources(&sha256));
    if let Some(wanted) = request.sha256.filter(|w| *w != sha256) {
        return Err(Error::new(format!(
            "{}: the SHA-256 of the sources is {sha256}, but --sha256 is {wanted}; nothing was unpacked",
            request.source.path().display()
        )));
    }
    let compiler = recipe::compiler()?;
    let plain = recipe.kernel(&sha256, &compiler);
    let name = request.patch.map_or_else(|| plain.clone(), |p| recipe.patched(&sha256, &compiler, &p.digest()));
    if let Some(kernel) = cache.get(&name) {
        return Ok(Outcome { kernel, new: false });
    }
    let lock = match cache.try_lock()? {
        Some(lock) => lock,
        None => {
            progress(Step::Waiting);
            cache.lock()?
        }
    };
    // The process that held the lock may have built this kernel.
    if let Some(kernel) = cache.get(&name) {
        return Ok(Outcome { kernel, new: false });
    }
    let root = cache.trees().join(recipe.tree(&sha256, &compiler));
    let tree = match Tree::left(&root) {
        Some(tree) => tree,
        None => {
            progress(Step::Unpacking);
            Tree::unpack(&root, request.source, recipe)?
        }
    };
    tree.bring(recipe)?;
    progress(Step::Configuring);
    configure(&tree, recipe.text("um/config")?, &lock)?;
    let log = log_of(&tree);
    let mut compiled = |tree: &Tree| compile(tree, &log, request.jobs, &lock, &mut |files| progress(Step::Compiling(files)));
    let manifest = |patch: Option<&Patch>| Manifest {
        version: tree.version.to_string(),
        recipe: recipe.name(),
        source: request.source.path().display().to_string(),
        sha256: sha256.clone(),
        patch: patch.map(|p| Patched { file: p.file().display().to_string(), sha256: p.digest(), reverse: p.reverse() }),
        compiler: compiler.clone(),
        built: seconds(),
    };
    // The objects of the kernel without the patch are the basis of the one with it: only changed files are compiled again.
    let program = compiled(&tree)?;
    let mut kernel = match cache.get(&plain) {
        Some(kernel) => kernel,
        None => cache.put(&plain, &program, &manifest(None), &tcp_sources::collect(&tree.root)?)?,
    };
    if let Some(patch) = request.patch {
        let place = TempDir::create(&cache.trees(), PATCHED).at(&cache.trees())?;
        let copy = tree.copy_to(&place.path().join("tree"))?;
        patch.apply(&copy.root)?;
        let program = compiled(&copy)?;
        kernel = cache.put(&name, &program, &manifest(Some(patch)), &tcp_sources::collect(&copy.root)?)?;
    }
    tidy(cache, &tree, request.keep_tree)?;
    Ok(Outcome { kernel, new: true })
}

/// Removes the tree unless it is to be kept, other trees of the same series, and trees whose unpacking was interrupted. The caller
/// holds the build lock, so no other process is unpacking.
fn tidy(cache: &Cache, tree: &Tree, keep: bool) -> Result<(), Error> {
    for entry in fs::read_dir(cache.trees()).at(&cache.trees())?.flatten() {
        let path = entry.path();
        let old = Tree::left(&path).is_none_or(|t| t.version.same_series(tree.version));
        if if path == tree.root { !keep } else { old } {
            fs::remove_dir_all(&path).at(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Request, build};
    use crate::cache::Cache;
    use crate::scratch::Scratch;
    use crate::source::Source;
    use std::fs;

    #[test]
    fn sources_of_another_sum_are_refused() {
        let place = Scratch::new();
        let archive = place.path().join("linux.tar.gz");
        fs::write(&archive, "whatever is in it").unwrap();
        let source = Source::find(Some(&archive)).unwrap();
        let cache = Cache::at(place.path().join("cache"));
        let wanted = "0".repeat(64);
        let request = Request { source: &source, sha256: Some(&wanted), patch: None, jobs: 1, keep_tree: false };
        let said = build(&cache, &request, &mut |_| {}).unwrap_err().to_string();
        assert!(said.contains(&wanted) && said.contains(&source.digest().unwrap()), "{said}");
        assert!(!place.path().join("cache").exists(), "nothing was unpacked");
        // With the right sum, the error is the one of the archive.
        let sum = source.digest().unwrap();
        let request = Request { sha256: Some(&sum), ..request };
        let said = build(&cache, &request, &mut |_| {}).unwrap_err().to_string();
        assert!(!said.contains("SHA-256"), "{said}");
        assert_eq!(fs::read_dir(cache.trees()).unwrap().count(), 0, "nothing of it stays");
    }
}
