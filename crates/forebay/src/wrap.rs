//! Lines that fit the terminal. A line that is too long is broken at a blank, and goes on under the beginning of its last column, so that
//! no word is cut. `COLUMNS` says how wide, else the terminal; where neither does, as in a pipe or a file, lines stay whole for the programs
//! that read them.

use std::io::IsTerminal;
use std::ops::Range;
use std::os::fd::AsFd;

/// A width below this is no terminal for sentences.
const LEAST: usize = 20;

/// Characters that fit a line of standard output; `None`: as many as there are.
pub(crate) fn stdout() -> Option<usize> {
    width(std::io::stdout())
}

/// The same of standard error.
pub(crate) fn stderr() -> Option<usize> {
    width(std::io::stderr())
}

fn width(stream: impl IsTerminal + AsFd) -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|c| c.trim().parse().ok());
    let terminal = || stream.is_terminal().then(|| terminal_size::terminal_size_of(stream)).flatten();
    said.or_else(|| terminal().map(|(w, _)| usize::from(w.0))).filter(|w| *w >= LEAST)
}

/// `text` in lines of at most `width` characters, where its words allow it.
pub(crate) fn wrap(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    text.split_inclusive('\n').map(|line| one(line, width)).collect()
}

fn one(line: &str, width: usize) -> String {
    let end = if line.ends_with('\n') { "\n" } else { "" };
    let line = line.strip_suffix('\n').unwrap_or(line);
    if shown(line) <= width {
        return format!("{line}{end}");
    }
    let indent = hanging(line, width);
    let mut out = String::new();
    let mut at = 0;
    for word in words(line) {
        let (gap, text) = word.split_at(word.len() - word.trim_start_matches(' ').len());
        let length = shown(text);
        if at > indent && at + gap.len() + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            at = indent;
        } else {
            out.push_str(gap);
            at += gap.len();
        }
        out.push_str(text);
        at += length;
    }
    out + end
}

/// Which columns stand in which block of a table: as many beside each other as fit `width` behind the first `taken` characters of each line,
/// at least one. `widths` are theirs with the blanks before them.
pub(crate) fn blocks(taken: usize, widths: &[usize], width: Option<usize>) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let (mut from, mut at) = (0, taken);
    for (i, w) in widths.iter().enumerate() {
        if i > from && width.is_some_and(|width| at + w > width) {
            out.push(from..i);
            (from, at) = (i, taken);
        }
        at += w;
    }
    out.push(from..widths.len());
    out
}

/// The words of a line, each with the blanks before it.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let start = rest.len() - rest.trim_start_matches(' ').len();
        let end = rest[start..].find(' ').map_or(rest.len(), |i| start + i);
        let (word, after) = rest.split_at(end);
        rest = after;
        (!word.is_empty()).then_some(word)
    })
}

/// Where the last column begins, as columns are two blanks apart; a sentence goes on two further in than it begins.
fn hanging(line: &str, width: usize) -> usize {
    let begin = line.len() - line.trim_start_matches(' ').len();
    let column = line.rfind("  ").map_or(0, |at| shown(&line[..at + 2]));
    if column > begin && column <= width / 2 {
        column
    } else if begin + 2 <= width / 2 {
        begin + 2
    } else {
        0
    }
}

/// Characters that a terminal shows: all but those of colours.
fn shown(text: &str) -> usize {
    let mut colour = false;
    let visible = |c: &char| match c {
        '\x1b' => {
            colour = true;
            false
        }
        'm' if colour => {
            colour = false;
            false
        }
        _ => !colour,
    };
    text.chars().filter(visible).count()
}

#[cfg(test)]
mod tests {
    use super::{blocks, wrap};

    #[test]
    fn sentences_are_broken_at_blanks() {
        let text = "dctcp has the lowest 99th percentile of completion times.\nshort\n";
        assert_eq!(wrap(text, Some(30)), "dctcp has the lowest 99th\n  percentile of completion\n  times.\nshort\n");
        assert_eq!(wrap(text, None), text);
        assert_eq!(wrap(text, Some(57)), text, "what fits stays");
    }

    #[test]
    fn what_follows_stands_under_the_last_column() {
        let text = "  dctcp   marks from a threshold on and cuts by the part marked";
        assert_eq!(wrap(text, Some(40)), "  dctcp   marks from a threshold on and\n          cuts by the part marked");
    }

    #[test]
    fn columns_that_do_not_fit_stand_below() {
        assert_eq!(blocks(20, &[10, 10, 10, 10, 10], Some(42)), [0..2, 2..4, 4..5]);
        assert_eq!(blocks(20, &[10, 50, 10], Some(42)), [0..1, 1..2, 2..3], "a wide one by itself");
        assert_eq!(blocks(20, &[10, 50, 10], None), vec![0..3]);
        assert_eq!(blocks(20, &[], Some(42)), vec![0..0]);
    }

    #[test]
    fn a_long_word_stays_whole_and_colours_take_no_place() {
        let path = "results: /a/very/long/path/that/nobody/can/break/anywhere/at/all";
        assert_eq!(wrap(path, Some(30)), "results:\n  /a/very/long/path/that/nobody/can/break/anywhere/at/all");
        let bold = "\x1b[1mdctcp\x1b[0m has the lowest tail";
        assert_eq!(wrap(bold, Some(25)), bold);
    }
}
