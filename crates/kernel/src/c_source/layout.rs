//! Layout of a structure of C on x86-64, from its text: offsets of its members, for reading the memory of a congestion control.

use super::tokens::Token;

/// A member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name; of an element of an array or a member of a nested structure with the outer name in front: `plb.pause_until`.
    pub name: String,
    /// First bit from the begin of the structure; bytes are little endian.
    pub bit: usize,
    /// Size, bits; at most 64.
    pub bits: usize,
    /// True for a signed integer.
    pub signed: bool,
}

/// Size, bytes, and signedness of basic types.
fn basic(words: &[&str]) -> Option<(usize, bool)> {
    let words: Vec<&str> = words.iter().copied().filter(|w| !["const", "volatile", "__aligned"].contains(w)).collect();
    Some(match words.as_slice() {
        ["u8" | "__u8" | "bool" | "uint8_t"] | ["unsigned", "char"] => (1, false),
        ["s8" | "__s8"] | ["char"] | ["signed", "char"] => (1, true),
        ["u16" | "__u16" | "__be16" | "uint16_t"] | ["unsigned", "short"] => (2, false),
        ["s16" | "__s16"] | ["short"] => (2, true),
        ["u32" | "__u32" | "__be32" | "uint32_t"] | ["unsigned"] | ["unsigned", "int"] | ["enum", _] => (4, false),
        ["s32" | "__s32"] | ["int"] => (4, true),
        ["u64" | "__u64" | "__be64" | "uint64_t" | "size_t"] | ["unsigned", "long"] | ["unsigned", "long", "long"] => (8, false),
        ["s64" | "__s64" | "ktime_t"] | ["long"] | ["long", "long"] => (8, true),
        _ => return None,
    })
}

/// Text of the structure called by a name: its tokens between the braces.
pub(super) type Find<'a, 'f> = &'f dyn Fn(&str) -> Option<&'a [Token<'a>]>;

/// Members, alignment and size (bytes) of the structure with the tokens `body`. Members behind one of an unknown type are left out.
pub(super) fn layout(body: &[Token<'_>], find: Find<'_, '_>) -> (Vec<Member>, usize, usize) {
    let (mut members, mut bit, mut align) = (Vec::new(), 0usize, 1usize);
    for declaration in declarations(body) {
        let end = declaration.iter().position(|t| [",", ":", "[", "*"].contains(&t.text)).unwrap_or(declaration.len());
        let pointer = declaration.iter().any(|t| t.text == "*");
        // The word before the first separator is the name, unless a star comes first.
        let types = if pointer { end } else { end.saturating_sub(1) };
        let words: Vec<&str> = declaration[..types].iter().map(|t| t.text).collect();
        let nested = match words.as_slice() {
            ["struct", name] if !pointer => find(name).map(|inner| layout(inner, find)),
            _ => None,
        };
        let known = if pointer { Some((8, false)) } else { basic(&words) };
        let (size, alignment, signed) = match (&nested, known) {
            (Some((_, alignment, size)), _) => (*size, *alignment, false),
            (None, Some((size, signed))) => (size, size, signed),
            (None, None) => break,
        };
        align = align.max(alignment);
        for declarator in declaration[types..].split(|t| t.text == ",") {
            let words: Vec<&Token<'_>> = declarator.iter().filter(|t| t.text != "*").collect();
            let Some(name) = words.first() else { continue };
            let number = |at: usize| words.get(at).and_then(|t| t.text.parse::<usize>().ok());
            if words.get(1).is_some_and(|t| t.text == ":") {
                let Some(width) = number(2) else { return (members, align, bit.div_ceil(8)) };
                // A bit field does not cross a unit of its type.
                if bit / (size * 8) != (bit + width.max(1) - 1) / (size * 8) {
                    bit = bit.next_multiple_of(size * 8);
                }
                members.push(Member { name: name.text.to_owned(), bit, bits: width, signed: false });
                bit += width;
                continue;
            }
            bit = bit.next_multiple_of(alignment * 8);
            let array = words.get(1).is_some_and(|t| t.text == "[");
            let Some(count) = (if array { number(2) } else { Some(1) }) else { return (members, align, bit.div_ceil(8)) };
            for i in 0..count {
                let name = if array { format!("{}[{i}]", name.text) } else { name.text.to_owned() };
                match &nested {
                    Some((inner, ..)) => {
                        members.extend(inner.iter().map(|m| Member {
                            name: format!("{name}.{}", m.name),
                            bit: bit + m.bit,
                            ..m.clone()
                        }));
                    }
                    None if pointer => {}
                    None => members.push(Member { name, bit, bits: size * 8, signed }),
                }
                bit += size * 8;
            }
        }
    }
    (members, align, bit.div_ceil(8).next_multiple_of(align))
}

/// Declarations of a structure: tokens up to a semicolon that stands in no braces. Preprocessor lines are left out.
fn declarations<'a>(body: &[Token<'a>]) -> Vec<Vec<Token<'a>>> {
    let (mut found, mut current, mut depth, mut skipped) = (Vec::new(), Vec::new(), 0, 0);
    for token in body {
        if token.text == "#" && token.first {
            skipped = token.line;
        }
        if token.line == skipped {
            continue;
        }
        match token.text {
            "{" => depth += 1,
            "}" => depth -= 1,
            ";" if depth == 0 => {
                found.push(std::mem::take(&mut current));
                continue;
            }
            _ => {}
        }
        current.push(*token);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::layout;
    use crate::c_source::tokens::tokens;

    fn members(text: &str) -> Vec<(String, usize, usize)> {
        let inner = tokens("u8 rounds:5, unused:3; u32 until;");
        let all = tokens(text);
        let find = |name: &str| (name == "inner").then_some(inner.as_slice());
        layout(&all, &find).0.into_iter().map(|m| (m.name, m.bit, m.bits)).collect()
    }

    /// The offsets are those of gcc.
    #[test]
    fn offsets_as_of_the_compiler() {
        let text = "u32 a; u64 b; u32 mode:3, round:1, rest:28; u16 two[2]; struct inner plb; u8 c; s64 d;";
        let place = |name: &str, bit: usize, bits: usize| (name.to_owned(), bit, bits);
        assert_eq!(
            members(text),
            [
                place("a", 0, 32),
                place("b", 64, 64),
                place("mode", 128, 3),
                place("round", 131, 1),
                place("rest", 132, 28),
                place("two[0]", 160, 16),
                place("two[1]", 176, 16),
                place("plb.rounds", 192, 5),
                place("plb.unused", 197, 3),
                place("plb.until", 224, 32),
                place("c", 256, 8),
                place("d", 320, 64),
            ]
        );
    }

    #[test]
    fn layout_ends_at_unknown_type() {
        assert_eq!(members("u32 a; foo_t b; u32 c;").len(), 1);
        assert_eq!(members("struct sock *sk; u32 c;"), [("c".to_owned(), 64, 32)]);
    }
}
