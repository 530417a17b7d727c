//! Sources of a kernel's TCP as data: functions and their accesses to the state of a connection, the memory of congestion controls, and the items in
//! which two kernels differ. The tables follow from the sources that were compiled, so they hold for every version and every patch.

mod access;
mod items;
mod layout;
mod tokens;

pub use items::ItemKind;
pub use layout::Member;

use crate::error::{At, Error};
use access::{Access, access, private_pointers};
use items::{Item, parse};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::Path;
use tokens::Token;

/// Largest body of a function in a header that counts as an accessor of a member, tokens. Its callers use the member.
const ACCESSOR: usize = 60;
/// Largest number of calls between a changed function and one that writes a variable.
const CALLS: usize = 4;

/// A place in the sources.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Name of the function or definition.
    pub name: String,
    /// File, relative to the top of the sources.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
}

/// Function that uses a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// The function.
    pub place: Place,
    /// It assigns the variable, or passes its address on.
    pub writes: bool,
    /// It reads the variable.
    pub reads: bool,
}

/// Memory of a congestion control.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Private {
    /// File of the congestion control.
    pub file: String,
    /// Name of the structure.
    pub structure: String,
    /// Its members, in order.
    pub members: Vec<Member>,
}

struct File {
    text: String,
}

/// Sources of one kernel.
pub struct Sources {
    files: BTreeMap<String, File>,
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").field("files", &self.files.len()).finish()
    }
}

impl Sources {
    /// Reads all files below `folder`.
    ///
    /// # Errors
    /// A folder that cannot be read; a folder without files, as of a kernel that an older version built.
    pub fn read(folder: &Path) -> Result<Sources, Error> {
        let (mut files, mut left) = (BTreeMap::new(), vec![String::new()]);
        while let Some(name) = left.pop() {
            let path = folder.join(&name);
            if path.is_dir() {
                for entry in fs::read_dir(&path).at(&path)? {
                    let Ok(inner) = entry.at(&path)?.file_name().into_string() else { continue };
                    left.push(if name.is_empty() { inner } else { format!("{name}/{inner}") });
                }
            } else if !name.is_empty() {
                let text = String::from_utf8_lossy(&fs::read(&path).at(&path)?).into_owned();
                files.insert(name, File { text });
            }
        }
        if files.is_empty() {
            return Err(Error::new(format!("{}: no sources are kept beside this kernel", folder.display())));
        }
        Ok(Sources { files })
    }

    /// From texts by names of files.
    #[cfg(test)]
    fn of(files: &[(&str, &str)]) -> Sources {
        Sources { files: files.iter().map(|(n, t)| ((*n).to_owned(), File { text: (*t).to_owned() })).collect() }
    }

    /// The sources, parsed.
    pub fn parse(&self) -> Parsed<'_> {
        let files: BTreeMap<&str, ParsedFile<'_>> = self
            .files
            .iter()
            .map(|(name, file)| {
                let (tokens, items) = parse(&file.text);
                (name.as_str(), ParsedFile { tokens, items })
            })
            .collect();
        Parsed { files }
    }
}

#[derive(Debug)]
struct ParsedFile<'a> {
    tokens: Vec<Token<'a>>,
    items: Vec<Item>,
}

/// Parsed sources.
#[derive(Debug)]
pub struct Parsed<'a> {
    files: BTreeMap<&'a str, ParsedFile<'a>>,
}

impl<'a> Parsed<'a> {
    /// Items whose tokens differ between two kernels, or that one of them lacks; their places are those of `other` where it has them. Comments and
    /// white space do not count.
    pub fn changes(&self, other: &Parsed<'_>) -> Vec<(ItemKind, Place)> {
        let names: BTreeSet<&str> = self.files.keys().chain(other.files.keys()).copied().collect();
        let mut found = Vec::new();
        for file in names {
            let [mine, theirs] =
                [self.files.get(file).map(contents), other.files.get(file).map(contents)].map(Option::unwrap_or_default);
            let keys: BTreeSet<&(ItemKind, &str)> = mine.keys().chain(theirs.keys()).collect();
            for key in keys {
                let (a, b) = (mine.get(key), theirs.get(key));
                if a.map(|i| &i.1) != b.map(|i| &i.1)
                    && let Some((line, _)) = b.or(a)
                {
                    found.push((key.0, Place { name: key.1.to_owned(), file: file.to_owned(), line: *line }));
                }
            }
        }
        found
    }

