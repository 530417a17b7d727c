//! Keys of a scenario, read from the reference (`docs/reference/scenario.md`) and from the registries.

/// The reference. Its sections about registries are generated from them.
const REFERENCE: &str = include_str!("../../../../docs/reference/scenario.md");

/// Table of the keys that are in no table of a scenario.
const SCENARIO: &str = "the scenario";

/// A key in one place.
pub(super) struct Entry {
    /// The headings above it, or its table of the scenario, such as `[transport]`.
    pub(super) place: String,
    pub(super) key: String,
    pub(super) legal: String,
    pub(super) default: String,
    pub(super) meaning: String,
}

impl Entry {
    /// True if `word` is a word of its place; `workload` is one of "Workloads".
    pub(super) fn stands_in(&self, word: &str) -> bool {
        let words = self.place.split(|c: char| !(c.is_alphanumeric() || c == '-')).map(str::to_lowercase);
        words.into_iter().any(|w| w == word || w.strip_suffix('s') == Some(word))
    }

    /// Its table of the scenario, without those inside it: `transport` of `[[transport.group]]`.
    fn table(&self) -> &str {
        self.place.trim_start_matches('[').split([']', '.']).next().unwrap_or_default()
    }

    /// True if it is a key of the table `table` of a scenario, such as `observe`.
    fn is_of_table(&self, table: &str) -> bool {
        self.place.starts_with('[') && self.table() == table
    }
}

/// The keys of `all` that `path` names: `rto-min`, `transport.rto-min`, `workload.0.sizes`; for a table, such as `observe`, all its keys.
pub(super) fn found<'a>(all: &'a [Entry], path: &str) -> Vec<&'a Entry> {
    let parts: Vec<&str> = path.split('.').filter(|p| p.parse::<u32>().is_err()).collect();
    let key = parts.last().copied().unwrap_or_default();
    let named: Vec<&Entry> = all.iter().filter(|e| e.key == key).collect();
    // The part of the path before the key selects among several of the name.
    let before: Vec<&str> = parts.iter().rev().skip(1).copied().collect();
    let mut found: Vec<&Entry> = named.iter().filter(|e| before.iter().any(|word| e.stands_in(word))).copied().collect();
    if found.is_empty() {
        found = named;
    }
    // Keys of a nested table name the outer table.
    let whose = format!("of a {key}: ");
    found.extend(all.iter().filter(|e| e.meaning.starts_with(&whose)));
    found
}

/// All keys of the table `table` of a scenario.
pub(super) fn table<'a>(all: &'a [Entry], path: &str) -> Vec<&'a Entry> {
    let last = path.rsplit('.').find(|p| p.parse::<u32>().is_err()).unwrap_or_default();
    all.iter().filter(|e| e.is_of_table(last)).collect()
}

/// All keys: those of the reference, those that take a name of a registry, and parameters of registries that no table describes.
pub(super) fn everything() -> Vec<Entry> {
    let mut all = entries(REFERENCE);
    for section in forebay_scenario::describe(forebay_backends::all()) {
        if let Some((place, key)) = chooses(section.usage) {
            let names: Vec<&str> = section.items.iter().map(|i| i.name).collect();
            let list = section.title.rsplit(' ').next().unwrap_or(section.title);
            let more = format!("`forebay list {list}` describes each, `forebay explain NAME` one with its parameters");
            // The text of the reference stays, and gets the names.
            match all.iter_mut().find(|e| e.key == key && e.place == place) {
                Some(e) => {
                    e.meaning = format!("{}; {more}", e.meaning);
                    e.legal = names.join(", ");
                }
                None => {
                    let meaning = format!("one of the {}; {more}", section.title);
                    all.push(Entry { place, key, legal: names.join(", "), default: String::new(), meaning });
                }
            }
        }
        for (item, p) in section.items.iter().flat_map(|i| i.params.iter().map(move |p| (i, p))) {
            if all.iter().any(|e| e.key == p.key && e.place.contains(item.name)) {
                continue;
            }
            let default = p.default.unwrap_or("required").to_owned();
            let place = format!("{} {}", section.title, item.name);
            all.push(Entry { place, key: p.key.into(), legal: p.legal.clone(), default, meaning: p.doc.into() });
        }
    }
    all
}

/// Keys that take the names of a registry, with their tables, from the notation of its use: `[transport] cc = "..."`.
fn chooses(usage: &str) -> Option<(String, String)> {
    let (before, after) = usage.split_once(" = ")?;
    let end = after.trim_start_matches("\"...\"").trim();
    let (place, key) = before.rsplit_once(' ').unwrap_or((SCENARIO, before));
    let place = if end.starts_with("of a ") { end.trim_start_matches("of a ") } else { place };
    // Tables and mixtures of sizes are written in braces.
    let place = if place == "{" { "sizes" } else { place };
    key.chars().all(|c| c.is_alphanumeric() || c == '-').then(|| (place.to_owned(), key.to_owned()))
}

