//! Top-level items of a C file: functions, and other definitions (macros, variables, structures).

use super::tokens::{Token, tokens};

/// Kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    /// A function with its body.
    Function,
    /// A macro, variable, structure or declaration.
    Definition,
}

/// A top-level item.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub kind: ItemKind,
    pub name: String,
    /// Line of its name, from 1.
    pub line: usize,
    /// Its tokens, as indices into those of the file.
    pub tokens: std::ops::Range<usize>,
}

/// Items of a file.
pub(super) fn items(all: &[Token<'_>]) -> Vec<Item> {
    let (mut found, mut begin, mut at, mut depth) = (Vec::new(), 0, 0, 0usize);
    while at < all.len() {
        let token = &all[at];
        if depth == 0 && token.text == "#" && token.first {
            let end = (at + 1..all.len()).find(|i| all[*i].first).unwrap_or(all.len());
            if all.get(at + 1).is_some_and(|t| t.text == "define")
                && let Some(name) = all.get(at + 2)
            {
                found.push(Item { kind: ItemKind::Definition, name: name.text.to_owned(), line: name.line, tokens: at..end });
            }
            // An item may continue behind a condition.
            if begin == at {
                begin = end;
            }
            at = end;
            continue;
        }
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => {}
        }
        // Branches of #if may open a brace twice. The kernel's style closes functions at the margin.
        let closes = token.text == "}" && (depth == 0 || token.margin);
        if closes {
            depth = 0;
        }
        let range = begin..at + 1;
        if closes && let Some((name, line)) = function_name(&all[range.clone()]) {
            found.push(Item { kind: ItemKind::Function, name, line, tokens: range });
            begin = at + 1;
        } else if depth == 0 && token.text == ";" {
            if let Some((name, line)) = definition_name(&all[range.clone()]) {
                found.push(Item { kind: ItemKind::Definition, name, line, tokens: range });
            }
            begin = at + 1;
        }
        at += 1;
    }
    found
}

/// Name and line of the function with these tokens: the word before the parentheses before its body.
fn function_name(item: &[Token<'_>]) -> Option<(String, usize)> {
    let body = item.iter().position(|t| t.text == "{")?;
    let close = body.checked_sub(1).filter(|i| item[*i].text == ")")?;
    let mut depth = 0;
    for i in (0..=close).rev() {
        match item[i].text {
            ")" => depth += 1,
            "(" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let name = item.get(i.checked_sub(1)?).filter(|t| t.is_word())?;
            return Some((name.text.to_owned(), name.line));
        }
    }
    None
}

/// Name and line of another item.
fn definition_name(item: &[Token<'_>]) -> Option<(String, usize)> {
    let end = item.iter().position(|t| ["=", "[", "{", "(", ";"].contains(&t.text))?;
    let name = item[..end].iter().rev().find(|t| t.is_word() && !["__read_mostly", "__ro_after_init"].contains(&t.text))?;
    Some((name.text.to_owned(), name.line))
}

/// Tokens of `text` and its items.
pub(super) fn parse(text: &str) -> (Vec<Token<'_>>, Vec<Item>) {
    let all = tokens(text);
    let found = items(&all);
    (all, found)
}

#[cfg(test)]
mod tests {
    use super::{ItemKind, parse};

    #[test]
    fn functions_and_definitions_are_named() {
        let text = "#define LIMIT(x) \\\n\t((x) + 1)\nstatic unsigned int shift __read_mostly = 4;\nstruct pair { int a; };\n\
                    static const struct ops table = {\n\t.init = start,\n};\nEXPORT_SYMBOL(start);\n\
                    #ifdef A\nint first(void)\n{\n#else\nint first(int b)\n{\n#endif\n\treturn 1;\n}\n\
                    static __always_inline u32 second(struct sock *sk,\n\t\t\t\tu32 (*f)(u32))\n{\n\tif (sk) {\n\t}\n\treturn f(2);\n}\n";
        let (_, all) = parse(text);
        let all: Vec<_> = all.iter().map(|i| (i.kind, i.name.as_str(), i.line)).collect();
        use ItemKind::{Definition, Function};
        assert_eq!(
            all,
            [
                (Definition, "LIMIT", 1),
                (Definition, "shift", 3),
                (Definition, "pair", 4),
                (Definition, "table", 5),
                (Definition, "EXPORT_SYMBOL", 8),
                (Function, "first", 10),
                (Function, "second", 18),
            ]
        );
    }
}
