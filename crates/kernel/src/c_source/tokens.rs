//! Tokens of C: identifiers, numbers, literals and operators, without comments.

/// Operators of more than one character, the longest first.
const OPERATORS: [&str; 20] =
    ["<<=", ">>=", "...", "->", "++", "--", "==", "!=", "<=", ">=", "&&", "||", "+=", "-=", "*=", "/=", "|=", "&=", "^=", "%="];

/// A token of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    /// As written.
    pub text: &'a str,
    /// Its line, from 1.
    pub line: usize,
    /// True if it is the first of its line.
    pub first: bool,
    /// True if it stands at the very begin of its line.
    pub margin: bool,
}

impl Token<'_> {
    /// True for an identifier or a keyword.
    pub(super) fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    }
}

/// All tokens of `text`.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let (bytes, mut found) = (text.as_bytes(), Vec::new());
    let (mut at, mut line, mut line_start, mut first) = (0, 1, 0, true);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = match rest[0] {
            b'\n' => {
                (line, line_start, first) = (line + 1, at + 1, true);
                at += 1;
                continue;
            }
            b'\\' if rest.get(1) == Some(&b'\n') => {
                // The next line continues this one.
                (line, at) = (line + 1, at + 2);
                continue;
            }
            c if c.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if rest.get(1) == Some(&b'/') => {
                at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                continue;
            }
            b'/' if rest.get(1) == Some(&b'*') => {
                let end = rest.windows(2).skip(2).position(|w| w == b"*/").map_or(rest.len(), |p| p + 4);
                for (i, _) in rest[..end].iter().enumerate().filter(|(_, b)| **b == b'\n') {
                    (line, line_start) = (line + 1, at + i + 1);
                }
                at += end;
                continue;
            }
            quote @ (b'"' | b'\'') => {
                let mut end = 1;
                while end < rest.len() && rest[end] != quote && rest[end] != b'\n' {
                    end += 1 + usize::from(rest[end] == b'\\');
                }
                (end + 1).min(rest.len())
            }
            c if c.is_ascii_alphanumeric() || c == b'_' => {
                rest.iter().position(|b| !(b.is_ascii_alphanumeric() || *b == b'_')).unwrap_or(rest.len())
            }
            c if c.is_ascii() => OPERATORS.iter().find(|o| rest.starts_with(o.as_bytes())).map_or(1, |o| o.len()),
            _ => rest.iter().position(u8::is_ascii).unwrap_or(rest.len()),
        };
        // A literal may end in the middle of a character if the text is no C.
        let Some(token) = text.get(at..at + length) else {
            at += 1;
            continue;
        };
        found.push(Token { text: token, line, first, margin: at == line_start });
        first = false;
        at += length;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::tokens;

    #[test]
    fn comments_and_literals() {
        let text = "a->b /* x\n y */ += \"s;\\\"\" // end\n  <<= '\\'';";
        let all: Vec<(&str, usize)> = tokens(text).iter().map(|t| (t.text, t.line)).collect();
        assert_eq!(all, [("a", 1), ("->", 1), ("b", 1), ("+=", 2), ("\"s;\\\"\"", 2), ("<<=", 3), ("'\\''", 3), (";", 3)]);
        assert!(tokens("/* open").is_empty() && tokens("\"\u{e9}").len() <= 2);
    }
}
