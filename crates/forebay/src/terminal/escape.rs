//! Escaped text for a terminal. Names of files and values of scenarios may hold any character; those that move the cursor or change the direction of
//! the text are written as `\u` and four digits, as in JSON and TOML.

use forebay_types::param::is_hidden;
use std::fmt::Write;

/// `text` without hidden characters, except line ends, tabs and, if `colours`, colors.
pub(crate) fn escape(text: &str, colours: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_hidden) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let colour = if colours { colour(rest) } else { 0 };
        let c = rest.chars().next().unwrap_or('\u{fffd}');
        let length = if colour > 0 { colour } else { c.len_utf8() };
        if colour > 0 || c == '\n' || c == '\t' {
            out.push_str(&rest[..length]);
        } else {
            // All hidden characters are below U+10000. Writing to a text cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        }
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// Length of the color at the start of `text`: `ESC [ numbers m`, only of numbers that keep the text readable.
fn colour(text: &str) -> usize {
    let Some(end) = text.strip_prefix("\x1b[").and_then(|t| t.find(|c: char| !(c.is_ascii_digit() || c == ';'))) else {
        return 0;
    };
    let numbers = &text[2..2 + end];
    let harmless = |n: &str| {
        matches!(n, "" | "0" | "1" | "2" | "3" | "4" | "5" | "38" | "39")
            || (n.len() == 2 && matches!(n.as_bytes()[0], b'3' | b'9') && n != "30")
    };
    let fits = text[2 + end..].starts_with('m') && numbers.len() < 20 && numbers.split(';').all(harmless);
    if fits { 3 + end } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn hidden_characters_escaped() {
        assert_eq!(escape("a\tb\n\x1b[1;31mred\x1b[0m", true), "a\tb\n\x1b[1;31mred\x1b[0m");
        assert_eq!(escape("\x1b[2J\x1b]0;title\x07x\r", true), "\\u001b[2J\\u001b]0;title\\u0007x\\u000d");
        assert_eq!(escape("\x1b[8mhidden \x1b[30;40m", true), "\\u001b[8mhidden \\u001b[30;40m");
        assert_eq!(escape("ab\u{202e}cd\u{9b}\u{feff}µ", true), "ab\\u202ecd\\u009b\\ufeffµ");
        assert_eq!(escape("\x1b[38;5;13m", true), "\\u001b[38;5;13m");
        assert_eq!(escape("\x1b[1mx", false), "\\u001b[1mx");
        assert_eq!(escape("\x1b[", true), "\\u001b[");
    }
}