    /// All functions with their files.
    fn functions(&self) -> impl Iterator<Item = (&'a str, &Item, &[Token<'a>])> {
        self.files.iter().flat_map(|(name, file)| {
            let functions = file.items.iter().filter(|i| i.kind == ItemKind::Function);
            functions.map(|item| (*name, item, &file.tokens[item.tokens.clone()]))
        })
    }

    /// Functions that use a variable of a socket, such as `snd_cwnd` or `rack.rtt_us`; those that write it first. Callers of small functions in headers
    /// that do so are among them.
    pub fn users(&self, variable: &str) -> Vec<User> {
        let mut accessors: BTreeMap<&str, Access> = BTreeMap::new();
        let mut found = Vec::new();
        for (file, item, body) in self.functions() {
            let used = access(body, variable, &private_pointers(body), false);
            if used.any() && file.ends_with(".h") && body.len() <= ACCESSOR {
                accessors.insert(&item.name, used);
            }
        }
        for (file, item, body) in self.functions() {
            let mut used = access(body, variable, &private_pointers(body), false);
            for pair in body.windows(2).filter(|w| w[1].text == "(" && w[0].text != item.name) {
                if let Some(through) = accessors.get(pair[0].text) {
                    used.join(*through);
                }
            }
            if used.any() {
                found.push(User { place: place(file, item), writes: used.writes, reads: used.reads });
            }
        }
        found.sort_by_key(|u| !u.writes);
        found
    }

    /// The memory of the congestion control with the name `cc` in `tcp_congestion_ops`.
    pub fn private(&self, cc: &str) -> Option<Private> {
        let quoted = format!("\"{cc}\"");
        let named = |f: &ParsedFile<'_>| {
            f.tokens.windows(4).any(|w| w[0].text == "." && w[1].text == "name" && w[2].text == "=" && w[3].text == quoted)
        };
        let (file, parsed) = self.files.iter().find(|(_, f)| named(f))?;
        // `struct dctcp *ca = inet_csk_ca(sk)`
        let structure = parsed.tokens.windows(6).find_map(|w| {
            let declares = w[0].text == "struct" && w[2].text == "*" && w[4].text == "=" && w[5].text == "inet_csk_ca";
            declares.then_some(w[1].text)
        })?;
        let find = |name: &str| self.structure(name);
        let (members, ..) = layout::layout(self.structure(structure)?, &find);
        Some(Private { file: (*file).to_owned(), structure: structure.to_owned(), members })
    }

    /// Tokens between the braces of a structure.
    fn structure(&self, name: &str) -> Option<&[Token<'a>]> {
        self.files.values().find_map(|file| {
            let item = file.items.iter().find(|i| i.kind == ItemKind::Definition && i.name == name)?;
            let tokens = &file.tokens[item.tokens.clone()];
            let open = tokens.windows(3).position(|w| w[0].text == "struct" && w[1].text == name && w[2].text == "{")? + 3;
            let close = tokens.iter().rposition(|t| t.text == "}")?;
            tokens.get(open..close)
        })
    }

    /// Functions that use a member of the memory of a congestion control; those that write it first.
    pub fn private_users(&self, private: &Private, member: &str) -> Vec<User> {
        // An array is used as a whole, and a nested structure by its own functions.
        let name = member.split(['[']).next().unwrap_or(member);
        let last = name.rsplit('.').next().unwrap_or(name);
        let mut found: Vec<User> = self
            .functions()
            .filter(|(file, ..)| *file == private.file || name.contains('.'))
            .filter_map(|(file, item, body)| {
                let pointers = private_pointers(body);
                let mut used = access(body, name, &pointers, true);
                if name.contains('.') {
                    used.join(access(body, last, &pointers, true));
                }
                used.any().then(|| User { place: place(file, item), writes: used.writes, reads: used.reads })
            })
            .collect();
        found.sort_by_key(|u| !u.writes);
        found
    }

    /// Functions that mention one of the `names`, such as a changed macro.
    pub fn mentions(&self, names: &BTreeSet<String>) -> Vec<Place> {
        self.functions()
            .filter(|(_, item, body)| body.iter().any(|t| names.contains(t.text) && t.text != item.name))
            .map(|(file, item, _)| place(file, item))
            .collect()
    }

    /// Shortest chain of calls, from a function of `from` to one of `to`: either calls the other, directly or through at most a few others. The
    /// first name is of `from`.
    pub fn chain(&self, from: &BTreeSet<String>, to: &BTreeSet<String>) -> Option<Vec<String>> {
        let names: BTreeSet<&str> = self.functions().map(|(_, item, _)| item.name.as_str()).collect();
        let mut calls: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let mut callers: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (_, item, body) in self.functions() {
            for pair in body.windows(2).filter(|w| w[1].text == "(" && w[0].text != item.name) {
                if let Some(name) = names.get(pair[0].text) {
                    calls.entry(&item.name).or_default().insert(name);
                    callers.entry(name).or_default().insert(&item.name);
                }
            }
        }
        let search = |edges: &BTreeMap<&str, BTreeSet<&str>>| -> Option<Vec<String>> {
            let mut left: VecDeque<Vec<&str>> = from.iter().filter_map(|n| names.get(n.as_str())).map(|n| vec![*n]).collect();
            let mut seen: BTreeSet<&str> = left.iter().map(|path| path[0]).collect();
            while let Some(path) = left.pop_front() {
                let last = path[path.len() - 1];
                if to.contains(last) {
                    return Some(path.into_iter().map(str::to_owned).collect());
                }
                if path.len() > CALLS {
                    continue;
                }
                for next in edges.get(last).into_iter().flatten() {
                    if seen.insert(next) {
                        left.push_back(path.iter().copied().chain([*next]).collect());
                    }
                }
            }
            None
        };
        [search(&calls), search(&callers)].into_iter().flatten().min_by_key(Vec::len)
    }
}

