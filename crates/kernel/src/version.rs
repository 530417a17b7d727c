//! Versions of Linux, in their order.

use std::fmt;
use std::str::FromStr;

/// A version such as 6.12.117: major number, minor number, patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

impl Version {
    /// The series that results are compared on unless another one is named.
    pub const DEFAULT: Version = Version { major: 6, minor: 12, patch: 0 };
    /// The oldest one that the drivers compile on.
    pub const OLDEST: Version = Version { major: 6, minor: 1, patch: 0 };

    /// Returns true if both are of one series, such as 6.12.
    pub fn same_series(self, other: Version) -> bool {
        (self.major, self.minor) == (other.major, other.minor)
    }

    /// The series alone, `6.12`.
    pub fn series(self) -> String {
        format!("{}.{}", self.major, self.minor)
    }

    /// Version from the first lines of a kernel's top Makefile.
    pub(crate) fn of_makefile(text: &str) -> Option<Version> {
        let number = |key: &str| {
            let line = text.lines().take(20).find(|l| l.split('=').next().is_some_and(|k| k.trim() == key))?;
            line.split('=').nth(1)?.trim().parse().ok()
        };
        Some(Version { major: number("VERSION")?, minor: number("PATCHLEVEL")?, patch: number("SUBLEVEL")? })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for Version {
    type Err = ();

    /// `6.12` is 6.12.0.
    fn from_str(s: &str) -> Result<Version, ()> {
        let mut parts = s.split('.').map(|p| p.parse::<u32>().map_err(drop));
        let (major, minor) = (parts.next().ok_or(())??, parts.next().ok_or(())??);
        let patch = parts.next().transpose()?.unwrap_or(0);
        if parts.next().is_some() { Err(()) } else { Ok(Version { major, minor, patch }) }
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn versions_are_ordered_numerically() {
        let parse = |s: &str| s.parse::<Version>().unwrap();
        assert!(parse("6.1.192") < parse("6.12.7") && parse("6.12.7") < parse("6.12.117"));
        assert!(parse("6.12").same_series(Version::DEFAULT) && !parse("6.1").same_series(Version::DEFAULT));
        for wrong in ["", "6", "6.x", "6.1.2.3", "-6.1"] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_makefile_names_its_version() {
        let text = "# SPDX\nVERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 192\nEXTRAVERSION =\n";
        assert_eq!(Version::of_makefile(text).unwrap().to_string(), "6.1.192");
        assert!(Version::of_makefile("VERSION = 6\n").is_none());
    }
}
