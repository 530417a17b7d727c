//! Escaping of untrusted text for the three places where it is inserted.

use serde::Serialize;

/// Text as the content of an element or the value of a quoted attribute.
pub(super) fn text(s: &str) -> String {
    let mut out = String::with_capacity(s.len() + 8);
    for c in s.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// Text in which pairs of `**` enclose what is bold. An odd one is shown as it is.
pub(super) fn bold(s: &str) -> String {
    let parts: Vec<&str> = s.split("**").collect();
    if parts.len().is_multiple_of(2) {
        return text(s);
    }
    // A number stays on the line of its unit.
    let whole =
        |part: &str| if part.starts_with(|c: char| c.is_ascii_digit()) { part.replacen(' ', "\u{a0}", 1) } else { part.into() };
    let mark =
        |(i, part): (usize, &&str)| if i % 2 == 1 { format!("<strong>{}</strong>", text(&whole(part))) } else { text(part) };
    parts.iter().enumerate().map(mark).collect()
}

/// Text in which pairs of backticks enclose code. An odd one is shown as it is.
pub(super) fn code(s: &str) -> String {
    let parts: Vec<&str> = s.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return text(s);
    }
    let mark = |(i, part): (usize, &&str)| if i % 2 == 1 { format!("<code>{}</code>", text(part)) } else { text(part) };
    parts.iter().enumerate().map(mark).collect()
}

/// A value as JSON inside a script element. In JSON `<` occurs in strings only, where its escape is equivalent; without it neither `</script>` nor
/// `<!--` can occur (HTML, 13.2.5.4 and following: the states of script data).
pub(super) fn json<T: Serialize>(value: &T) -> String {
    match serde_json::to_string(value) {
        Ok(s) => s.replace('<', "\\u003c"),
        // Only maps with non-string keys can fail, and a page has none.
        Err(e) => json(&format!("cannot be written as JSON: {e}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_becomes_text() {
        assert_eq!(text("<b a=\"1\" b='2'>&"), "&lt;b a=&quot;1&quot; b=&#39;2&#39;&gt;&amp;");
    }

    #[test]
    fn bold_text_is_escaped() {
        assert_eq!(bold("a **<i>** c"), "a <strong>&lt;i&gt;</strong> c");
        assert_eq!(bold("2**10 is"), "2**10 is");
        assert_eq!(bold("**x**"), "<strong>x</strong>");
        assert_eq!(bold("**6 ms to 8 ms**"), "<strong>6\u{a0}ms to 8 ms</strong>");
    }

    #[test]
    fn backticks_enclose_code() {
        assert_eq!(code("column `a<b` of `t`"), "column <code>a&lt;b</code> of <code>t</code>");
        assert_eq!(code("a ` b"), "a ` b");
    }

    #[test]
    fn json_cannot_end_its_script() {
        let s = json(&"</script><!-- <script>");
        assert!(!s.contains('<'), "{s}");
        assert_eq!(serde_json::from_str::<String>(&s).expect("JSON"), "</script><!-- <script>");
    }
}
