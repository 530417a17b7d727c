#!/usr/bin/env python3
"""Builds the documentation site and checks its links.

    tools/docs.py FOREBAY [--out FOLDER]

The sources are plain Markdown in docs/, papers/ and the root folder. The reference of names, tables and commands is generated
from FOREBAY. docs/index.md lists all pages: the navigation follows its order, and a page that it does not list is an error.
Links to files that are not on the site lead to the repository.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "https://github.com/forebay/forebay/blob/main/"
PROJECT_PAGES = ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]

# Registries by the notation of their use: folder, title, the line of a scenario that names an entry.
REGISTRIES = {
    "[transport] cc": ("congestion-controls", "Congestion controls", '[transport]\ncc = "{}"'),
    "[transport] shim": ("shims", "Shims", '[transport]\nshim = "{}"'),
    "queue": ("queues", "Queues", 'queue = "{}"'),
    "[topology] kind": ("topologies", "Topologies", '[topology]\nkind = "{}"'),
    "[[workload]] kind": ("workloads", "Workloads", '[[workload]]\nkind = "{}"'),
}


def slug(heading: str) -> str:
    """Returns the anchor of a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    plain = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def anchors(text: str) -> set[str]:
    """Returns the anchors of a page."""
    fenced, found = False, set()
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and (heading := re.match(r"#+ (.*)", line)):
            found.add(slug(heading[1]))
    return found


def title_of(text: str) -> str:
    """Returns the first heading of a page."""
    return next(line[2:].strip() for line in text.splitlines() if line.startswith("# "))


def summary_of(text: str) -> str:
    """Returns the first sentence below the first heading."""
    paragraphs = re.sub(r"```.*?```", "", text.split("# ", 1)[-1], flags=re.DOTALL).split("\n\n")[1:]
    paragraph = next((p.strip() for p in paragraphs if re.match(r"\s*[^\s<|!#*-]", p)), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph.replace("\n", " "))
    return re.split(r"(?<=[.:]) (?=[A-Z`])", plain)[0].rstrip(":")


def output(forebay: Path, *args: str) -> str:
    """Returns the output of a command of forebay, at the width of a page."""
    environment = {**os.environ, "COLUMNS": "84", "NO_COLOR": "1"}
    return subprocess.run([forebay, *args], check=True, capture_output=True, text=True, env=environment).stdout


def cell(text: str) -> str:
    """Returns text for a cell of a table."""
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def sentence(summary: str) -> str:
    """Returns a summary as a sentence; a name such as pFabric keeps its small letter."""
    first = summary.split(None, 1)[0]
    return (summary[0].upper() if first.islower() else summary[0]) + summary[1:] + "."


def parameters(params: list[dict[str, str | None]]) -> str:
    """Returns the table of an entry's parameters."""
    if not params:
        return "It has no parameters.\n"
    rows = ["| key | legal | default | meaning |", "|---|---|---|---|"]
    for p in params:
        default = {None: "required", "": "none"}.get(p["default"], f"`{p['default']}`")
        rows.append(f"| `{p['key']}` | {cell(str(p['legal']))} | {default} | {cell(str(p['meaning']))} |")
    return "\n".join(rows) + "\n"


def examples_of(name: str, key: str) -> list[str]:
    """Returns the names of scenarios that use an entry."""
    word = re.compile(rf'\b(?:{key}|kind)\b[^#\n]*"{re.escape(name)}"')
    return [p.name for p in sorted((ROOT / "scenarios").glob("*.toml")) if word.search(p.read_text())]


