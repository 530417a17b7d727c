//! Test that `data/cdf/README.md` and `SHA256SUMS` describe the size tables.

use forebay_types::SizeTable;

const README: &str = include_str!("../../../../data/cdf/README.md");
const SUMS: &str = include_str!("../../../../data/cdf/SHA256SUMS");
const TABLES: [(&str, &str); 2] = [
    ("websearch.cdf", include_str!("../../../../data/cdf/websearch.cdf")),
    ("datamining.cdf", include_str!("../../../../data/cdf/datamining.cdf")),
];

/// First 32 fractional bits of the `root`-th root of a prime, a constant of SHA-256: the largest x with x^root <= prime * 2^(32 * root), without its
/// whole part.
fn root_fraction(prime: u128, root: u32) -> u32 {
    // The whole part of the roots used here has at most 5 bits.
    let mut x: u128 = 0;
    for bit in (0..37).rev() {
        let candidate = x | 1 << bit;
        if candidate.pow(root) <= prime << (32 * root) {
            x = candidate;
        }
    }
    x as u32
}

/// SHA-256 (FIPS 180-4), to avoid a dependency.
fn sha256(data: &[u8]) -> String {
    let primes: Vec<u128> = (2..312u128).filter(|n| (2..*n).all(|d| !n.is_multiple_of(d))).collect();
    let k: Vec<u32> = primes.iter().map(|&p| root_fraction(p, 3)).collect();
    let mut h: Vec<u32> = primes[..8].iter().map(|&p| root_fraction(p, 2)).collect();
    let mut padded = data.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64) - 8, 0);
    padded.extend_from_slice(&(data.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks(64) {
        let mut w: Vec<u32> = block.chunks(4).map(|b| u32::from_be_bytes(b.try_into().unwrap())).collect();
        for i in 16..64 {
            let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
            let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
            w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
        }
        let mut v = h.clone();
        for i in 0..64 {
            let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let t1 = v[7].wrapping_add(s1).wrapping_add(choice).wrapping_add(k[i]).wrapping_add(w[i]);
            let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            v.rotate_right(1);
            v[4] = v[4].wrapping_add(t1);
            v[0] = t1.wrapping_add(s0).wrapping_add(majority);
        }
        h.iter_mut().zip(&v).for_each(|(h, v)| *h = h.wrapping_add(*v));
    }
    h.iter().map(|x| format!("{x:08x}")).collect()
}

#[test]
fn readme_lists_hashes_and_means() {
    // The test vector of FIPS 180-4.
    assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    for (name, text) in TABLES {
        let hash = sha256(text.as_bytes());
        assert!(README.contains(&format!("| `{name}` | `{hash}` |")), "README.md does not list {name} with {hash}");
        assert!(SUMS.contains(&format!("{hash}  {name}\n")), "SHA256SUMS does not list {name} with {hash}");
        let mean = SizeTable::parse(text, name).unwrap().mean();
        let row = README.lines().find(|l| l.starts_with(&format!("| `{name}` |"))).unwrap();
        let listed: f64 = row.split('|').nth(4).unwrap().replace(' ', "").parse().unwrap();
        assert!((mean - listed).abs() < 0.05, "README.md lists {listed} as the mean of {name}, not {mean}");
    }
}
