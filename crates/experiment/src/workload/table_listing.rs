//! Test that `data/cdf/README.md` and `SHA256SUMS` describe the size tables.

use forebay_types::SizeTable;
use sha2::{Digest, Sha256};

const README: &str = include_str!("../../../../data/cdf/README.md");
const SUMS: &str = include_str!("../../../../data/cdf/SHA256SUMS");
const TABLES: [(&str, &str); 2] = [
    ("websearch.cdf", include_str!("../../../../data/cdf/websearch.cdf")),
    ("datamining.cdf", include_str!("../../../../data/cdf/datamining.cdf")),
];

#[test]
fn readme_lists_hashes_and_means() {
    for (name, text) in TABLES {
        let hash: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(README.contains(&format!("| `{name}` | `{hash}` |")), "README.md does not list {name} with {hash}");
        assert!(SUMS.contains(&format!("{hash}  {name}\n")), "SHA256SUMS does not list {name} with {hash}");
        let mean = SizeTable::parse(text, name).unwrap().mean();
        let row = README.lines().find(|l| l.starts_with(&format!("| `{name}` |"))).unwrap();
        let listed: f64 = row.split('|').nth(4).unwrap().replace(' ', "").parse().unwrap();
        assert!((mean - listed).abs() < 0.05, "README.md lists {listed} as the mean of {name}, not {mean}");
    }
}
