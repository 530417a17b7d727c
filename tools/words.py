#!/usr/bin/env python3
"""Checks the words of documents, comments, help texts, file names and commit subjects against the rules below.

    tools/words.py                      rules where they are enforced: everywhere but in the folders of PENDING
    tools/words.py --all [PATH ...]     every rule; PATH limits the output to files or folders
    tools/words.py --count [PATH ...]   findings per folder and rule
    tools/words.py --rule clause ...    only these rules
    tools/words.py --pending            folders with findings for each rule, as PENDING has them

It reads Markdown, comments and strings of Rust, and comments of Python, C, TOML and shell scripts. Inline code, code blocks, block quotes,
quoted text and quotations of RFCs in code (`//#`) are not checked. No dependencies; Python 3.9 or newer.
"""

from __future__ import annotations

import argparse
import io
import re
import subprocess
import sys
import tokenize
from bisect import bisect_right
from collections import Counter
from pathlib import Path
from typing import Iterator, NamedTuple

HERE = Path(__file__).resolve().parent.parent
# A copy outside of a repository checks the one that it is started in.
ROOT = HERE if (HERE / "Cargo.toml").is_file() else Path.cwd()

# --- Rules --------------------------------------------------------------------------------------------------------------------------------

# Where rules are not enforced yet: rule -> path prefixes ("" is everywhere). Prefixes go as folders become clean; `--pending` prints this table.
PENDING: dict[str, list[str]] = {
    "clause": ["crates/kernel/um/", "papers/SCORECARD.md"],
    "people": ["crates/kernel/um/", "papers/SCORECARD.md"],
    "foreign": ["crates/forebay/tests/licenses.rs"],
    "long": ["docs/internals/conformance.md", "papers/"],
    "long-comment": ["crates/kernel/driver/main.c", "crates/kernel/driver/protocol.h", "papers/", "python/forebay/model/__init__.py", "python/forebay/repro/_verdict.py"],
}

DOC, COMMENT, PROSE, STRING, HELP = "doc", "comment", "prose", "string", "help"
WRITTEN = (DOC, COMMENT, PROSE, STRING, HELP)

# Phrases that contain a word of a rule and are terms of the field.
ALLOWED = re.compile(
    r"\b(?:little's|moore's|amdahl's|zipf's|power|control|square-root|conservation) laws?\b|\blaws? of (?:large numbers|physics)\b",
    re.I,
)


class Rule(NamedTuple):
    """A pattern, the kinds of text in which it is searched, and the advice printed with a finding."""

    name: str
    kinds: tuple[str, ...]
    pattern: str
    advice: str


PATTERNS = [
    Rule(
        "people",
        WRITTEN,
        r"\b(?:nobody|somebody|someone|everybody|everyone|whoever|whomever|anybody)(?:'s)?\b",
        'name the actor, or write "no host", "a process", "each port"',
    ),
    Rule("told", WRITTEN, r"\b(?:told|untold)\b", 'write "set", "configured", "notified" or "reported"'),
    Rule("mend", WRITTEN, r"\b(?:mend(?:s|ed|ing)?)\b", 'write "fix" or "repair"'),
    Rule("anew", WRITTEN, r"\banew\b", 'write "again" or "new"'),
    Rule(
        "of-ours",
        WRITTEN,
        r"\bof (?:ours|theirs|hers|yours|mine)\b|\bof (?:its|their) own accord\b",
        'write "our ..." or "by itself"',
    ),
    Rule("cc", WRITTEN, r"\blaws?(?:'s?)?\b", 'write "congestion control" (`cc` in identifiers)'),
    Rule(
        "machine-people",
        WRITTEN,
        r"\b(?:hears|heard|thinks|believes|gossips?|forgets|remembers|wishes|meets|marvels)\b",
        'name the operation: "receives", "assumes", "stores", "discards", "finds"',
    ),
    Rule(
        "foreign",
        WRITTEN,
        r"\b(?:for the time being|all the same|none the less|on the other side,|so to say|at its time|thereof|whereof|wherein|hereby|is said (?:by|in|of))\b",
        "use plain word order: subject, verb, object",
    ),
    Rule(
        "everyday",
        WRITTEN,
        r"\b(?:lots of|a lot of|bookkeeping|disease|errands?|parcels?|lateness)\b",
        "use the field's term (`counters`, `many`, `cause`, `request`, `message`, `deadline miss`)",
    ),
    Rule(
        "history",
        (DOC, COMMENT),
        r"\b(?:used to be|formerly|in former|in earlier versions|earlier versions|until now|was once|not any more)\b",
        "describe the present state; git log holds the past",
    ),
    Rule("that-which", WRITTEN, r"\b(?:that|those) which\b|\ball what\b", 'write "the NOUN that"'),
]

