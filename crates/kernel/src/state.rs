//! Names of the variables whose values a guest records of its sockets (`driver/state.h`), in the order of the record.

use crate::embedded_files::SOURCES;
use std::sync::OnceLock;

/// Names of the variables, as in the kernel's sources: `snd_cwnd`, `rack.reo_wnd_steps`.
pub fn variables() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let header = SOURCES.iter().find(|s| s.path == "driver/state.h");
        let text = header.and_then(|s| std::str::from_utf8(s.text).ok()).unwrap_or_default();
        text.lines().filter_map(|line| line.strip_prefix("\tF(")?.split(',').next()).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::variables;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_identifiers() {
        let all = variables();
        assert!(all.contains(&"snd_cwnd") && all.contains(&"rack.reo_wnd_steps"));
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        for name in all {
            assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.".contains(&b)), "{name}");
        }
    }
}
