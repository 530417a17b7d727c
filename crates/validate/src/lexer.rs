//! Tokens of the script language.

use crate::script::Problem;

/// A word, a number, a mark.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    /// Letters, digits and underscores that are not a number.
    Word(String),
    /// A whole number.
    Int(i64),
    /// A number with a point, in ns if it is taken as seconds.
    Decimal(i64),
    /// `"..."`
    Text(String),
    /// `` `...` ``
    Command(String),
    /// `%{ ... }%`
    Code(String),
    /// `--name=value`, to the end of the line.
    Option(String, String),
    /// `...`
    Ellipsis,
    /// Any other character.
    Mark(char),
}

/// The tokens of `text`, each with its line.
pub(crate) fn tokens(text: &str) -> Result<Vec<(usize, Token)>, Problem> {
    let chars: Vec<char> = text.chars().collect();
    let mut lexer = Lexer { chars: &chars, at: 0, line: 1 };
    let mut all = Vec::new();
    while let Some(found) = lexer.next()? {
        all.push(found);
    }
    Ok(all)
}

struct Lexer<'a> {
    chars: &'a [char],
    at: usize,
    line: usize,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn starts(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(i, c)| self.peek(i) == c)
    }

    fn skip(&mut self, n: usize) {
        for _ in 0..n {
            self.line += usize::from(self.peek(0) == '\n');
            self.at += 1;
        }
    }

    /// Everything before `end`; the lexer continues behind `end`.
    fn until(&mut self, end: &str, what: &str) -> Result<String, Problem> {
        let (line, begin) = (self.line, self.at);
        while !self.starts(end) {
            if self.at >= self.chars.len() {
                return Err(Problem::new(line, format!("{what} without end: {end} is missing")));
            }
            self.skip(1);
        }
        let text = self.chars[begin..self.at].iter().collect();
        self.skip(end.len());
        Ok(text)
    }

    fn while_(&mut self, mut keep: impl FnMut(char) -> bool) -> String {
        let begin = self.at;
        while self.at < self.chars.len() && keep(self.peek(0)) {
            self.skip(1);
        }
        self.chars[begin..self.at].iter().collect()
    }

    fn next(&mut self) -> Result<Option<(usize, Token)>, Problem> {
        loop {
            self.while_(char::is_whitespace);
            if self.starts("//") {
                self.while_(|c| c != '\n');
            } else if self.starts("/*") {
                self.skip(2);
                self.until("*/", "a comment")?;
            } else {
                break;
            }
        }
        if self.at >= self.chars.len() {
            return Ok(None);
        }
        let line = self.line;
        let token = self.token(line)?;
        Ok(Some((line, token)))
    }

    fn token(&mut self, line: usize) -> Result<Token, Problem> {
        if self.starts("...") {
            self.skip(3);
            return Ok(Token::Ellipsis);
        }
        if self.starts("%{") {
            self.skip(2);
            return Ok(Token::Code(self.until("}%", "code")?));
        }
        if self.starts("`") {
            self.skip(1);
            return Ok(Token::Command(self.until("`", "a command")?));
        }
        if self.starts("\"") {
            self.skip(1);
            return Ok(Token::Text(self.until("\"", "a text")?));
        }
        if self.starts("--") && self.peek(2).is_alphanumeric() {
            self.skip(2);
            let text = self.while_(|c| c != '\n');
            let text = text.split("//").next().unwrap_or_default().trim();
            let (name, value) = text.split_once('=').unwrap_or((text, ""));
            return Ok(Token::Option(name.trim().into(), value.trim().into()));
        }
        let digit = |c: char| c.is_ascii_digit();
        let sign = usize::from(self.peek(0) == '-');
        if digit(self.peek(sign)) || (self.peek(sign) == '.' && digit(self.peek(sign + 1))) {
            return self.number(line);
        }
        let word = self.while_(|c| c.is_ascii_alphanumeric() || c == '_');
        if !word.is_empty() {
            // The fields of GRE and similar headers contain marks; scripts with them are not supported.
            return Ok(Token::Word(word));
        }
        let mark = self.peek(0);
        self.skip(1);
        Ok(Token::Mark(mark))
    }

    fn number(&mut self, line: usize) -> Result<Token, Problem> {
        let bad = |text: &str| Problem::new(line, format!("`{text}` is not a number"));
        let negative = self.starts("-");
        self.skip(usize::from(negative));
        let sign = if negative { -1 } else { 1 };
        let whole = self.while_(|c| c.is_ascii_alphanumeric() || c == '_');
        if let Some(hex) = whole.strip_prefix("0x") {
            return i64::from_str_radix(hex, 16).map(|v| Token::Int(sign * v)).map_err(|_| bad(&whole));
        }
        if whole.chars().any(|c| !c.is_ascii_digit()) {
            return Ok(Token::Word(whole));
        }
        if !(self.peek(0) == '.' && self.peek(1).is_ascii_digit()) {
            return whole.parse().map(|v: i64| Token::Int(sign * v)).map_err(|_| bad(&whole));
        }
        self.skip(1);
        let fraction = self.while_(|c| c.is_ascii_digit());
        let nanos: String = fraction.chars().chain("000000000".chars()).take(9).collect();
        let seconds: i64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| bad(&whole))? };
        let nanos: i64 = nanos.parse().map_err(|_| bad(&nanos))?;
        let ns = seconds.checked_mul(1_000_000_000).and_then(|ns| ns.checked_add(nanos)).ok_or_else(|| bad(&whole))?;
        Ok(Token::Decimal(sign * ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_line() {
        let all: Vec<Token> = tokens("+.1 > P. 1:1001(1000) ack 1 // why\n%{ a }%").unwrap().into_iter().map(|t| t.1).collect();
        assert_eq!(
            all[..5],
            [Token::Mark('+'), Token::Decimal(100_000_000), Token::Mark('>'), Token::Word("P".into()), Token::Mark('.')]
        );
        assert_eq!(all[5], Token::Int(1));
        assert_eq!(all.last(), Some(&Token::Code(" a ".into())));
    }

    #[test]
    fn lines_are_counted_through_comments() {
        let all = tokens("/* a\n b */ 1\n\"x\"").unwrap();
        assert_eq!(all, [(2, Token::Int(1)), (3, Token::Text("x".into()))]);
        assert_eq!(tokens("1\n`x").unwrap_err().line, 2);
    }
}