CLAUSE = Rule("clause", WRITTEN, "", 'begin with a noun phrase or a third-person verb ("Port counters", "Returns true if ...")')
LONG = Rule("long", (PROSE,), "", "split the sentence: at most 35 words")
LONG_COMMENT = Rule("long-comment", (DOC, COMMENT, HELP), "", "split the sentence: at most 35 words")
WHAT = Rule("what", (PROSE,), "", 'at most 2 "what" in 1000 words: name the thing instead')
FILE_NAME = Rule("file-name", (), "", "name the file by a noun of the field")
TYPE_NAME = Rule("type-name", (), "", "name the type by a noun of the field")
TEST_NAME = Rule("test-name", (), "", "name the behavior in at most six words")
SUBJECT_LENGTH = Rule("subject-length", (), "", "commit subjects have at most 72 characters")
SUBJECT_FORM = Rule("subject-form", (), "", 'write "area: imperative verb, object", without a full stop')
RULES = [
    CLAUSE,
    *PATTERNS,
    LONG,
    LONG_COMMENT,
    WHAT,
    FILE_NAME,
    TYPE_NAME,
    TEST_NAME,
    SUBJECT_LENGTH,
    SUBJECT_FORM,
]

LONGEST = 35
WHATS_PER_1000 = 2
SUBJECT_MAX = 72
TEST_WORDS = 6

# Adjectives, participles, adverbs and pronouns that stood as names of files.
FILE_NAMES = frozenset(
    """adaptive among behind bare checked counted cumulative custom delivered drawn elsewhere else endless ended facts far faulty gated held huge
    ideal joined kept known late lazy limited listed long most named negotiated never news old ordered others ours own owned packed plain
    received recent registered remains remembered reported room said seen seldom settled shared standing swept tagged telling theirs timed told
    untouched usual whole""".split()
)

TYPE_NAMES = frozenset(
    """Behind Elsewhere Errand Habit Held Kept Lane Look Lots Matter Mistake Most Mover Of Others Parcel Punctuality Remains Said Seldom Taker
    Tape Teller Telling Told Usual What Which Whole Whom""".split()
)

# Not written here, or generated from text that is checked elsewhere.
SKIPPED = re.compile(
    r"^(?:LICENSE|THIRD-PARTY-NOTICES|tools/words\.py$|crates/report/assets/uplot/|crates/forebay/tests/answers/|crates/.*/tests/.*\.(?:md|txt)$|target/)"
)

# --- Text ---------------------------------------------------------------------------------------------------------------------------------


class Text(NamedTuple):
    """A paragraph: its kind, and its lines with their numbers."""

    kind: str
    lines: list[tuple[int, str]]


class Finding(NamedTuple):
    path: str
    line: int
    rule: str
    shown: str


FENCE = re.compile(r"^\s*(?:```|~~~)")
LIST_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
HEADING = re.compile(r"^#{1,6}\s+")