def registry_pages(forebay: Path) -> dict[str, str]:
    """Returns a page for each entry of the registries, and one for each registry."""
    pages: dict[str, str] = {}
    for section in json.loads(output(forebay, "list", "--format", "json")):
        usage = section["usage"].split(" = ")[0].strip("{ ")
        if usage not in REGISTRIES:
            continue
        folder, title, notation = REGISTRIES[usage]
        index = [f"# {title}\n", f"`forebay list {section['kind']}` prints this list.\n", "| name | summary |", "|---|---|"]
        for item in section["items"]:
            name = item["name"]
            index.append(f"| [`{name}`]({name}.md) | {cell(item['summary'])} |")
            page = [f"# `{name}`\n", sentence(item["summary"]) + "\n"]
            page += ["```toml", notation.format(name), "```\n", "## Parameters\n", parameters(item["parameters"])]
            if used := examples_of(name, usage.split()[-1]):
                links = ", ".join(f"[`{u}`]({SOURCE}scenarios/{u})" for u in used)
                page += [f"## Scenarios that use it\n\n{links}\n"]
            pages[f"reference/{folder}/{name}.md"] = "\n".join(page)
        pages[f"reference/{folder}/index.md"] = "\n".join(index) + "\n"
    return pages


def split_generated(text: str, level: str) -> tuple[str, dict[str, str], str]:
    """Splits a page at its generated part, and that part at its headings."""
    begin = re.search(r"<!-- generated.*begin -->\n", text)
    end = re.search(r"<!-- generated.*end -->\n?", text)
    assert begin and end
    parts = re.split(rf"^{level} (.*)\n", text[begin.end() : end.start()], flags=re.MULTILINE)
    return text[: begin.start()], dict(zip(parts[1::2], parts[2::2], strict=True)), text[end.end() :]


def table_pages(pages: dict[str, str]) -> None:
    """Replaces the generated parts of two reference pages, which a test compares, by links to a page for each entry."""
    head, tables, tail = split_generated(pages["reference/results.md"], "###")
    index = ["| table | rows |", "|---|---|"]
    for heading, body in tables.items():
        name = heading.split("`")[1]
        pages[f"reference/tables/{name}.md"] = f"# {heading}\n{body}"
        index.append(f"| [`{name}`](tables/{name}.md) | {body.strip().splitlines()[0]} |")
    pages["reference/results.md"] = head + "\n".join(index) + "\n" + tail
    head, sections, tail = split_generated(pages["reference/scenario.md"], "###")
    folders = {title.lower(): folder for folder, title, _ in REGISTRIES.values()} | {"congestion controls": "congestion-controls"}
    pages["reference/transport.md"] = transport_page(sections.pop("Keys of `[transport]`"))
    rest = [f"### {title}\n{body}" for title, body in sections.items() if title.lower() not in folders]
    links = "".join(f"* [{title}]({folder}/index.md)\n" for folder, title, _ in REGISTRIES.values())
    pages["reference/scenario.md"] = head + links + "* [Keys of `[transport]`](transport.md)\n\n" + "".join(rest) + tail


