//! Just enough JSON: flat objects, written and read back. The peers print one such line each.

/// A JSON object under construction.
#[derive(Debug, Default)]
pub(crate) struct Object {
    body: String,
}

impl Object {
    /// An empty one.
    pub(crate) fn new() -> Object {
        Object::default()
    }

    /// Adds a value that is JSON already.
    pub(crate) fn raw(mut self, key: &str, value: &str) -> Object {
        if !self.body.is_empty() {
            self.body.push(',');
        }
        self.body.push_str(&format!("{}:{value}", quote(key)));
        self
    }

    /// Adds an integer.
    pub(crate) fn count(self, key: &str, value: u64) -> Object {
        self.raw(key, &value.to_string())
    }

    /// Adds a number; JSON has no NaN, so that becomes null.
    pub(crate) fn number(self, key: &str, value: f64) -> Object {
        let text = if value.is_finite() { format!("{}", (value * 1e6).round() / 1e6) } else { "null".into() };
        self.raw(key, &text)
    }

    /// Adds a text.
    pub(crate) fn text(self, key: &str, value: &str) -> Object {
        let value = quote(value);
        self.raw(key, &value)
    }

    /// The object as text.
    pub(crate) fn finish(self) -> String {
        format!("{{{}}}", self.body)
    }
}

fn quote(s: &str) -> String {
    let mut out = String::from("\"");
    for c in s.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if (c as u32) < 0x20 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
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

    #[test]
    fn what_is_written_is_read_back() {
        let line = Object::new().text("case", "s\"1").count("pts", 12).number("x", f64::NAN).number("user_s", 0.25).finish();
        assert_eq!(line, r#"{"case":"s\"1","pts":12,"x":null,"user_s":0.25}"#);
        assert_eq!(number(&line, "pts"), Some(12.0));
        assert_eq!(number(&line, "user_s"), Some(0.25));
        assert_eq!(field(&line, "x"), None);
        assert_eq!(field(&line, "missing"), None);
        assert_eq!(field(r#"{"error":"no table, none"}"#, "error"), Some("no table, none"));
    }
}
