//! Lines that fit the terminal. A long line is broken at a blank and continues below the beginning of its last column; words stay whole. The width is
//! `COLUMNS`, else that of the terminal. In a pipe or a file lines stay whole for the programs that read them.

use std::io::IsTerminal;
use std::os::fd::AsFd;
use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Least width of a terminal for sentences.
const MIN_WIDTH: usize = 20;

/// Characters that fit a line of standard output; `None`: as many as there are.
pub(crate) fn stdout() -> Option<usize> {
    width(std::io::stdout())
}

/// The same of standard error.
pub(crate) fn stderr() -> Option<usize> {
    width(std::io::stderr())
}

fn width(stream: impl IsTerminal + AsFd) -> Option<usize> {
    let configured = std::env::var("COLUMNS").ok().and_then(|c| c.trim().parse().ok());
    let terminal = || stream.is_terminal().then(|| terminal_size::terminal_size_of(stream)).flatten();
    configured.or_else(|| terminal().map(|(w, _)| usize::from(w.0))).filter(|w| *w >= MIN_WIDTH)
}

/// `text` in lines of at most `width` characters, where its words allow it.
pub(crate) fn wrap(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    text.split_inclusive('\n').map(|line| one(line, width)).collect()
}

fn one(line: &str, width: usize) -> String {
    let end = if line.ends_with('\n') { "\n" } else { "" };
    let line = line.strip_suffix('\n').unwrap_or(line);
    if display_width(line) <= width {
        return format!("{line}{end}");
    }
    let indent = " ".repeat(hanging(line, width));
    let options = Options::new(width)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    textwrap::fill(line, options) + end
}

/// Beginning of the last column, as columns are two blanks apart; a sentence continues two blanks further in than it begins.
fn hanging(line: &str, width: usize) -> usize {
    let begin = line.len() - line.trim_start_matches(' ').len();
    let column = line.rfind("  ").map_or(0, |at| display_width(&line[..at + 2]));
    if column > begin && column <= width / 2 {
        column
    } else if begin + 2 <= width / 2 {
        begin + 2
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn sentences_are_broken_at_blanks() {
        let text = "dctcp has the lowest 99th percentile of completion times.\nshort\n";
        assert_eq!(wrap(text, Some(30)), "dctcp has the lowest 99th\n  percentile of completion\n  times.\nshort\n");
        assert_eq!(wrap(text, None), text);
        assert_eq!(wrap(text, Some(57)), text, "what fits stays");
    }

    #[test]
    fn continuation_aligns_with_last_column() {
        let text = "  dctcp   marks from a threshold on and cuts by the part marked";
        assert_eq!(wrap(text, Some(40)), "  dctcp   marks from a threshold on and\n          cuts by the part marked");
    }

    #[test]
    fn long_words_whole_colours_without_width() {
        let path = "results: /a/very/long/path/that/people/can/break/anywhere/at/all";
        assert_eq!(wrap(path, Some(30)), "results:\n  /a/very/long/path/that/people/can/break/anywhere/at/all");
        let bold = "\x1b[1mdctcp\x1b[0m has the lowest tail";
        assert_eq!(wrap(bold, Some(25)), bold);
    }
}