def markdown(lines: list[tuple[int, str]], kind: str) -> Iterator[Text]:
    """Paragraphs, list items, headings and cells of tables."""
    gathered: list[tuple[int, str]] = []
    fence = False
    for number, line in lines:
        if FENCE.match(line):
            fence = not fence
            if gathered:
                yield Text(kind, gathered)
                gathered = []
            continue
        if fence:
            continue
        stripped = line.strip()
        quote = stripped.startswith(">")
        begins = LIST_ITEM.match(line) or HEADING.match(line) or stripped.startswith("|")
        if gathered and (not stripped or quote or begins):
            yield Text(kind, gathered)
            gathered = []
        if not stripped or quote:
            continue
        if stripped.startswith("|"):
            if not re.fullmatch(r"[|\s:-]+", stripped):
                for cell in re.split(r"(?<!\\)\|", stripped):
                    if cell.strip():
                        yield Text(kind, [(number, cell.strip())])
        elif HEADING.match(line):
            yield Text(kind, [(number, HEADING.sub("", line))])
        else:
            gathered.append((number, LIST_ITEM.sub("", line)))
    if gathered:
        yield Text(kind, gathered)


RUST = re.compile(
    r"""(?P<line>//[^\n]*)
    |(?P<block>/\*.*?\*/)
    |\bb?r(?P<hash>\#*)"(?P<raw>.*?)"(?P=hash)
    |"(?P<string>(?:[^"\\]|\\.)*)"
    |'(?:\\u\{[^}]*\}|\\.|[^'\\\n])'""",
    re.X | re.S,
)
HELP_BEFORE = re.compile(r"(?:\b(?:doc|summary|help|about|long_about|description|meaning|title)\s*[:=]|\bdoc\()\s*$")


def comments(source: str, pattern: re.Pattern[str], strings: bool) -> Iterator[Text]:
    """Comments (and, for Rust, strings) of a language with // and /* */."""
    starts = [0] + [m.end() for m in re.finditer("\n", source)]

    def line_of(offset: int) -> int:
        return bisect_right(starts, offset)

    # Lines of one comment, with its mark.
    run: list[tuple[int, str]] = []
    mark = ""

    def flush() -> Iterator[Text]:
        if run:
            yield from markdown(list(run), DOC if mark in ("///", "//!") else COMMENT)
            run.clear()

    for match in pattern.finditer(source):
        number = line_of(match.start())
        if (text := match["line"]) is not None:
            this = text[:3] if text[:3] in ("///", "//!", "//#", "//=") and text[:4] != "////" else "//"
            alone = not source[starts[number - 1] : match.start()].strip()
            if this != mark or not alone or (run and number != run[-1][0] + 1):
                yield from flush()
            mark = this
            if this in ("//#", "//="):
                continue
            body = text[len(this) :].removeprefix(" ")
            run.append((number, body))
            if not alone:
                yield from flush()
            continue
        yield from flush()
        if (text := match["block"]) is not None:
            lines = [(number + i, re.sub(r"^\s*(?:/\*+|\*(?!/))?\s?|\s*\*+/$", "", x)) for i, x in enumerate(text.split("\n"))]
            yield from markdown(lines, COMMENT)
        elif strings and match["string"] is not None and match["string"].count(" ") >= 2:
            text = re.sub(r"\\\n\s*", " ", match["string"])
            text = text.replace("\\n", "\n").replace('\\"', "'").replace("\\t", " ")
            before = source[max(0, match.start() - 24) : match.start()]
            kind = HELP if HELP_BEFORE.search(before) else STRING
            yield Text(kind, [(number, x) for x in text.split("\n") if x.strip()])
    yield from flush()


# Headings of docstrings, their underlines, borders of tables, and names of parameters: they end a paragraph.
PARAMETER = re.compile(r"^\s*(?:[-= ]{3,}|Parameters|Attributes|Returns|Raises|Yields|[\w.*,` ]+ : .*|[*]*\w+(?:, [*]*\w+)*)$")


