//! Choice of the kernel of a run.

use crate::cache::{Cache, Kernel};
use crate::embedded_files::SOURCES;
use crate::error::Error;
use crate::program_sum;
use crate::recipe::Recipe;
use crate::version::Version;

/// Returns true if the kernel has the drivers and congestion controls that this program carries; the protocol differs otherwise.
pub fn is_current(kernel: &Kernel) -> bool {
    kernel.manifest().recipe == Recipe::new(SOURCES).name()
}

/// Selects a kernel. `named` is a version (`6.1`, `6.1.192`), the first letters of its name, or the name that the user gave to it. Without it: a
/// kernel of the default series, else of the newest one. A kernel with a patch is used only by its own name.
///
/// # Errors
/// If there is none, with the command that builds it, and if its program was changed since its build.
pub fn kernel(cache: &Cache, named: Option<&str>) -> Result<Kernel, Error> {
    let kernel = choose(cache.list(), named, &is_current)?;
    program_sum::check(kernel.name(), kernel.program())?;
    Ok(kernel)
}

/// `all` is in the order of the cache: newest first.
fn choose(all: Vec<Kernel>, named: Option<&str>, current: &dyn Fn(&Kernel) -> bool) -> Result<Kernel, Error> {
    let plain = |k: &Kernel| k.manifest().patch.is_none();
    let labelled = named.is_some_and(|word| all.iter().any(|k| k.label() == Some(word)));
    let meant = |k: &Kernel| match named {
        None => plain(k),
        Some(word) if labelled => k.label() == Some(word),
        Some(word) => {
            let version = word.parse::<Version>();
            let series = version.is_ok_and(|v| word.matches('.').count() == 1 && v.same_series(k.version()));
            (plain(k) && (series || version.is_ok_and(|v| v == k.version()))) || (!word.is_empty() && k.name().starts_with(word))
        }
    };
    let mut found: Vec<Kernel> = all.into_iter().filter(meant).collect();
    let any = !found.is_empty();
    found.retain(current);
    let at = found.iter().position(|k| k.version().same_series(Version::DEFAULT)).unwrap_or(0);
    if !found.is_empty() {
        return Ok(found.swap_remove(at));
    }
    Err(Error::new(match (any, named) {
        (true, None) => {
            "the kernels of the backend linux were built by another version of forebay; build one: forebay kernel build"
                .to_owned()
        }
        (true, Some(word)) => format!(
            "the kernel `{word}` was built by another version of forebay; build it again: forebay kernel build --source DIR|TARBALL"
        ),
        (false, None) => {
            "the backend linux needs a kernel, and none has been built yet; build one: forebay kernel build (some minutes)"
                .to_owned()
        }
        (false, Some(word)) => format!(
            "no kernel is called `{word}`: `forebay kernel list` lists the existing ones, and `forebay kernel build --source DIR|TARBALL` \
             builds others"
        ),
    }))
}

#[cfg(test)]
mod tests {
    use super::choose;
    use crate::cache::{Cache, Kernel, Manifest, Patched};
    use crate::program_sum;
    use crate::scratch::Scratch;
    use std::fs;

    fn some(place: &Scratch, kernels: &[(&str, &str, &str)]) -> Vec<Kernel> {
        let (cache, program) = (Cache::at(place.path()), place.path().join("program"));
        fs::write(&program, "ELF").unwrap();
        for (at, (name, version, recipe)) in kernels.iter().enumerate() {
            let word = |w: &str| w.to_owned();
            let (version, recipe, built) = (word(version), word(recipe), at as u64);
            let patch = name.starts_with('f').then(|| Patched { file: word("x.patch"), sha256: word("h"), reverse: false });
            let (source, sha256, compiler) = (word("s"), word("h"), word("gcc"));
            let manifest = Manifest { version, recipe, source, sha256, patch, compiler, built };
            cache.put(name, &program, &manifest, &[]).unwrap();
        }
        cache.list()
    }

