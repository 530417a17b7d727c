//! Sentences about results, as lines of a terminal.

use crate::terminal::style::{BOLD, paint};

/// One sentence a line, with the text between `**` in bold, or plain.
pub(crate) fn render(sentences: &[String], colour: bool) -> String {
    let line = |sentence: &String| {
        let part = |(i, text): (usize, &str)| if i % 2 == 1 { paint(colour, BOLD, text) } else { text.to_owned() };
        sentence.split("**").enumerate().map(part).collect::<String>() + "\n"
    };
    sentences.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::render;

    #[test]
    fn bold_where_there_are_colours() {
        let sentences = ["**dctcp**: storage finished **0** of 1 queries.".to_owned()];
        assert_eq!(render(&sentences, false), "dctcp: storage finished 0 of 1 queries.\n");
        assert_eq!(render(&sentences, true), "\x1b[1mdctcp\x1b[0m: storage finished \x1b[1m0\x1b[0m of 1 queries.\n");
    }
}