def python(source: str) -> Iterator[Text]:
    """Comments and docstrings."""
    run: list[tuple[int, str]] = []
    begins_statement = True
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
                # A comment behind code is a paragraph by itself.
                if run and (token.start[0] != run[-1][0] + 1 or not token.line.lstrip().startswith("#")):
                    yield from markdown(run, COMMENT)
                    run = []
                run.append((token.start[0], token.string.lstrip("#").strip()))
            elif token.type == tokenize.STRING and begins_statement:
                body = re.sub(r'^[rRbBuUfF]*("""|\'\'\'|"|\')|("""|\'\'\'|"|\')$', "", token.string)
                lines = [(token.start[0] + i, "" if PARAMETER.match(x) else x) for i, x in enumerate(body.split("\n"))]
                yield from markdown([x for x in lines if not x[1].lstrip().startswith((">>>", "..."))], DOC)
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                begins_statement = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    except (tokenize.TokenError, IndentationError):
        pass
    if run:
        yield from markdown(run, COMMENT)


def hash_comments(source: str) -> Iterator[Text]:
    """Comments of TOML and shell."""
    run: list[tuple[int, str]] = []
    for number, line in enumerate(source.split("\n"), 1):
        match = re.match(r"^\s*#(?!!)\s?(.*)$", line) or re.match(r"^[^#\"']*(?:\"[^\"]*\"[^#\"']*)*\s#\s(.*)$", line)
        if match:
            run.append((number, match[1]))
        if run and (not match or line.strip()[:1] != "#"):
            yield from markdown(run, COMMENT)
            run = []
    if run:
        yield from markdown(run, COMMENT)


def texts(path: str, source: str) -> Iterator[Text]:
    suffix = Path(path).suffix
    if suffix == ".md":
        yield from markdown(list(enumerate(source.split("\n"), 1)), PROSE)
    elif suffix == ".rs":
        yield from comments(source, RUST, strings=True)
    elif suffix in (".c", ".h", ".cc", ".js"):
        yield from comments(source, RUST, strings=False)
    elif suffix in (".py", ".pyi"):
        yield from python(source)
    elif suffix in (".toml", ".sh", ".mk") or Path(path).name == "Makefile":
        yield from hash_comments(source)


CODE = re.compile(r"``.*?``|`[^`]*`|\$[^$\s][^$]*\$")
LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
QUOTED = re.compile(r'"[^"]{1,600}"|“[^”]*”')
TAG = re.compile(r"<[^>]*>|https?://\S+")


def blank(match: re.Match[str]) -> str:
    """As long as what it replaces, so that offsets stay: one word."""
    return "`" + "x" * (len(match[0]) - 2) + "`" if len(match[0]) > 2 else match[0]


def link(match: re.Match[str]) -> str:
    return (" " + match[1]).ljust(len(match[0]))


SENTENCE_END = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!cf\.)(?<=[.!?])[)\"']?\s+(?=[A-Z`(\"\[])|(?<=[.!?])[)]\s+(?=[A-Z`])")
WORD = re.compile(r"[^\s]*[A-Za-z0-9`][^\s]*")
HEADLESS = re.compile(r"^[\s*_(]*(What|Which|Whether|Who|Whose|Whom|Those|How(?! to\b))\b")
SUBORDINATE = re.compile(r"^[\s*_(]*(When|Where)\b")
HELP_HEADLESS = re.compile(r"^(?:what|which|whether|who|whose|those|how(?! (?:to|many|much|long|often)\b))\b")