fn place(file: &str, item: &Item) -> Place {
    Place { name: item.name.clone(), file: file.to_owned(), line: item.line }
}

/// Tokens of all items by kind and name, and the line of the first. Several items of a name, as in branches of #if, count together.
fn contents<'f>(file: &'f ParsedFile<'_>) -> BTreeMap<(ItemKind, &'f str), (usize, Vec<&'f str>)> {
    let mut all: BTreeMap<(ItemKind, &str), (usize, Vec<&str>)> = BTreeMap::new();
    for item in &file.items {
        let entry = all.entry((item.kind, &item.name)).or_insert((item.line, Vec::new()));
        entry.1.extend(file.tokens[item.tokens.clone()].iter().map(|t| t.text));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::{ItemKind, Sources};
    use std::collections::BTreeSet;

    const CC: &str = "struct own { u32 alpha; u32 seen; };\n#define SHIFT 4\n\
        static void own_update(struct sock *sk)\n{\n\tstruct own *ca = inet_csk_ca(sk);\n\n\tca->alpha = ca->seen >> SHIFT;\n}\n\
        static u32 own_ssthresh(struct sock *sk)\n{\n\tstruct own *ca = inet_csk_ca(sk);\n\town_update(sk);\n\treturn ca->alpha;\n}\n\
        static struct tcp_congestion_ops own_ops = {\n\t.name = \"own\",\n};\n";
    const TCP: &str = "static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 val)\n{\n\ttp->snd_cwnd = val;\n}\n";
    const INPUT: &str = "void grow(struct tcp_sock *tp)\n{\n\ttcp_snd_cwnd_set(tp, 3);\n}\nvoid show(struct tcp_sock *tp)\n{\n\tprint(tp->snd_cwnd);\n}\n";

    fn sources(cc: &str) -> Sources {
        Sources::of(&[("net/ipv4/own.c", cc), ("include/net/tcp.h", TCP), ("net/ipv4/tcp_input.c", INPUT)])
    }

    #[test]
    fn only_code_is_a_change() {
        let a = sources(CC);
        let same = sources(&CC.replace("#define", "/* a comment */\n#define").replace("ca->seen", "ca -> seen"));
        assert!(a.parse().changes(&same.parse()).is_empty());
        let b = sources(&CC.replace("SHIFT 4", "SHIFT 5").replace("return ca->alpha", "return ca->alpha + 1"));
        let found = a.parse().changes(&b.parse());
        let found: Vec<_> = found.iter().map(|(kind, p)| (*kind, p.name.as_str(), p.line)).collect();
        assert_eq!(found, [(ItemKind::Function, "own_ssthresh", 9), (ItemKind::Definition, "SHIFT", 2)]);
        let changed = BTreeSet::from(["SHIFT".to_owned()]);
        assert_eq!(a.parse().mentions(&changed)[0].name, "own_update");
    }

    #[test]
    fn users_of_variables() {
        let all = sources(CC);
        let parsed = all.parse();
        let users = parsed.users("snd_cwnd");
        let users: Vec<_> = users.iter().map(|u| (u.place.name.as_str(), u.reads, u.writes)).collect();
        assert_eq!(users, [("tcp_snd_cwnd_set", false, true), ("grow", false, true), ("show", true, false)]);
        let private = parsed.private("own").unwrap();
        assert_eq!((private.structure.as_str(), private.members.len()), ("own", 2));
        let users = parsed.private_users(&private, "alpha");
        let users: Vec<_> = users.iter().map(|u| (u.place.name.as_str(), u.reads, u.writes)).collect();
        assert_eq!(users, [("own_update", false, true), ("own_ssthresh", true, false)]);
        assert!(parsed.private("other").is_none());
    }

    #[test]
    fn chain_of_calls_in_either_direction() {
        let all = sources(CC);
        let set = |name: &str| BTreeSet::from([name.to_owned()]);
        let chain = |from: &str, to: &str| all.parse().chain(&set(from), &set(to));
        assert_eq!(chain("own_ssthresh", "own_update").unwrap(), ["own_ssthresh", "own_update"]);
        assert_eq!(chain("own_update", "own_ssthresh").unwrap(), ["own_update", "own_ssthresh"]);
        assert_eq!(chain("grow", "own_update"), None);
    }
}
