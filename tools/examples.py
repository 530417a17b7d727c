#!/usr/bin/env python3
"""Runs the commands and scenarios of README.md and docs/.

    tools/examples.py FOREBAY [PAGE ...]

An example is a fenced block:

    ```console    lines that begin with "$ " are commands, which run in order in one scratch folder for the page; the lines
                  below a command must be lines of its output, apart from spaces
    ```toml       a scenario: it is checked, and its first 20 ms are run

A comment on the line before the block changes that:

    <!-- file: NAME -->          the block, of any language, is also written to NAME in the scratch folder.
    <!-- part of: FILE -->       the block is a part of a scenario: it is merged into FILE and checked.
    <!-- needs: COMMAND -->      the block is run if this build has the command, such as attach.
    <!-- not run: REASON -->     the block is not run; the reason is listed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass
class Block:
    """A fenced block of a page."""

    language: str
    line: int
    text: str
    marks: dict[str, str]


def blocks(text: str) -> list[Block]:
    """Returns the fenced blocks of a page, with the comment on the line before each."""
    found: list[Block] = []
    marks: dict[str, str] = {}
    open_fence, language, start = "", "", 0
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"\s*(```+)(\S*)", line)
        if open_fence:
            if fence and fence[1] == open_fence and not fence[2]:
                found.append(Block(language, start, "\n".join(lines) + "\n", marks))
                open_fence, marks = "", {}
            else:
                lines.append(line.strip() if language == "console" else line)
        elif fence:
            open_fence, language, start, lines = fence[1], fence[2], number, []
        elif mark := re.fullmatch(r"\s*<!-- (file|part of|needs|not run): (.*) -->", line):
            marks[mark[1]] = mark[2]
        elif line.strip():
            marks = {}
    return found


# "make test" runs this check: without this function it would run itself.
PRELUDE = """
make() { case "${1:-}" in demo) command make --no-print-directory -C "$REPOSITORY" FOREBAY="$FOREBAY" demo ;; *) true ;; esac; }
"""


def value(item: object) -> str:
    """Returns a value in TOML."""
    if isinstance(item, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {value(v)}" for k, v in item.items()) + " }"
    if isinstance(item, list):
        return "[" + ", ".join(value(v) for v in item) + "]"
    return json.dumps(item)


def merged(base: dict[str, object], part: dict[str, object]) -> dict[str, object]:
    """Returns a scenario with the tables of a part; a table of another kind replaces the one there."""
    result = dict(base)
    for key, new in part.items():
        old = result.get(key)
        same = isinstance(old, dict) and isinstance(new, dict) and new.get("kind", old.get("kind")) == old.get("kind")
        result[key] = merged(old, new) if same else new  # type: ignore[arg-type]
    return result


def toml_error(text: str) -> str | None:
    """Returns the error in a text that is not TOML."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return str(error)
    return None