def check_text(path: str, text: Text, whats: Counter[str]) -> Iterator[Finding]:
    joined, offsets = "", []
    for _, line in text.lines:
        offsets.append(len(joined))
        joined += line.strip() + " "

    def at(offset: int) -> int:
        return text.lines[max(0, bisect_right(offsets, offset) - 1)][0]

    plain = CODE.sub(blank, joined)
    if text.kind in (DOC, COMMENT, PROSE):
        plain = QUOTED.sub(blank, plain)
    plain = TAG.sub(blank, LINK.sub(link, plain))

    for rule, pattern in COMPILED:
        if text.kind in rule.kinds:
            for match in pattern.finditer(plain):
                if rule.name == "cc" and any(a.start() <= match.start() < a.end() for a in ALLOWED.finditer(plain)):
                    continue
                yield Finding(path, at(match.start()), rule.name, context(plain, match.start(), match.end()))

    begin = 0
    for end in [m.end() for m in SENTENCE_END.finditer(plain)] + [len(plain)]:
        sentence = plain[begin:end].strip()
        where, begin = begin, end
        if not sentence:
            continue
        count = len(WORD.findall(sentence))
        if text.kind != STRING and not sentence.rstrip("*_)").endswith(("?", "...")) and count > 1:
            headless = HEADLESS.match(sentence) or (HELP_HEADLESS.match(sentence) if text.kind == HELP and not where else None)
            # "When the queue is full, the packet is dropped" has a main clause; "When a timer fires." has none.
            if headless or (SUBORDINATE.match(sentence) and not re.search(r"[,:]\s", sentence)):
                yield Finding(path, at(where), CLAUSE.name, sentence[:70])
        if count > LONGEST and text.kind in (PROSE, DOC, COMMENT, HELP):
            rule = LONG if text.kind == PROSE else LONG_COMMENT
            yield Finding(path, at(where), rule.name, f"{count} words: {sentence[:60]}")
    if text.kind == PROSE:
        whats["what"] += len(re.findall(r"\bwhat\b", plain, re.I))
        whats["words"] += len(WORD.findall(plain))


COMPILED = [(rule, re.compile(rule.pattern, re.I)) for rule in PATTERNS]


def context(text: str, start: int, end: int) -> str:
    left = text.rfind(" ", 0, max(0, start - 30)) + 1 if start > 30 else 0
    return text[left : end + 30].strip()


DEFINITION = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|trait|type|union)\s+(\w+)", re.M)
TEST = re.compile(r"#\[test\]\s*(?:#\[[^\]]*\]\s*)*(?:async\s+)?fn\s+(\w+)")


def check_file(path: str) -> Iterator[Finding]:
    source = (ROOT / path).read_text(encoding="utf-8", errors="replace")
    whats: Counter[str] = Counter()
    for text in texts(path, source):
        yield from check_text(path, text, whats)
    if path.endswith(".md") and whats["what"] > max(1, whats["words"] * WHATS_PER_1000 / 1000):
        yield Finding(path, 1, WHAT.name, f'{whats["what"]} "what" in {whats["words"]} words')
    if path.endswith(".rs"):
        for pattern, rule, bad in (
            (DEFINITION, TYPE_NAME, lambda name: name in TYPE_NAMES),
            (TEST, TEST_NAME, lambda name: len([word for word in name.split("_") if word]) > TEST_WORDS),
        ):
            for match in pattern.finditer(source):
                if bad(match[1]):
                    yield Finding(path, source.count("\n", 0, match.start(1)) + 1, rule.name, match[1])
        if re.match(r"crates/.*/src/", path) and Path(path).stem in FILE_NAMES:
            yield Finding(path, 1, FILE_NAME.name, Path(path).name)


# --- Commits ------------------------------------------------------------------------------------------------------------------------------


def git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


SUBJECT = re.compile(r"^[\w.,/ -]+: [a-z]\S*")
# First words that are no imperative: articles, pronouns, wh-words, participles.
NO_VERB = re.compile(
    r"^(?:a|an|the|no|each|every|all|its|their|what|which|whether|who|how|when|where|those|these|this|that|more|less|fewer|new|\w+ing|\w+(?<!e)ed)$"
)
VERBS = frozenset("bring embed ping shed string".split())


def check_commits() -> Iterator[Finding]:
    """Subjects since the branch left origin/main, or else since the last tag. A shallow clone has neither."""
    if git("rev-parse", "--is-shallow-repository") != "false":
        return
    base = git("merge-base", "HEAD", "origin/main") or git("describe", "--tags", "--abbrev=0")
    log = git("log", "--no-merges", "--format=%h %s", f"{base}..HEAD") if base else None
    for line in (log or "").splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > SUBJECT_MAX:
            yield Finding(f"commit {commit}", 0, SUBJECT_LENGTH.name, f"{len(subject)} characters: {subject}")
        verb = subject.partition(": ")[2].partition(" ")[0].rstrip(",")
        if not SUBJECT.match(subject) or subject.endswith(".") or (NO_VERB.match(verb) and verb not in VERBS):
            yield Finding(f"commit {commit}", 0, SUBJECT_FORM.name, subject)