    #[test]
    fn patched_kernel_needs_its_name() {
        let place = Scratch::new();
        let all = some(&place, &[("b2", "6.12.117", "now"), ("f6", "6.12.117", "now"), ("f7", "6.1.192", "now")]);
        let cache = Cache::at(place.path());
        cache.set_label(&all[0], "6.12-slow").unwrap();
        let labelled = all[0].name().to_owned();
        let pick = |named: Option<&str>| choose(cache.list(), named, &|_| true).map(|k| k.name().to_owned());
        assert_eq!(pick(None).unwrap(), "b2");
        assert_eq!(pick(Some("6.12")).unwrap(), "b2");
        assert_eq!((pick(Some("6.12-slow")).unwrap(), pick(Some("f7")).unwrap()), (labelled, "f7".to_owned()));
        assert!(pick(Some("6.1")).unwrap_err().to_string().contains("no kernel is called `6.1`"));
    }

    #[test]
    fn default_series_unless_kernel_is_named() {
        let place = Scratch::new();
        let all = some(
            &place,
            &[
                ("a1", "6.12.117", "old"),
                ("b2", "6.12.117", "now"),
                ("c3", "6.12.117", "now"),
                ("d4", "6.16.2", "now"),
                ("e5", "6.1.192", "now"),
            ],
        );
        let pick = |named: Option<&str>| {
            choose(all.clone(), named, &|k| k.manifest().recipe == "now").map(|k| k.name().to_owned()).map_err(|e| e.to_string())
        };
        assert_eq!(pick(None).unwrap(), "c3", "the one that was built last");
        for (named, name) in [("6.1", "e5"), ("6.1.192", "e5"), ("6.16", "d4"), ("b", "b2"), ("6.12", "c3")] {
            assert_eq!(pick(Some(named)).unwrap(), name, "{named}");
        }
        assert!(pick(Some("a1")).unwrap_err().contains("another version of forebay"));
        for named in ["6.2", "6.1.1", "z", ""] {
            assert!(pick(Some(named)).unwrap_err().contains("forebay kernel list"), "{named}");
        }
    }

    #[test]
    fn missing_kernel_error_names_command() {
        let place = Scratch::new();
        let none = choose(Vec::new(), None, &|_| true).unwrap_err().to_string();
        assert!(none.contains("forebay kernel build"), "{none}");
        let old = choose(some(&place, &[("a1", "6.12.117", "old")]), None, &|_| false).unwrap_err().to_string();
        assert!(old.contains("another version") && old.contains("forebay kernel build"), "{old}");
        let newest = choose(some(&place, &[("e6", "6.16.2", "now")]), None, &|k| k.manifest().recipe == "now").unwrap();
        assert_eq!(newest.name(), "e6", "not of the default series, and the only one");
    }

    #[test]
    fn changed_kernel_is_refused() {
        let check = |kernel: &Kernel| program_sum::check(kernel.name(), kernel.program());
        let place = Scratch::new();
        let cache = Cache::at(place.path());
        let program = place.path().join("program");
        fs::write(&program, "ELF").unwrap();
        let manifest = Manifest {
            version: "6.12.117".into(),
            recipe: "r".into(),
            source: "s".into(),
            sha256: "h".into(),
            patch: None,
            compiler: "gcc".into(),
            built: 1,
        };
        let [changed, intact, old] = ["aaa", "bbb", "ccc"].map(|name| cache.put(name, &program, &manifest, &[]).unwrap());
        fs::write(changed.program(), "ELG").unwrap();
        let e = check(&changed).unwrap_err().to_string();
        assert!(e.contains("was changed") && e.contains("forebay kernel remove aaa"), "{e}");
        check(&intact).unwrap();
        fs::remove_file(old.program().with_file_name("linux.sha256")).unwrap();
        check(&old).unwrap();
    }
}
