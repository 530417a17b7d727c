//! Assertions: a subset of Python, enough for statements about numbers.
//!
//! Statements, separated by `;` or the end of a line: `assert condition[, message]`, `print(...)`, `name = value`, `name += value`,
//! `name -= value`. Expressions: integers, decimals, names, parentheses, `or and not`, comparisons (chained), `| ^ &`, `+ -`, `* / // %`, `min max
//! abs int round`. Messages are not evaluated. Anything else is reported as unsupported.

use std::collections::BTreeMap;

/// Failure of code.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    /// An assertion is false: the condition, and the values of its names.
    False(String, String),
    /// A name that nothing defines.
    Unknown(String),
    /// Code outside the subset.
    Syntax(String),
}

/// Names defined by the script's code and by its environment.
pub(crate) type Names = BTreeMap<String, f64>;

/// Runs `code`; assignments go to `names`.
pub(crate) fn run(code: &str, names: &mut Names) -> Result<(), Fault> {
    for statement in statements(code) {
        execute(&statement, names)?;
    }
    Ok(())
}

/// The names that `code` uses without defining them.
pub(crate) fn used(code: &str) -> Result<Vec<String>, Fault> {
    let mut used = Vec::new();
    let mut known = Vec::new();
    for statement in statements(code) {
        let words = match split(&statement)? {
            Statement::Assert(condition) => words(&condition)?,
            Statement::Print => Vec::new(),
            Statement::Assign(name, _, value) => {
                let words = words(&value)?;
                known.push(name);
                words
            }
        };
        for word in words {
            if let Word::Name(name) = word
                && !["and", "or", "not", "min", "max", "abs", "int", "round"].contains(&name.as_str())
                && !known.contains(&name)
            {
                used.push(name);
            }
        }
    }
    Ok(used)
}

/// The names that `code` assigns to.
pub(crate) fn assigned(code: &str) -> Vec<String> {
    let split = statements(code).into_iter().filter_map(|s| split(&s).ok());
    split.filter_map(|s| if let Statement::Assign(name, ..) = s { Some(name) } else { None }).collect()
}

/// Splits code at line ends and semicolons outside of quotes; takes comments out and joins continued lines.
fn statements(code: &str) -> Vec<String> {
    let mut all = vec![String::new()];
    let mut quote = None;
    let mut comment = false;
    let text = code.replace("\\\n", " ");
    for c in text.chars() {
        let current = all.len() - 1;
        match (c, quote) {
            ('\n', _) => {
                comment = false;
                all.push(String::new());
            }
            _ if comment => {}
            ('#', None) => comment = true,
            (';', None) => all.push(String::new()),
            ('\'' | '"', None) => {
                quote = Some(c);
                all[current].push(c);
            }
            _ => {
                if quote == Some(c) {
                    quote = None;
                }
                all[current].push(c);
            }
        }
    }
    all.iter().map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect()
}

enum Statement {
    Assert(String),
    Print,
    Assign(String, char, String),
}

fn split(statement: &str) -> Result<Statement, Fault> {
    if let Some(rest) = statement.strip_prefix("assert") {
        return Ok(Statement::Assert(before_comma(rest).trim().to_owned()));
    }
    if statement.starts_with("print(") || statement.starts_with("print ") {
        return Ok(Statement::Print);
    }
    let end = statement.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(statement.len());
    let (name, rest) = statement.split_at(end);
    let rest = rest.trim_start();
    for (mark, kind) in [("+=", '+'), ("-=", '-'), ("=", '=')] {
        if let Some(value) = rest.strip_prefix(mark)
            && !value.starts_with('=')
            && !name.is_empty()
        {
            return Ok(Statement::Assign(name.into(), kind, value.trim().into()));
        }
    }
    Err(Fault::Syntax(format!("the statement `{statement}`")))
}

/// The text before the first comma outside of parentheses and quotes.
fn before_comma(text: &str) -> &str {
    let mut depth = 0;
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => return &text[..i],
            _ => {}
        }
    }
    text
}

