//! Characters that must not reach a terminal.

/// Returns true for characters that are not merely visible. These are control characters, which terminals obey, and characters that change the
/// direction of text (Unicode Bidirectional Algorithm, UAX #9, section 2), have no width or end a line.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
}
