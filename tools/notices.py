#!/usr/bin/env python3
"""Writes THIRD-PARTY-NOTICES: licenses of the third-party software in forebay's programs and its wheel.

    tools/notices.py            update the file
    tools/notices.py --check    fail if it is out of date

It lists the crates that are linked for Linux on x86-64 (`cargo metadata --locked`, normal dependencies without procedural macros), with all features,
and the web assets of the report. A text that several of them share is printed once, under their copyright lines. Of several licenses that a crate
offers, one is chosen: the first of `PREFERRED`.
"""

import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "THIRD-PARTY-NOTICES"
PLATFORM = "x86_64-unknown-linux-gnu"
FEATURES = "forebay/bpf,forebay/mpi,forebay-hosts/bpf"
# Delivered packages: the command, the program for MPI, the extension module of the wheel.
PROGRAMS = {"forebay", "forebay-py"}
PREFERRED = ["MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Zlib", "Unicode-3.0", "Apache-2.0", "BSL-1.0", "Unlicense"]
TITLES = {
    "MIT": "MIT License",
    "BSD-2-Clause": "BSD 2-Clause License",
    "BSD-3-Clause": "BSD 3-Clause License",
    "ISC": "ISC License",
    "Zlib": "zlib License",
    "Unicode-3.0": "Unicode License v3",
    "Apache-2.0": "Apache License 2.0",
    "BSL-1.0": "Boost Software License 1.0",
    "Unlicense": "Unlicense",
}
# Text that identifies a license in a file of any name.
MARKS = {
    "MIT": "Permission is hereby granted, free of charge",
    "BSD-2-Clause": "Redistribution and use in source and binary forms",
    "BSD-3-Clause": "Neither the name",
    "ISC": "Permission to use, copy, modify, and/or distribute",
    "Zlib": "This software is provided 'as-is'",
    "Unicode-3.0": "UNICODE LICENSE V3",
    "Apache-2.0": "Apache License",
    "BSL-1.0": "Boost Software License",
    "Unlicense": "This is free and unencumbered software",
}
NAMES = re.compile(r"(licen[cs]e|copying|unlicense)", re.IGNORECASE)
# Third-party sources in this repository or in the sources of a crate: name, license, folder of a crate or of the repository, file.
BUNDLED = [
    ("libbpf (C library, in builds with `bpf`)", "BSD-2-Clause", "libbpf-sys", "libbpf/LICENSE.BSD-2-Clause"),
    ("uPlot (in the report)", "MIT", "", "crates/report/assets/uplot/LICENSE"),
]
# The standard library, which every Rust program contains (COPYRIGHT of the Rust distribution); the text is that of the MIT license.
STANDARD_LIBRARY = ("Rust standard library", "MIT", ["Copyright (c) The Rust Project Contributors"])
# Lines at the head of a text.
COPYRIGHT = re.compile(r"^\W*(copyright\b|\(c\)|©)", re.IGNORECASE)
HEADING = re.compile(r"^\W*(the )?(mit|isc|bsd[ -][23][ -]clause|new bsd|zlib)( license)?( \((mit|expat)\))?\W*$", re.IGNORECASE)


def metadata(features: str) -> dict:
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", PLATFORM]
    command += ["--features", features] if features else []
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def linked(graph: dict) -> dict[str, dict]:
    """Third-party packages that the programs contain, by id."""
    packages = {p["id"]: p for p in graph["packages"]}
    nodes = {n["id"]: n for n in graph["resolve"]["nodes"]}
    todo = [i for i, p in packages.items() if p["source"] is None and p["name"] in PROGRAMS]
    seen = set()
    while todo:
        package = todo.pop()
        macro = any("proc-macro" in t["kind"] for t in packages[package]["targets"])
        if package in seen or macro:
            continue
        seen.add(package)
        normal = (d for d in nodes[package]["deps"] if any(k["kind"] is None for k in d["dep_kinds"]))
        todo += [d["pkg"] for d in normal]
    return {i: packages[i] for i in seen if packages[i]["source"] is not None}


def chosen(expression: str) -> list[str]:
    """Licenses to show for an SPDX expression: one of several alternatives, all of a conjunction."""
    if "(" in expression:
        sys.exit(f"tools/notices.py cannot read the license expression `{expression}`")
    alternatives = [[term.strip() for term in part.split(" AND ")] for part in re.split(r" OR |/", expression)]
    known = [a for a in alternatives if all(term in PREFERRED for term in a)]
    if not known:
        sys.exit(f"no license of `{expression}` is known to tools/notices.py: read it, and add it to PREFERRED")
    return min(known, key=lambda a: max(PREFERRED.index(term) for term in a))


def text_of(folder: Path, licence: str) -> str | None:
    """Text of a license among the files of a crate: the shortest match, which has no other licenses."""
    files = (f for f in sorted(folder.iterdir()) if f.is_file() and NAMES.search(f.name))
    texts = (f.read_text(encoding="utf-8", errors="replace") for f in files)
    return min((t for t in texts if MARKS[licence] in " ".join(t.split())), key=len, default=None)