fn execute(statement: &str, names: &mut Names) -> Result<(), Fault> {
    match split(statement)? {
        Statement::Print => {}
        Statement::Assign(name, kind, value) => {
            let value = evaluate(&value, names)?;
            let old = names.get(&name).copied();
            let new = match (kind, old) {
                ('=', _) => value,
                (_, None) => return Err(Fault::Unknown(name)),
                ('+', Some(old)) => old + value,
                (_, Some(old)) => old - value,
            };
            names.insert(name, new);
        }
        Statement::Assert(condition) => {
            if evaluate(&condition, names)? == 0.0 {
                let mut shown: Vec<String> = Vec::new();
                for word in words(&condition)? {
                    if let Word::Name(n) = word
                        && let Some(v) = names.get(&n)
                    {
                        let text = format!("{n} = {v}");
                        if !shown.contains(&text) {
                            shown.push(text);
                        }
                    }
                }
                return Err(Fault::False(condition, shown.join(", ")));
            }
        }
    }
    Ok(())
}

fn evaluate(text: &str, names: &Names) -> Result<f64, Fault> {
    let words = words(text)?;
    let mut p = Expression { words: &words, at: 0, names, text };
    let value = p.or()?;
    if p.at < words.len() { Err(p.wrong()) } else { Ok(value) }
}

#[derive(Debug, Clone, PartialEq)]
enum Word {
    Number(f64),
    Name(String),
    Mark(&'static str),
}

const MARKS: &[&str] =
    &["//", "==", "!=", "<=", ">=", "<<", ">>", "<", ">", "+", "-", "*", "/", "%", "(", ")", "|", "&", "^", ","];

fn words(text: &str) -> Result<Vec<Word>, Fault> {
    let mut rest = text.trim_start();
    let mut all = Vec::new();
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.').unwrap_or(rest.len());
        let word = if let Some(mark) = MARKS.iter().find(|m| rest.starts_with(**m)) {
            rest = &rest[mark.len()..];
            Word::Mark(mark)
        } else if end > 0 {
            let (token, after) = rest.split_at(end);
            rest = after;
            let number = token
                .strip_prefix("0x")
                .map_or_else(|| token.parse().ok(), |hex| i64::from_str_radix(hex, 16).ok().map(|v| v as f64));
            number.map_or_else(|| Word::Name(token.into()), Word::Number)
        } else {
            return Err(Fault::Syntax(format!("`{rest}`")));
        };
        all.push(word);
        rest = rest.trim_start();
    }
    Ok(all)
}

struct Expression<'a> {
    words: &'a [Word],
    at: usize,
    names: &'a Names,
    text: &'a str,
}

