//! Tokens of a text with their lines.

use crate::FileError;
use std::str::FromStr;

/// A file, as a stream of tokens that blanks and line breaks separate.
pub(crate) struct Tokens<'a> {
    file: &'a str,
    /// Tokens that were not read yet, each with its line; the last one is first.
    rest: Vec<(usize, &'a str)>,
    /// Line of the last token.
    line: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn new(file: &'a str, text: &'a str) -> Tokens<'a> {
        let mut rest: Vec<_> =
            text.lines().enumerate().flat_map(|(i, line)| line.split_whitespace().map(move |t| (i + 1, t))).collect();
        rest.reverse();
        Tokens { file, rest, line: 1 }
    }

    /// The next token, which is `what`.
    pub(crate) fn next(&mut self, what: &str) -> Result<&'a str, FileError> {
        let Some((line, token)) = self.rest.pop() else {
            return Err(self.error(format!("the file ends before {what}: is it truncated?")));
        };
        self.line = line;
        Ok(token)
    }

    /// The next token as a number.
    pub(crate) fn number<T: FromStr>(&mut self, what: &str) -> Result<T, FileError> {
        let token = self.next(what)?;
        token.parse().map_err(|_| self.error(format!("`{token}` is not {what}, a number")))
    }

    /// True if all tokens were read.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Line of the last token.
    pub(crate) fn line(&self) -> usize {
        self.line
    }

    /// An error in the line of the last token.
    pub(crate) fn error(&self, message: impl Into<String>) -> FileError {
        FileError::at(self.file, self.line, message)
    }
}

/// Words of each line, with its number; without empty lines and comments, which begin with `#`.
pub(crate) fn words_of_lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let all = text.lines().enumerate().map(|(i, line)| (i + 1, line.split_whitespace().collect::<Vec<_>>()));
    all.filter(|(_, words)| words.first().is_some_and(|first| !first.starts_with('#')))
}