def transport_page(table: str) -> str:
    """Returns a page with a section for each key of [transport], so that the search finds them."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in table.strip().splitlines()]
    stacks = [stack.strip() for stack in rows[0][2:-1]]
    page = ["# Keys of `[transport]`\n", "Properties of a transport. The stack chooses the defaults.\n"]
    for key, legal, *defaults, meaning in rows[2:]:
        shown = [f"`{default.strip()}` with {stack}" for stack, default in zip(stacks, defaults, strict=True) if default.strip()]
        line = f"Default: {', '.join(shown)}. " if shown else ""
        page.append(f"## {key.strip()}\n\n{sentence(meaning.strip())}\n\n{line}Legal: {legal.strip()}.\n")
    return "\n".join(page)


def commands(forebay: Path) -> dict[str, str]:
    """Returns the commands of forebay with their summaries."""
    listed = output(forebay, "--help").split("Commands:\n")[1].split("\n\nOptions")[0]
    names = dict(line.split(None, 1) for line in re.sub(r"\n {6,}", " ", listed).splitlines())
    return {name: summary for name, summary in names.items() if name != "help"}


def command_pages(forebay: Path) -> dict[str, str]:
    """Returns a page for each command."""
    pages: dict[str, str] = {}
    index = ["# Commands\n", "Each page is the output of `forebay COMMAND --help`.\n", "| command | purpose |", "|---|---|"]
    for name, summary in commands(forebay).items():
        text = output(forebay, name, "--help").split("\n\n", 1)[1].rstrip()
        pages[f"reference/commands/{name}.md"] = f"# `forebay {name}`\n\n{summary}.\n\n```text\n{text}\n```\n"
        index.append(f"| [`{name}`]({name}.md) | {cell(summary)} |")
    pages["reference/commands/index.md"] = "\n".join(index) + "\n"
    return pages


def site_path(path: PurePosixPath) -> str | None:
    """Returns the place on the site of a file of the repository, or None if it is not on the site."""
    name = str(path)
    if path.parts[0] == "docs" and path.name != "requirements.txt":
        return str(PurePosixPath(*path.parts[1:]))
    if name in PROJECT_PAGES:
        return f"project/{name.lower()}"
    if path.parts[0] == "papers" and path.suffix == ".md":
        return str(path.with_name("index.md") if path.name == "README.md" else path)
    return None


def sources() -> list[str]:
    """Returns files from which the site is made: those of git, or in an unpacked archive all that are there."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "docs", "papers", *PROJECT_PAGES]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout.split()
    found = [path for folder in ("docs", "papers") for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [*sorted(str(path.relative_to(ROOT)) for path in found), *PROJECT_PAGES]


class Site:
    """Sources of the site, with links rewritten to their place on it."""

    def __init__(self, forebay: Path) -> None:
        self.places = {n: p for n in sources() if (ROOT / n).is_file() and (p := site_path(PurePosixPath(n))) is not None}
        self.errors: list[str] = []
        self.pages: dict[str, str] = {}
        texts = {n: (ROOT / n).read_text() for n in self.places if n.endswith(".md")}
        self.anchors = {n: anchors(t) for n, t in texts.items()}
        for name, text in texts.items():
            self.pages[self.places[name]] = self.links(name, text)
        # README.md is not on the site, but its links are checked as well.
        self.links("README.md", (ROOT / "README.md").read_text())
        table_pages(self.pages)
        self.pages |= registry_pages(forebay) | command_pages(forebay)
        self.navigation = self.navigate()

    def links(self, name: str, text: str) -> str:
        """Checks the links of a page of the repository and rewrites them for the site."""

        def rewrite(match: re.Match[str]) -> str:
            target = match[2]
            if re.match(r"[a-z]+:", target):
                return match[0]
            path, _, anchor = target.partition("#")
            file = os.path.normpath(PurePosixPath(name).parent / path) if path else name
            if not (ROOT / file).exists():
                # Pages that are generated have no source.
                if file.startswith("docs/reference/"):
                    return match[0]
                self.errors.append(f"{name}: no file {target}")
            elif anchor and file in self.anchors and anchor not in self.anchors[file]:
                self.errors.append(f"{name}: no heading {target}")
            elif file not in self.places:
                return f"{match[1]}({SOURCE}{file})"
            if not path:
                return match[0]
            here = PurePosixPath(self.places.get(name, name)).parent
            there = os.path.relpath(self.places.get(file, file), here)
            return f"{match[1]}({there}{'#' + anchor if anchor else ''})"

        lines, fenced = [], False
        for line in text.split("\n"):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            lines.append(line if fenced else re.sub(r"(\[(?:[^\[\]]|\[[^\]]*\])*\])\(([^)\s]+)\)", rewrite, line))
        return "\n".join(lines)

    def navigate(self) -> list[dict[str, Any]]:
        """Returns the navigation: the lists of docs/index.md, with the generated pages below their indexes."""
        navigation: list[dict[str, Any]] = [{"Home": "index.md"}]
        listed = {"index.md"}
        for heading, body in re.findall(r"^## (.*)\n((?:(?!^## ).*\n)*)", self.pages["index.md"], flags=re.MULTILINE):
            entries: list[dict[str, Any]] = []
            for title, target in re.findall(r"\[([^\]]*)\]\(([^)\s#]+\.md)\)", body):
                page, title = os.path.normpath(target), title.replace("`", "")
                listed.add(page)
                below = [p for p in self.pages if page.endswith("/index.md") and p.startswith(page[:-8]) and p not in listed]
                if below and "/" in page[:-9]:
                    listed.update(below)
                    entries.append({title: [page, *({title_of(self.pages[p]).strip("`"): p} for p in below)]})
                elif not any(target in str(e) for e in entries):
                    entries.append({title: page})
            if entries:
                navigation.append({heading: entries})
        tables = [p for p in self.pages if p.startswith("reference/tables/")]
        listed.update(tables)
        for section in navigation:
            if isinstance(entries := next(iter(section.values())), list) and {"Results": "reference/results.md"} in entries:
                named = [{title_of(self.pages[p]).split("`")[1]: p} for p in tables]
                entries.insert(entries.index({"Results": "reference/results.md"}) + 1, {"Result tables": named})
        self.errors += [
            f"docs/index.md does not list {p}" for p in sorted(set(self.pages) - listed) if not p.startswith("papers/")
        ]
        return navigation

    def llms(self) -> str:
        """Returns llms.txt: the pages of the site with a sentence on each, for language models."""
        text = ["# forebay\n", f"> {summary_of(self.pages['index.md'])}\n"]
        for section in self.navigation[1:]:
            ((heading, entries),) = section.items()
            text.append(f"## {heading}\n")
            for page in flat(entries):
                text.append(f"- [{title_of(self.pages[page]).replace('`', '')}]({page}): {summary_of(self.pages[page])}")
            text.append("")
        return "\n".join(text)


def flat(entries: Any) -> list[str]:
    """Returns the pages of a part of the navigation."""
    if isinstance(entries, str):
        return [entries]
    values = entries.values() if isinstance(entries, dict) else entries
    return [page for e in values for page in flat(e)]


def build(forebay: Path, out: Path) -> int:
    """Writes the sources of the site to `out`/pages and builds it in `out`/html."""
    site = Site(forebay)
    work = out
    shutil.rmtree(work, ignore_errors=True)
    for name, place in site.places.items():
        if not name.endswith(".md"):
            (work / "pages" / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, work / "pages" / place)
    for page, text in site.pages.items():
        (work / "pages" / page).parent.mkdir(parents=True, exist_ok=True)
        # Details of single papers would hide the other pages in the search.
        detail = re.match(r"papers/[^/]+/|papers/SCORECARD|project/changelog", page)
        (work / "pages" / page).write_text(("---\nsearch:\n  exclude: true\n---\n\n" if detail else "") + text)
    (work / "pages/llms.txt").write_text(site.llms())
    configuration = {
        "site_name": "forebay",
        "docs_dir": "pages",
        "site_dir": "html",
        "nav": site.navigation,
        # No fonts from another server: the site works without a network.
        "theme": {
            "font": False,
            "features": [
                "navigation.tabs",
                "navigation.indexes",
                "navigation.top",
                "search.highlight",
                "content.code.copy",
                "toc.follow",
            ],
            "palette": [
                {
                    "media": "(prefers-color-scheme: light)",
                    "scheme": "default",
                    "toggle": {"icon": "material/brightness-7", "name": "Dark"},
                },
                {
                    "media": "(prefers-color-scheme: dark)",
                    "scheme": "slate",
                    "toggle": {"icon": "material/brightness-4", "name": "Light"},
                },
            ],
        },
        "markdown_extensions": [
            "tables",
            "sane_lists",
            {"toc": {"permalink": True}},
            "pymdownx.superfences",
            "pymdownx.highlight",
        ],
    }
    # JSON is YAML: both Zensical and MkDocs read it.
    (work / "mkdocs.yml").write_text(json.dumps(configuration, indent=1))
    for error in site.errors:
        print(f"docs: {error}", file=sys.stderr)
    if site.errors:
        return 1
    generator = Path(sys.executable).with_name("zensical")
    subprocess.run([generator, "build", "--strict", "--clean", "--config-file", "mkdocs.yml"], cwd=work, check=True)
    print(f"docs: {len(site.pages)} pages in {out}/html; python3 -m http.server --directory {out}/html shows them")
    return 0


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forebay", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "target/site")
    args = parser.parse_args()
    return build(args.forebay.absolute(), args.out.absolute())


if __name__ == "__main__":
    sys.exit(main())
