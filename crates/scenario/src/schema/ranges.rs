//! Ranges of names, `h0..h7`.

use crate::schema::limits::MAX_NAMES;

/// `h0..h7` as a list of names, both ends included.
pub(crate) fn expand(range: &str) -> Option<Vec<String>> {
    let (from, to) = range.split_once("..")?;
    let split = |s: &str| {
        let digits = s.len() - s.chars().rev().take_while(char::is_ascii_digit).count();
        let number: usize = s[digits..].parse().ok()?;
        // Leading zeros are refused, since names are rebuilt from numbers.
        (number.to_string() == s[digits..]).then(|| (s[..digits].to_owned(), number))
    };
    let ((p, a), (q, b)) = (split(from.trim())?, split(to.trim())?);
    if p != q || b < a || b - a >= MAX_NAMES {
        return None;
    }
    Some((a..=b).map(|i| format!("{p}{i}")).collect())
}

#[cfg(test)]
mod tests {
    use super::expand;

    #[test]
    fn ranges() {
        assert_eq!(expand("h2..h4").unwrap(), ["h2", "h3", "h4"]);
        assert_eq!(expand("h7..h7").unwrap(), ["h7"]);
        for bad in ["h4..h2", "h1..s3", "h1..", "..", "h01..h03", "h0..h99999999999", "h0..h18446744073709551616"] {
            assert!(expand(bad).is_none(), "{bad}");
        }
    }
}