class Examples:
    """The examples of pages, and their results."""

    def __init__(self, forebay: Path) -> None:
        self.forebay = forebay
        self.passed = 0
        self.failures: list[str] = []
        self.not_run: list[str] = []
        listed = subprocess.run([forebay, "--help"], check=True, capture_output=True, text=True).stdout
        self.commands = re.findall(r"^  ([a-z]+) ", listed, flags=re.MULTILINE)

    def page(self, path: Path) -> None:
        """Runs the examples of a page in a scratch folder."""
        name = path.relative_to(ROOT)
        with tempfile.TemporaryDirectory() as folder:
            scratch = Path(folder)
            for shared in ["scenarios", "papers", "docs", "tests"]:
                (scratch / shared).symlink_to(ROOT / shared)
            (scratch / "bin").mkdir()
            (scratch / "bin/forebay").symlink_to(self.forebay)
            self.environment = {
                **os.environ,
                "PATH": f"{scratch / 'bin'}:{os.environ['PATH']}",
                "DEMO_ARGS": f"--progress none --out {scratch / 'demo'}",
                "REPOSITORY": str(ROOT),
                "FOREBAY": str(self.forebay),
            }
            for block in blocks(path.read_text()):
                if block.language not in ("console", "toml"):
                    if "file" in block.marks:
                        (scratch / block.marks["file"]).write_text(block.text)
                    continue
                where = f"{name}:{block.line}"
                if block.language == "toml" and (error := toml_error(block.text)):
                    self.failures.append(f"{where}: {error}")
                    continue
                if "file" in block.marks:
                    (scratch / block.marks["file"]).write_text(block.text)
                if "not run" in block.marks:
                    self.not_run.append(f"{where}: {block.marks['not run']}")
                elif block.marks.get("needs", "run") not in self.commands:
                    self.not_run.append(f"{where}: this build has no command {block.marks['needs']}")
                elif block.language == "console":
                    self.shell(scratch, where, block)
                elif "part of" in block.marks:
                    self.part(scratch, where, block)
                else:
                    self.scenario(scratch, where, block)

    def run(self, scratch: Path, where: str, command: str, shown: Iterable[str] = ()) -> None:
        """Runs a command. It must succeed and print the lines that the page shows."""
        script = f"set -euo pipefail\n{PRELUDE}\n{command}"
        done = subprocess.run(
            ["bash", "-c", script], cwd=scratch, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        printed = {" ".join(line.split()) for line in done.stdout.splitlines()}
        missing = [line for line in shown if " ".join(line.split()) not in printed]
        if done.returncode == 0 and not missing:
            self.passed += 1
        else:
            problem = f"does not print: {missing}" if missing else f"exit code {done.returncode}"
            self.failures.append(f"{where}: {command}\n{problem}\n{done.stdout[-4000:]}{done.stderr[-2000:]}")

    def shell(self, scratch: Path, where: str, block: Block) -> None:
        """Runs the commands of a block."""
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command = re.match(r"(?:.*\\\n)*.*", part)
            assert command
            self.run(scratch, where, command[0], filter(None, part[command.end() :].splitlines()))

    def part(self, scratch: Path, where: str, block: Block) -> None:
        """Checks a scenario that a part is merged into."""
        base = tomllib.loads((scratch / block.marks["part of"]).read_text())
        whole = merged(base, tomllib.loads(block.text))
        # A scenario finds the files that it names beside itself.
        (scratch / "whole.toml").write_text("\n".join(f"{json.dumps(k)} = {value(v)}" for k, v in whole.items()))
        self.run(scratch, where, "forebay check whole.toml")

    def scenario(self, scratch: Path, where: str, block: Block) -> None:
        """Checks a scenario and runs its beginning."""
        (scratch / "example.toml").write_text(block.text)
        self.run(scratch, where, "forebay check example.toml")
        if "sweep" not in tomllib.loads(block.text):
            sets = "--set duration=20ms --set observe.warmup=0s --runs 1"
            self.run(scratch, where, f"forebay run example.toml {sets} --quiet --no-report --out example --force")


def examples(forebay: Path, pages: list[Path]) -> int:
    """Runs the examples of pages and prints the result."""
    if not pages:
        pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    all_of_them = Examples(forebay)
    for path in [p.resolve() for p in pages]:
        began, before = time.monotonic(), all_of_them.passed
        all_of_them.page(path)
        if all_of_them.passed > before:
            print(f"{time.monotonic() - began:6.1f} s  {all_of_them.passed - before:3}  {path.relative_to(ROOT)}")
    for failure in all_of_them.failures:
        print(f"this example fails: {failure}", file=sys.stderr)
    print("\nnot run:\n" + "\n".join(f"  {n}" for n in all_of_them.not_run))
    print(f"examples: {all_of_them.passed} passed, {len(all_of_them.failures)} failed, {len(all_of_them.not_run)} blocks not run")
    return int(bool(all_of_them.failures) or all_of_them.passed == 0)


def main() -> int:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("forebay", type=Path)
    parser.add_argument("pages", type=Path, nargs="*")
    args = parser.parse_args()
    return examples(args.forebay.absolute(), args.pages)


if __name__ == "__main__":
    sys.exit(main())
