//! SHA-256 sums of kernel sources in packages of distributions.

/// SHA-256 of `/usr/src/linux-source-VERSION.tar.xz`, and the package that installs it. Each was computed from a file that the package manager
/// installed.
const ARCHIVES: &[(&str, &str)] =
    &[("585a4a074597aefa2b1a68ada83a3184ba351c127544dea80618bbcceaa3961f", "Debian linux-source-6.12 6.12.117-1~deb12u1")];

/// The package that contains an archive, if it is known.
pub fn known(sha256: &str) -> Option<&'static str> {
    ARCHIVES.iter().find(|a| a.0 == sha256).map(|a| a.1)
}

/// Parses a SHA-256: 64 hexadecimal digits.
///
/// # Errors
/// The text is not a SHA-256.
pub fn parse_sha256(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
        Ok(text.to_ascii_lowercase())
    } else {
        Err("a SHA-256 has 64 hexadecimal digits, as `sha256sum FILE` prints it".into())
    }
}

#[cfg(test)]
mod tests {
    use super::{ARCHIVES, known, parse_sha256};

    #[test]
    fn table_holds_legal_sums() {
        for (sum, package) in ARCHIVES {
            assert_eq!(parse_sha256(sum).as_deref(), Ok(*sum));
            assert_eq!(known(sum), Some(*package));
        }
        assert_eq!(known(&"0".repeat(64)), None);
    }

    #[test]
    fn other_texts_are_no_sums() {
        for text in ["", "abc", &"g".repeat(64), &"0".repeat(63), &"0".repeat(65)] {
            assert!(parse_sha256(text).is_err(), "{text}");
        }
        assert_eq!(parse_sha256(&"AB".repeat(32)), Ok("ab".repeat(32)));
    }
}
