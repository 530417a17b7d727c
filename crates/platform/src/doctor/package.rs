//! Packages by the names that distributions give them, and the command that installs them here.

use std::fs;

/// A package by its names; empty where a distribution has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    /// In Debian and Ubuntu.
    pub debian: &'static str,
    /// In Fedora and its relatives.
    pub fedora: &'static str,
}

/// Distributions by the program that installs their packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Debian,
    Fedora,
    Other,
}

/// Family by the lines of `/etc/os-release`: its `ID`, otherwise its `ID_LIKE`.
fn family(os_release: &str) -> Family {
    let values = |key: &str| {
        let line = os_release.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix('=')).unwrap_or("");
        line.trim_matches(|c| c == '"' || c == '\'').split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let words: Vec<String> = values("ID").into_iter().chain(values("ID_LIKE")).collect();
    let is = |names: &[&str]| words.iter().any(|w| names.contains(&w.as_str()));
    if is(&["debian", "ubuntu"]) {
        Family::Debian
    } else if is(&["fedora", "rhel", "centos"]) {
        Family::Fedora
    } else {
        Family::Other
    }
}

/// The command that installs these packages on this machine; of a distribution that is not known, what others call them.
pub fn install(packages: &[Package]) -> String {
    command(family(&fs::read_to_string("/etc/os-release").unwrap_or_default()), packages)
}

fn command(family: Family, packages: &[Package]) -> String {
    let names = |of: fn(&Package) -> &'static str| {
        let mut names: Vec<&str> = packages.iter().map(of).filter(|n| !n.is_empty()).collect();
        names.sort_unstable();
        names.dedup();
        names.join(" ")
    };
    let (debian, fedora) = (names(|p| p.debian), names(|p| p.fedora));
    match family {
        Family::Debian => format!("apt install {debian}"),
        Family::Fedora => format!("dnf install {fedora}"),
        Family::Other => format!("install what Debian calls {debian} and Fedora {fedora}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Family, Package, command, family};

    const FLEX: Package = Package { debian: "flex", fedora: "flex" };
    const LIBC: Package = Package { debian: "libc6-dev", fedora: "glibc-static" };

    #[test]
    fn distribution_recognized_by_id_like() {
        assert_eq!(family("PRETTY_NAME=\"Debian GNU/Linux 12\"\nID=debian\n"), Family::Debian);
        assert_eq!(family("ID=pop\nID_LIKE=\"ubuntu debian\"\n"), Family::Debian);
        assert_eq!(family("ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"\n"), Family::Fedora);
        assert_eq!(family("ID=arch\n"), Family::Other);
        assert_eq!(family(""), Family::Other);
    }

    #[test]
    fn one_command_installs_each_package_once() {
        assert_eq!(command(Family::Debian, &[LIBC, FLEX, FLEX]), "apt install flex libc6-dev");
        assert_eq!(command(Family::Fedora, &[LIBC, FLEX]), "dnf install flex glibc-static");
        assert_eq!(
            command(Family::Other, &[FLEX, LIBC]),
            "install what Debian calls flex libc6-dev and Fedora flex glibc-static"
        );
    }
}