# --- Command ------------------------------------------------------------------------------------------------------------------------------


def files(paths: list[str]) -> list[str]:
    listed = git("ls-files", "--cached", "--others", "--exclude-standard")
    if listed is None:
        found = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file()]
    else:
        found = listed.splitlines()
    found = [f for f in found if not SKIPPED.match(f) and (ROOT / f).is_file()]
    wanted = [str((Path.cwd() / p).resolve().relative_to(ROOT)) for p in paths]
    if wanted and "." not in wanted:
        found = [f for f in found if any(f == w or f.startswith(w + "/") for w in wanted)]
    return sorted(found)


def enforced(finding: Finding) -> bool:
    return not any(finding.path.startswith(prefix) for prefix in PENDING.get(finding.rule, ()))


def folder(path: str) -> str:
    parts = path.split("/")
    if path.startswith("commit "):
        return "(commits)"
    return "/".join(parts[:2]) if parts[0] in ("crates", "tests") and len(parts) > 2 else parts[0]


def count(findings: list[Finding]) -> None:
    names = [rule.name for rule in RULES if any(f.rule == rule.name for f in findings)]
    table = Counter((folder(f.path), f.rule) for f in findings)
    folders = sorted({folder(f.path) for f in findings})
    width = max([len(x) for x in folders] + [8])
    print(" " * width, *(f"{name:>{max(5, len(name))}}" for name in names), "  total")
    for line in [*folders, "total"]:
        cells = [table[line, name] if line != "total" else sum(table[x, name] for x in folders) for name in names]
        shown = (f"{n or '.':>{max(5, len(name))}}" for n, name in zip(cells, names))
        print(f"{line:<{width}}", *shown, f"{sum(cells):>7}")


def pending(findings: list[Finding]) -> None:
    """Prints the table PENDING with which the present text passes."""
    print("PENDING: dict[str, list[str]] = {")
    for rule in RULES:
        folders = sorted({folder(f.path) for f in findings if f.rule == rule.name})
        if folders:
            shown = ", ".join(f'"{name}/"' if (ROOT / name).is_dir() else f'"{name}"' for name in folders)
            print(f'    "{rule.name}": [{shown}],')
    print("}")


def main() -> int:
    parser = argparse.ArgumentParser(description="Checks the words of documents, comments, help texts, file names and commits.")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders; default: everything")
    parser.add_argument("--all", action="store_true", help="every rule everywhere, not only where it is enforced")
    parser.add_argument("--count", action="store_true", help="counts per folder and rule of all findings")
    parser.add_argument("--rule", action="append", choices=[r.name for r in RULES], help="only this rule; may be repeated")
    parser.add_argument("--pending", action="store_true", help="folders with findings for each rule, as a table for this script")
    parser.add_argument("--list", action="store_true", help="list the rules with their advice")
    arguments = parser.parse_args()

    if arguments.list:
        for rule in RULES:
            print(f"{rule.name:16} {rule.advice}")
        return 0

    everything = arguments.all or arguments.count or arguments.pending or bool(arguments.rule) or bool(arguments.paths)
    findings = [] if arguments.paths else list(check_commits())
    for path in files(arguments.paths):
        findings.extend(check_file(path))
    if arguments.rule:
        findings = [f for f in findings if f.rule in arguments.rule]
    if not everything:
        findings = [f for f in findings if enforced(f)]
    if arguments.count:
        count(findings)
        return 0
    if arguments.pending:
        pending(findings)
        return 0

    advice = {rule.name: rule.advice for rule in RULES}
    for f in findings:
        place = f.path if f.line == 0 else f"{f.path}:{f.line}"
        print(f"{place}: {f.rule}: {f.shown}\n    {advice[f.rule]}")
    if findings:
        print(f"tools/words.py: {len(findings)} findings", file=sys.stderr)
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main())