/// Keys of the tables whose columns begin with `key` and `legal` and end with `meaning`.
fn entries(reference: &str) -> Vec<Entry> {
    let (mut all, mut place, mut within) = (Vec::new(), String::new(), String::new());
    let mut in_example = false;
    let mut heads: Vec<String> = Vec::new();
    for line in reference.lines() {
        if line.starts_with("```") {
            in_example = !in_example;
            continue;
        }
        if in_example {
            continue;
        }
        if let Some(title) = line.strip_prefix("## ").or_else(|| line.strip_prefix("### ")) {
            (place, within) = (plain(title), String::new());
            if place.eq_ignore_ascii_case(SCENARIO) {
                SCENARIO.clone_into(&mut place);
            }
        } else if !line.starts_with('|') && !line.is_empty() {
            within = plain(line);
        }
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if !line.starts_with('|') {
            heads.clear();
        } else if let ["key", "legal", .., "meaning"] = cells.as_slice() {
            heads = cells.iter().map(|c| plain(c)).collect();
        } else if let Some((defaults, meaning)) =
            cells.split_at_checked(heads.len().saturating_sub(1)).filter(|_| !heads.is_empty())
            && let [key, legal, defaults @ ..] = defaults
            && key.starts_with('`')
        {
            // One default, or one for each stack.
            let default = match defaults {
                [one] => plain(one),
                several => {
                    several.iter().zip(&heads[2..]).map(|(d, h)| format!("{} ({h})", plain(d))).collect::<Vec<_>>().join(", ")
                }
            };
            // The table of a kind follows a line with its name.
            let place = if within.len() < 80 && !place.starts_with('[') { format!("{place} {within}") } else { place.clone() };
            all.push(Entry {
                place: place.trim().to_owned(),
                key: plain(key),
                legal: plain(legal),
                default,
                meaning: plain(&meaning.join(" | ")),
            });
        }
    }
    all
}

/// Text of the links `[text](target)` instead of the links.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        match (before.rfind('['), after.split_once(')')) {
            (Some(begin), Some((_, behind))) => {
                out += &before[..begin];
                out += &before[begin + 1..];
                rest = behind;
            }
            _ => {
                out += before;
                out += "](";
                rest = after;
            }
        }
    }
    out + rest
}

