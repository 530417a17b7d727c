//! Words and numbers for messages.

use forebay_types::param::{is_hidden, nearest};

/// Replaces every character of a user text that would move the cursor, or change the order of the text, by a question mark.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) { '?' } else { c }).collect()
}

/// Same as [`plain`], for several lines.
pub(crate) fn plain_lines(text: &str) -> String {
    text.chars().map(|c| if is_hidden(c) && c != '\n' { '?' } else { c }).collect()
}

/// Shortens user text to less than a line, for messages.
pub(crate) fn short(text: &str) -> String {
    let text = plain(text);
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(60).collect();
    if chars.next().is_some() { format!("{head}...") } else { head }
}

/// Formats names as "`a`, `b` or `c`".
pub(crate) fn alternatives<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut quoted: Vec<String> = names.into_iter().map(|n| format!("`{n}`")).collect();
    match quoted.pop() {
        None => "nothing".into(),
        Some(last) if quoted.is_empty() => last,
        Some(last) => format!("{} or {last}", quoted.join(", ")),
    }
}

/// Suggestion of the most similar name in `names`, as a question.
pub(crate) fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, names).map(|n| format!("did you mean `{n}`?"))
}

/// Formats a number with groups of three digits and at most one decimal: `12 658 198.6`.
pub(crate) fn grouped(value: f64) -> String {
    let tenths = (value * 10.0).round().max(0.0) as u64;
    let digits = (tenths / 10).to_string();
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(c);
    }
    if !tenths.is_multiple_of(10) {
        out.push_str(&format!(".{}", tenths % 10));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{grouped, short};

    #[test]
    fn hidden_characters_are_replaced() {
        assert_eq!(short("a\u{1b}[31mb\u{202e}c\u{9b}d"), "a?[31mb?c?d");
    }

    #[test]
    fn groups_digits_by_three() {
        assert_eq!(grouped(1_711_250.0), "1 711 250");
        assert_eq!(grouped(12_658_198.6), "12 658 198.6");
        assert_eq!(grouped(999.96), "1 000");
        assert_eq!(grouped(0.0), "0");
    }
}