impl Expression<'_> {
    fn wrong(&self) -> Fault {
        Fault::Syntax(format!("the expression `{}`", self.text.trim()))
    }

    fn take(&mut self, marks: &[&'static str]) -> Option<&'static str> {
        let Some(Word::Mark(m)) = self.words.get(self.at) else { return None };
        let found = marks.iter().find(|x| *x == m)?;
        self.at += 1;
        Some(found)
    }

    fn take_name(&mut self, name: &str) -> bool {
        let found = matches!(self.words.get(self.at), Some(Word::Name(n)) if n == name);
        self.at += usize::from(found);
        found
    }

    fn or(&mut self) -> Result<f64, Fault> {
        let mut left = self.and()?;
        while self.take_name("or") {
            let right = self.and()?;
            left = if left != 0.0 { left } else { right };
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<f64, Fault> {
        let mut left = self.not()?;
        while self.take_name("and") {
            let right = self.not()?;
            left = if left == 0.0 { left } else { right };
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<f64, Fault> {
        if self.take_name("not") { Ok(f64::from(self.not()? == 0.0)) } else { self.comparison() }
    }

    fn comparison(&mut self) -> Result<f64, Fault> {
        let mut left = self.binary(0)?;
        let mut chain = None;
        while let Some(mark) = self.take(&["==", "!=", "<=", ">=", "<", ">"]) {
            let right = self.binary(0)?;
            let holds = match mark {
                "==" => left == right,
                "!=" => left != right,
                "<=" => left <= right,
                ">=" => left >= right,
                "<" => left < right,
                _ => left > right,
            };
            chain = Some(chain.unwrap_or(true) && holds);
            left = right;
        }
        Ok(chain.map_or(left, f64::from))
    }

    fn binary(&mut self, level: usize) -> Result<f64, Fault> {
        const LEVELS: [&[&str]; 6] = [&["|"], &["^"], &["&"], &["<<", ">>"], &["+", "-"], &["//", "*", "/", "%"]];
        if level == LEVELS.len() {
            return self.unary();
        }
        let mut left = self.binary(level + 1)?;
        while let Some(mark) = self.take(LEVELS[level]) {
            let right = self.binary(level + 1)?;
            let (a, b) = (left as i64, right as i64);
            left = match mark {
                "|" => (a | b) as f64,
                "^" => (a ^ b) as f64,
                "&" => (a & b) as f64,
                "<<" => (a << b) as f64,
                ">>" => (a >> b) as f64,
                "+" => left + right,
                "-" => left - right,
                "*" => left * right,
                "/" => left / right,
                "//" => (left / right).floor(),
                _ => left.rem_euclid(right),
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<f64, Fault> {
        if self.take(&["-"]).is_some() {
            return Ok(-self.unary()?);
        }
        if self.take(&["("]).is_some() {
            let value = self.or()?;
            return if self.take(&[")"]).is_some() { Ok(value) } else { Err(self.wrong()) };
        }
        let word = self.words.get(self.at).cloned();
        self.at += 1;
        match word {
            Some(Word::Number(v)) => Ok(v),
            Some(Word::Name(n)) if ["min", "max", "abs", "int", "round"].contains(&n.as_str()) => self.function(&n),
            Some(Word::Name(n)) => self.names.get(&n).copied().ok_or(Fault::Unknown(n)),
            _ => Err(self.wrong()),
        }
    }

    fn function(&mut self, name: &str) -> Result<f64, Fault> {
        if self.take(&["("]).is_none() {
            return Err(self.wrong());
        }
        let mut value = self.or()?;
        while self.take(&[","]).is_some() {
            let next = self.or()?;
            value = if name == "min" { value.min(next) } else { value.max(next) };
        }
        if self.take(&[")"]).is_none() {
            return Err(self.wrong());
        }
        Ok(match name {
            "abs" => value.abs(),
            "int" => value.trunc(),
            "round" => value.round(),
            _ => value,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assertions_and_names() {
        let mut names = Names::from([("tcpi_snd_cwnd".into(), 10.0), ("flags".into(), 6.0)]);
        run("cwnd = 0xa; cwnd += 1\nassert tcpi_snd_cwnd == cwnd - 1, 'cwnd=%d' % tcpi_snd_cwnd # so", &mut names).unwrap();
        run("print(1); assert 9 <= tcpi_snd_cwnd < 11 and (flags & 2) != 0, (1, 2)", &mut names).unwrap();
        run("assert \\\n not max(1, 2) == 1", &mut names).unwrap();
        let Err(Fault::False(condition, values)) = run("assert tcpi_snd_cwnd > 10, tcpi_snd_cwnd", &mut names) else { panic!() };
        assert_eq!((condition.as_str(), values.as_str()), ("tcpi_snd_cwnd > 10", "tcpi_snd_cwnd = 10"));
        assert_eq!(run("assert tcpi_x == 1", &mut names), Err(Fault::Unknown("tcpi_x".into())));
        assert!(matches!(run("import os", &mut names), Err(Fault::Syntax(_))));
        assert_eq!(used("a = b; assert a == c, d").unwrap(), ["b", "c"]);
    }
}