/// Text without the markup of Markdown: code spans, emphasis (pairs of `*` and `**`), links, escaped bars of tables. An asterisk between blanks, as in
/// a product, one in a code span, and one without a partner are text.
fn plain(text: &str) -> String {
    let text = without_links(&text.replace("\\|", "|"));
    let mut kept: Vec<char> = Vec::new();
    // Runs of asterisks that may begin an emphasis: index in `kept`, and length.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let (mut code, mut before) = (false, ' ');
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '`' {
            code = !code;
        } else if c != '*' || code {
            kept.push(c);
        } else {
            let begin = kept.len();
            kept.push(c);
            kept.extend(std::iter::from_fn(|| chars.next_if_eq(&'*')));
            let length = kept.len() - begin;
            let after = chars.peek().copied().unwrap_or(' ');
            // Delimiter runs (CommonMark 0.31, 6.2) of an emphasis that begins and ends between words.
            let begins = !before.is_alphanumeric() && !after.is_whitespace();
            let ends = !before.is_whitespace() && !after.is_alphanumeric();
            if let Some(partner) = open.iter().rposition(|o| ends && o.1 == length) {
                let from = open[partner].0;
                kept.truncate(begin);
                kept.drain(from..from + length);
                open.truncate(partner);
            } else if begins {
                open.push((begin, length));
            }
        }
        before = c;
    }
    kept.into_iter().collect::<String>().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Every key of the registries is found.
    #[test]
    fn registry_keys_found() {
        let all = everything();
        for section in forebay_scenario::describe(forebay_backends::all()) {
            for item in &section.items {
                for p in &item.params {
                    let place = |e: &&Entry| e.key == p.key && e.place.contains(item.name);
                    assert!(all.iter().any(|e| place(&e)), "{} of {}", p.key, item.name);
                }
            }
        }
        for key in [
            "rto-min",
            "recovery",
            "warmup",
            "timeouts",
            "class",
            "objective",
            "seeds",
            "reroute",
            "bit-errors",
            "host-queue",
            "group",
            "every",
        ] {
            assert!(all.iter().any(|e| e.key == key && !e.meaning.is_empty()), "{key}");
        }
    }

    /// Every key in the files of this repository is found, in nested tables too.
    #[test]
    fn keys_of_repository_files_found() {
        let all = everything();
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut folders: Vec<_> = ["scenarios", "papers", "crates/forebay/tests"].map(|f| root.join(f)).into();
        let (mut files, mut seen) = (0, HashSet::new());
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "toml") {
                    let text = std::fs::read_to_string(path).unwrap();
                    // Claims use the same notation.
                    if text.contains("[topology]") {
                        files += 1;
                        keys(&text, &mut seen);
                    }
                }
            }
        }
        assert!(files > 150 && seen.len() > 120, "{files} files, {} keys", seen.len());
        let missing: Vec<&String> = seen
            .iter()
            .filter(|k| found(&all, k).is_empty() && table(&all, k).is_empty() && !super::super::list::has(k))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
        for (path, key) in [("transport.group", "hosts"), ("topology.failure", "reroute"), ("topology.corruption", "bit-errors")]
        {
            assert!(found(&all, path).iter().any(|e| e.key == key), "{path} has {key}");
        }
    }

    /// Tables and keys of a scenario's text, each behind its table. Links, which a topology names, and paths of a sweep are left out.
    fn keys(text: &str, seen: &mut HashSet<String>) {
        let mut table = String::new();
        for line in text.lines().map(|l| l.split('#').next().unwrap_or_default().trim()) {
            if line.starts_with('[') && line.ends_with(']') && !line.contains('=') && !line.contains('"') {
                table = line.trim_matches(['[', ']']).to_owned();
                seen.extend((!table.starts_with("sweep.") && !table.is_empty()).then(|| table.clone()));
            } else if !table.starts_with("sweep") {
                let words: Vec<&str> = line.split([' ', '{', ',']).filter(|w| !w.is_empty()).collect();
                for pair in words.windows(2).filter(|p| p[1] == "=" && !p[0].contains(['.', '"'])) {
                    seen.insert(format!("{table}.{}", pair[0]).trim_start_matches('.').to_owned());
                }
            }
        }
    }

    #[test]
    fn markup_removed_but_products_kept() {
        for (markdown, text) in [
            ("hosts-per-leaf * host rate / (spines * fabric rate)", "hosts-per-leaf * host rate / (spines * fabric rate)"),
            ("`a * b` and **bold**, *slanted* words", "a * b and bold, slanted words"),
            ("**`long`**: one flow", "long: one flow"),
            ("`**/*.toml` or `s*`", "**/*.toml or s*"),
            ("2*n, 3*n, s*, t*", "2*n, 3*n, s*, t*"),
            ("a ** b ** c", "a ** b ** c"),
            ("*unfinished, a * b", "*unfinished, a * b"),
            ("`[[x]]` \\| snake_case_name __x__", "[[x]] | snake_case_name __x__"),
            ("as [a page](../how-to/a.md) and [another](b.md#c) say", "as a page and another say"),
            ("seeds = [1, 2] (a list), [x](y", "seeds = [1, 2] (a list), [x](y"),
            ("", ""),
        ] {
            assert_eq!(plain(markdown), text);
        }
    }

    /// The text of each registered key is complete, without its backticks.
    #[test]
    fn registered_texts_are_explained_whole() {
        let all = everything();
        let line = |doc: &str| doc.replace('`', "").replace('\n', " ");
        let (mut seen, mut starred) = (0, 0);
        for section in forebay_scenario::describe(forebay_backends::all()) {
            for (item, p) in section.items.iter().flat_map(|i| i.params.iter().map(move |p| (i, p))) {
                let doc = line(p.doc);
                let whole = all.iter().any(|e| e.key == p.key && e.meaning.ends_with(doc.trim()));
                assert!(whole, "{} of {}: `{doc}` is not among its explanations", p.key, item.name);
                seen += 1;
                starred += usize::from(doc.contains('*'));
            }
        }
        assert!(seen > 150 && starred >= 2, "{seen} keys, {starred} with asterisks");
        let marks = |text: &str, mark: char| text.matches(mark).count();
        // The reference itself: every asterisk and underscore between words, in its tables.
        let rows = REFERENCE.lines().filter(|l| l.starts_with("| `"));
        for row in rows {
            let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
            let (key, meaning) = (plain(cells[0]), cells[cells.len() - 1]);
            let bold = marks(meaning, '*') - meaning.matches(" * ").count();
            assert_eq!(bold % 2, 0, "{meaning}");
            let stated = all.iter().any(|e| {
                e.key == key
                    && marks(&e.meaning, '_') >= marks(meaning, '_')
                    && marks(&e.meaning, '*') >= meaning.matches(" * ").count()
            });
            assert!(stated, "{key}: {meaning}");
        }
    }

    #[test]
    fn choosing_keys_list_names() {
        let all = everything();
        let of = |place: &str, key: &str| {
            let found: Vec<&Entry> = all.iter().filter(|e| e.place == place && e.key == key).collect();
            assert_eq!(found.len(), 1, "{key} of {place}");
            found[0]
        };
        for (place, key, name) in [
            ("[transport]", "cc", "dctcp"),
            ("[transport]", "stack", "linux"),
            ("[transport]", "shim", "prin"),
            ("[topology]", "kind", "dumbbell"),
            ("[[workload]]", "kind", "incast"),
            ("link", "queue", "red"),
            ("the scenario", "world", "model"),
        ] {
            assert!(of(place, key).legal.split(", ").any(|n| n == name), "{key} of {place}: {}", of(place, key).legal);
        }
        assert!(of("[transport]", "cc").meaning.contains("a list compares"), "what the reference says stays");
    }
}