def divided(text: str, licence: str) -> tuple[list[str], str]:
    """The copyright lines at the head of a text, and the rest of it. Apache's text names no holder: its appendix is an example."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\f", "").expandtabs().split("\n")]
    holders = []
    while lines and licence != "Apache-2.0":
        line = lines[0].strip()
        if COPYRIGHT.match(line):
            holders.append(line)
        elif holders and line and line.lower().strip(".") == "all rights reserved":
            holders[-1] += f" {line}"
        elif line and not HEADING.match(line):
            break
        lines.pop(0)
    return holders, textwrap.dedent("\n".join(lines)).strip("\n")


def comparable(licence: str, body: str) -> str:
    """A text without parts that do not identify it: white space, and heading and appendix of Apache's license."""
    text = " ".join(body.split())
    if licence == "Apache-2.0":
        text = re.sub(r"^.*?TERMS AND CONDITIONS FOR USE", "TERMS AND CONDITIONS FOR USE", text)
        text = re.sub(r" ?APPENDIX: How to apply.*?limitations under the License\.", "", text)
    return text


def notices(folder: Path) -> str:
    """NOTICE text of a crate, which Apache's license requires to be included (section 4d)."""
    files = (f for f in sorted(folder.iterdir()) if f.name.upper().startswith("NOTICE"))
    return "\n".join(f.read_text(encoding="utf-8", errors="replace").strip() for f in files)


def render() -> str:
    graph = metadata(FEATURES)
    packages = sorted(linked(graph).values(), key=lambda p: (p["name"], p["version"]))
    folders = {p["name"]: Path(p["manifest_path"]).parent for p in packages}
    # (name, license, copyright lines, text or None)
    entries = []
    passed_on: dict[str, list[str]] = {}
    for package in packages:
        name, folder = f"{package['name']} {package['version']}", Path(package["manifest_path"]).parent
        for licence in chosen(package["license"]):
            text = text_of(folder, licence)
            holders, body = divided(text, licence) if text else ([], None)
            if not holders and licence != "Apache-2.0" and body is None:
                people = [re.sub(r" *<.*>", "", a) for a in package["authors"]] or [f"the authors of {package['name']}"]
                holders = [f"Copyright (c) {', '.join(people)}"]
            entries.append((name, licence, holders, body))
        if note := notices(folder):
            passed_on.setdefault(note, []).append(name)
    for name, licence, crate, path in BUNDLED:
        base = folders[crate] if crate else ROOT
        entries.append((name, licence, *divided((base / path).read_text(encoding="utf-8"), licence)))
    entries.append((*STANDARD_LIBRARY, None))

    shared: dict[tuple[str, str], tuple[str, list]] = {}
    for name, licence, holders, body in entries:
        if body is not None:
            shared.setdefault((licence, comparable(licence, body)), (body, []))[1].append((name, holders))
    usual = {}
    for (licence, key), (_, users) in shared.items():
        if licence not in usual or len(users) > len(shared[usual[licence]][1]):
            usual[licence] = (licence, key)
    for name, licence, holders, body in entries:
        if body is None:
            if licence not in usual:
                sys.exit(f"no text of {licence} for {name}")
            shared[usual[licence]][1].append((name, holders))

    out = [
        "Third-party software in forebay",
        "===============================",
        "",
        "forebay itself is under Apache-2.0 or MIT (LICENSE). Its programs and its Python package contain the software below, under the",
        "licenses that follow. Builds without the features `bpf` and `mpi` contain less. Generated by tools/notices.py.",
    ]
    order = sorted(shared.items(), key=lambda s: (PREFERRED.index(s[0][0]), -len(s[1][1]), s[0][1]))
    for (licence, _), (body, users) in order:
        out += ["", "-" * 80, TITLES[licence], "-" * 80, ""]
        for name, holders in sorted(users):
            out += [f"* {name}", *(f"    {holder}" for holder in holders)]
        out += ["", body]
    for note, names in sorted(passed_on.items(), key=lambda n: n[1]):
        out += ["", "-" * 80, f"Notice of {', '.join(names)}", "-" * 80, "", note]
    return "\n".join(line.rstrip() for line in "\n".join(out).split("\n")) + "\n"


def keep(file: Path, render: Callable[[], str], usage: str) -> None:
    """Writes the rendered text to `file`, or compares it with `--check`."""
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(usage)
    new = render()
    if not sys.argv[1:]:
        temporary = file.with_suffix(".new")
        temporary.write_text(new, encoding="utf-8")
        os.replace(temporary, file)
    elif not file.exists() or file.read_text(encoding="utf-8") != new:
        sys.exit(f"{file.name} is out of date: run {sys.argv[0]}")


if __name__ == "__main__":
    keep(FILE, render, __doc__)
