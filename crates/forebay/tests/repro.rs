//! `forebay repro` passes its arguments and the key of its sources to Python.

use crate::scratch::{Scratch, command, forebay, text};
use forebay_runner::sweep::key::SOURCES;
use std::os::unix::fs::PermissionsExt;

/// Replaces Python: `-c` is the probe for packages.
fn python(scratch: &Scratch, installed: bool, code: u8) -> String {
    python_without(scratch, if installed { "" } else { "forebay" }, code)
}

/// As `python`, whose probe finds all packages but this one; all if it is empty.
fn python_without(scratch: &Scratch, package: &str, code: u8) -> String {
    let probe = match package {
        "" => "echo True; exit 0".to_owned(),
        package => format!("echo no module {package} >&2; exit 69"),
    };
    scratch.file(
        "python",
        &format!("#!/bin/sh\n[ \"$1\" = -c ] && {{ {probe}; }}\necho \"$@\"\necho \"$FOREBAY_SOURCES\"\nexit {code}\n"),
    );
    let path = scratch.0.join("python");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn repro_passes_arguments_and_exit_code() {
    let scratch = Scratch::new("repro");
    let words = ["repro", "trim", "--quick", "--claim", "a", "--claim", "b", "--out", "x y", "--threads", "2", "-v", "dctcp"];
    for code in [0, 1, 130] {
        let mut c = command(&scratch.0, &words);
        let out = c.env("FOREBAY_PYTHON", python(&scratch, true, code)).output().unwrap();
        let output = text(&out.stdout);
        let expected = "-P -m forebay.repro --claim a --claim b --out x y --threads 2 --quick --verbose -- trim dctcp";
        assert_eq!(output.lines().collect::<Vec<_>>(), [expected, SOURCES]);
        assert_eq!((out.status.code(), text(&out.stderr)), (Some(i32::from(code)), String::new()));
    }
    let mut c = command(&scratch.0, &["repro", "--scale", "document"]);
    let out = c.env("FOREBAY_PYTHON", python(&scratch, true, 0)).output().unwrap();
    assert_eq!(text(&out.stdout), format!("-P -m forebay.repro --scale document\n{SOURCES}\n"));
    let mut c = command(&scratch.0, &["repro", "--artifact", "trim"]);
    let out = c.env("FOREBAY_PYTHON", python(&scratch, true, 0)).output().unwrap();
    assert_eq!(text(&out.stdout), format!("-P -m forebay.repro --artifact -- trim\n{SOURCES}\n"));
    for words in [["--scale", "document", "--quick"], ["--artifact", "--claim", "a"]] {
        let out = command(&scratch.0, &[&["repro"][..], &words].concat()).output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{words:?} exclude each other");
    }
}

#[test]
fn missing_parts_are_named() {
    let scratch = Scratch::new("repro-missing");
    let run = |python: &str| command(&scratch.0, &["repro"]).env("FOREBAY_PYTHON", python).output().unwrap();
    let out = run(&python(&scratch, false, 0));
    let output = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1));
    for words in ["no module forebay", "pip install '.[repro]'` in the repository", "FOREBAY_PYTHON"] {
        assert!(output.contains(words), "{output}");
    }
    // The package is installed, and needs no repository.
    let output = text(&run(&python_without(&scratch, "matplotlib", 0)).stderr);
    for words in ["no module matplotlib", "pip install 'forebay[repro]'`", "FOREBAY_PYTHON"] {
        assert!(output.contains(words) && !output.contains("repository"), "{output}");
    }
    let output = text(&run("/no/such/python").stderr);
    assert!(output.contains("/no/such/python") && output.contains("FOREBAY_PYTHON"), "{output}");
    assert_eq!(forebay(&scratch.0, &["repro", "--slow"]).status.code(), Some(2));
}

/// Neither the probe nor the module imports a file of the current folder with the name of a package, with `-P` and with an interpreter that
/// does not support it.
#[test]
fn modules_of_current_folder_ignored() {
    let Ok(version) =
        std::process::Command::new("python3").args(["-c", "import sys; print(sys.version_info >= (3, 11))"]).output()
    else {
        return;
    };
    let knows_safe_path = text(&version.stdout).trim() == "True";
    let scratch = Scratch::new("repro-path");
    for name in ["numpy", "forebay", "importlib", "runpy", "argparse"] {
        scratch.file(&format!("{name}.py"), "open('imported', 'w')\nraise SystemExit('imported from the current folder')\n");
    }
    // The package in another folder: the test checks which one runs.
    std::fs::create_dir_all(scratch.0.join("site/forebay/repro")).unwrap();
    for (file, content) in [
        ("site/forebay/__init__.py", ""),
        ("site/forebay/repro/__init__.py", ""),
        ("site/forebay/repro/__main__.py", "import sys, argparse\nprint('the package', sys.argv[1:])\n"),
        ("site/numpy.py", ""),
        ("site/pyarrow.py", ""),
        ("site/matplotlib.py", ""),
    ] {
        scratch.file(file, content);
    }
    // One that does not support `-P`, as Python 3.10, and reports so in the probe.
    scratch.file(
        "old-python",
        "#!/bin/sh\nfor a in \"$@\"; do [ \"$a\" = -P ] && exit 2; done\nunset PYTHONSAFEPATH\n[ \"$3\" = forebay.repro ] && exec python3 \"$@\"\n\
         python3 \"$@\" >/dev/null && echo False\n",
    );
    let old = scratch.0.join("old-python");
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    for python in ["python3", old.to_str().unwrap()] {
        if python == "python3" && !knows_safe_path {
            continue;
        }
        let mut c = command(&scratch.0, &["repro", "--quick", "dctcp"]);
        let out = c.env("FOREBAY_PYTHON", python).env("PYTHONPATH", scratch.0.join("site")).output().unwrap();
        assert_eq!(text(&out.stdout), "the package ['--quick', '--', 'dctcp']\n", "{python}: {}", text(&out.stderr));
        assert!(!scratch.0.join("imported").exists(), "{python}");
    }
}
