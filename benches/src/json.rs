//! Numbers in JSON: rounded ones to write, and those of the line that a peer prints.

/// Six decimals are enough; JSON has no NaN, which becomes null.
pub(crate) fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// The value of `key` in a flat object, as text; none when it is missing or null.
pub(crate) fn field<'a>(object: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = object.split_once(&format!("\"{key}\":"))?;
    let value = match rest.strip_prefix('"') {
        Some(text) => text.split('"').next()?,
        None => rest.split([',', '}']).next()?.trim(),
    };
    (value != "null").then_some(value)
}

/// The same as a number.
pub(crate) fn number(object: &str, key: &str) -> Option<f64> {
    field(object, key)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_roundtrip() {
        let line = json!({"case": "s", "pts": 12, "x": rounded(f64::NAN), "user_s": rounded(0.25)}).to_string();
        assert_eq!(number(&line, "pts"), Some(12.0));
        assert_eq!(number(&line, "user_s"), Some(0.25));
        assert_eq!(field(&line, "x"), None);
        assert_eq!(field(&line, "missing"), None);
        assert_eq!(field(r#"{"error":"no table, none"}"#, "error"), Some("no table, none"));
    }
}
