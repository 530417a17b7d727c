//! Values of a scenario's echo: multiplied, and written for `--set`.

use forebay_types::Time;
use serde_json::Value as Json;

/// Splits `64KB` into 64 and `KB`.
fn parts(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// A number with at most six decimals, without trailing zeros.
fn decimal(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A quantity, number or distribution times `factor`. `None` for tables of measured sizes, which have no scale, and other values.
pub(crate) fn scaled(value: &Json, factor: f64) -> Option<Json> {
    match value {
        Json::String(text) => {
            let (number, unit) = parts(text)?;
            Some(Json::String(format!("{}{unit}", decimal(number * factor))))
        }
        Json::Number(n) if n.is_u64() => Some(Json::from((n.as_f64()? * factor).round().max(1.0) as u64)),
        Json::Number(n) => Some(Json::from(n.as_f64()? * factor)),
        Json::Array(list) => list.iter().map(|v| scaled(v, factor)).collect::<Option<Vec<_>>>().map(Json::Array),
        Json::Object(table) => {
            let known = |key: &String| ["uniform", "log-uniform", "exponential"].contains(&key.as_str());
            let all = table.iter().map(|(key, v)| Some((key.clone(), scaled(v, factor).filter(|_| known(key))?)));
            all.collect::<Option<serde_json::Map<_, _>>>().map(Json::Object)
        }
        _ => None,
    }
}

/// A value in the notation of TOML, on one line.
pub(crate) fn inline(value: &Json) -> String {
    match value {
        Json::Object(table) => {
            let items: Vec<String> = table.iter().map(|(key, v)| format!("{key} = {}", inline(v))).collect();
            format!("{{ {} }}", items.join(", "))
        }
        Json::Array(list) => format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// A time of the echo in seconds.
pub(crate) fn seconds(text: &str) -> Option<f64> {
    text.parse::<Time>().ok().map(|t| t.0 as f64 * 1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities_and_distributions_scale() {
        assert_eq!(scaled(&json!("64KB"), 4.0), Some(json!("256KB")));
        assert_eq!(scaled(&json!("0.3us"), 3.0), Some(json!("0.9us")));
        assert_eq!(scaled(&json!({"exponential": "2ms"}), 0.25), Some(json!({"exponential": "0.5ms"})));
        assert_eq!(scaled(&json!({"cdf": "websearch"}), 4.0), None);
        assert_eq!(scaled(&json!(40), 0.5), Some(json!(20)));
    }

    #[test]
    fn values_are_written_as_toml() {
        assert_eq!(inline(&json!({"kind": "lossy", "p": 0.002})), "{ kind = \"lossy\", p = 0.002 }");
        assert_eq!(inline(&json!(["h0..h3"])), "[\"h0..h3\"]");
    }
}
