#!/usr/bin/env python3
"""Planted faults: does a test fail for each patch of tests/mutants?

    tools/mutants.py [--keep] [NAME...]      all of them, or those called so; shell patterns will do
    tools/mutants.py --check                 only whether each patch applies to the working tree

Each patch is applied to a copy of the working tree in target/mutants/tree. The copy has its own target directory, so that cargo
rebuilds only the crates that the patch touches. The tests run cheapest first, up to the first that fails; tests of whole networks run
only for faults that no other test caught. `fingerprints` does not run, as a changed trajectory does not show that something is wrong.

Each result is stored in target/mutants.csv at once, under the hash of its patch and of the sources, so that an interrupted run can
continue. A patch runs again if it or the sources have changed; with --keep only if the lines that it adds or removes have changed.

A fault counts as caught only by a test that passes without it. A patch that does not apply or compile is an error, and so is one
whose tests do not end.
"""

import argparse
import csv
import fnmatch
import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
PATCHES = ROOT / "tests/mutants"
TREE = TARGET / "mutants/tree"
CSV = TARGET / "mutants.csv"
FIELDS = ["fault", "outcome", "caught_by", "test", "seconds", "hash", "change", "says"]

# Cheapest first: connections against scripted peers, which most faults fall to, then units (which need a build of their own), whole
# connections, whole networks.
FIRST = [("queues", "forebay-queues", ["--lib"]), ("tcp", "forebay-sim", ["--test", "tcp", "--", "--include-ignored"]), ("sim", "forebay-sim", ["--lib"])]
CONNECTIONS = ["peer_errors", "tcp_connections", "buffered_ports", "tcp_random"]
# Of the networks, those that take longest.
LAST = ["workloads", "matrix", "determinism", "groups"]
NOT_A_TEST = ["fingerprints", "main"]
# Sources of a trajectory and of its tests.
SOURCES = ("crates/", "data/", "scenarios/", "Cargo.")
# A fault may make a connection wait for ever.
LIMIT_S = 1200


class Planted(Exception):
    """The patch cannot be judged."""


def connections():
    """Stages of tests: (name, package, cargo's words for it)."""
    return FIRST + [(name, "forebay-sim", ["--test", "main", "--", f"{name}::"]) for name in CONNECTIONS]


def networks():
    """The same for those that simulate whole networks."""
    names = sorted(p.stem for p in (ROOT / "tests/scenarios").glob("*.rs") if p.stem not in NOT_A_TEST)
    names.sort(key=lambda name: LAST.index(name) if name in LAST else -1)
    return [(f"scenarios/{name}", "forebay-tests", ["--test", "main", "--", f"{name}::"]) for name in names]


def tracked():
    """Files of the working tree that git knows or would take."""
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    return [name for name in out.decode().split("\0") if name and (ROOT / name).is_file()]


def sync():
    """Makes the copy what the working tree is; files that are the same already keep their times, so that cargo leaves them alone."""
    names = tracked()
    for name in names:
        data, copy = (ROOT / name).read_bytes(), TREE / name
        if not copy.is_file() or copy.read_bytes() != data:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(data)
    for copy in TREE.rglob("*"):
        if copy.is_file() and copy.relative_to(TREE).as_posix() not in set(names):
            copy.unlink()


def hash_of_sources():
    """Of what decides a verdict, beside the patch."""
    h = hashlib.sha256()
    for name in sorted(tracked()):
        if name.startswith(SOURCES) and not (ROOT / name).is_relative_to(PATCHES):
            h.update(name.encode() + b"\0" + (ROOT / name).read_bytes() + b"\0")
    return h.hexdigest()


def hash_of_change(patch):
    """Of what a patch says and changes, wherever that stands now."""
    lines = patch.splitlines()
    return hashlib.sha256("\n".join([lines[0], *(line for line in lines if line[:1] in "+-")]).encode()).hexdigest()


def run_tests(stage):
    """Names of the tests of a stage that fail in the copy as it is."""
    _, package, words = stage
    command = ["cargo", "test", "--quiet", "--locked", "-p", package, *words]
    # These programs are not debugged.
    build = {"CARGO_TARGET_DIR": str(TARGET / "mutants/build"), "CARGO_PROFILE_DEV_DEBUG": "0", "CARGO_TERM_COLOR": "never"}
    env = {**os.environ, **build}
    with subprocess.Popen(
        command, cwd=TREE, env=env, text=True, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        try:
            output, _ = process.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            raise Planted(f"{stage[0]} does not end within {LIMIT_S} s") from None
        finally:
            # Also when this program is interrupted.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode == 0:
        return []
    failed = sorted(set(re.findall(r"^---- (\S+) stdout ----$", output, re.M)))
    if not failed:
        (TARGET / "mutants/error.txt").write_text(output)
        raise Planted(f"{stage[0]} does not compile, or ended early: {TARGET}/mutants/error.txt")
    return failed


class Results:
    """The file of results."""

    def __init__(self):
        self.rows = {}
        if CSV.is_file():
            with CSV.open(newline="") as f:
                self.rows = {row["fault"]: row for row in csv.DictReader(f)}

    def put(self, **row):
        self.rows[row["fault"]] = row
        part = CSV.with_suffix(".part")
        with part.open("w", newline="") as f:
            writer = csv.DictWriter(f, FIELDS, restval="")
            writer.writeheader()
            writer.writerows(self.rows[name] for name in sorted(self.rows))
        part.replace(CSV)


def sound(results, stage, sources):
    """Names of the tests of a stage that fail without any fault: they catch nothing. Asked once for each state of the sources."""
    name = f"(none) {stage[0]}"
    row = results.rows.get(name)
    if row is None or row["hash"] != sources:
        sync()
        begin = time.monotonic()
        failed = run_tests(stage)
        row = {"fault": name, "outcome": "fails" if failed else "passes", "caught_by": stage[0], "test": " ".join(failed)}
        row |= {"seconds": f"{time.monotonic() - begin:.0f}", "hash": sources, "says": "no fault"}
        results.put(**row)
    return row["test"].split()


def plant(patch):
    """Applies a patch to the copy."""
    sync()
    # The copy lies in a folder that git ignores: git is not to look for the repository around it.
    env = {**os.environ, "GIT_CEILING_DIRECTORIES": str(TREE.parent)}
    done = subprocess.run(["git", "apply", "-C1", patch], cwd=TREE, env=env, text=True, capture_output=True)
    if done.returncode != 0:
        raise Planted("does not apply: " + done.stderr.strip().splitlines()[0])


def judge(results, patch, sources, stages, otherwise):
    """(outcome, stage, test) of one planted fault; `otherwise` is the outcome when no stage catches it."""
    touched = set(re.findall(r"^\+\+\+ b/crates/(\w+)/", patch.read_text(), re.M))
    try:
        plant(patch)
        for stage in stages:
            if stage[0] == "queues" and "queues" not in touched:
                # These depend on nothing that the patch changes.
                continue
            failed = run_tests(stage)
            if failed:
                idle = sound(results, stage, sources)
                telling = [test for test in failed if test not in idle]
                if telling:
                    return "caught", stage[0], telling[0]
                plant(patch)
        return otherwise, "", ""
    except Planted as e:
        return "error", str(e), ""


def check(patches):
    """Returns true if each patch applies to the working tree; prints those that do not."""
    stale = []
    for patch in patches:
        done = subprocess.run(["git", "apply", "--check", "-C1", patch], cwd=ROOT, text=True, capture_output=True)
        if done.returncode != 0:
            stale.append(f"{patch.relative_to(ROOT)} does not apply: {done.stderr.strip().splitlines()[0]}")
    print("\n".join(stale), end="\n" if stale else "")
    return not stale


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="results of the same patch for other sources still count")
    parser.add_argument("names", nargs="*", help="faults, by the names of their patches")
    parser.add_argument("--check", action="store_true", help="only check that each patch applies")
    args = parser.parse_args()
    patches = sorted(PATCHES.glob("*.patch"))
    unknown = [n for n in args.names if not any(fnmatch.fnmatch(p.stem, n) for p in patches)]
    if unknown:
        sys.exit(f"no planted fault is called {unknown[0]}; they are the names of {PATCHES.relative_to(ROOT)}/*.patch")
    chosen = [p for p in patches if not args.names or any(fnmatch.fnmatch(p.stem, n) for n in args.names)]
    if args.check:
        sys.exit(not check(chosen))
    TREE.mkdir(parents=True, exist_ok=True)
    results = Results()
    # All of them by the cheap tests first: what is left is few.
    for stages, before, otherwise in [(connections(), None, "open"), (networks(), "open", "survived")]:
        for patch in chosen:
            # Read again for each patch, because files may change during the run.
            text, sources = patch.read_text(), hash_of_sources()
            key, change = hashlib.sha256((sources + text).encode()).hexdigest(), hash_of_change(text)
            row = results.rows.get(patch.stem, {})
            if row.get("outcome") == "error" or (row.get("hash") != key and not (args.keep and row.get("change") == change)):
                row = {} if before is None else row
            if row.get("outcome") == before:
                begin = time.monotonic()
                outcome, stage, test = judge(results, patch, sources, stages, otherwise)
                row = {"fault": patch.stem, "outcome": outcome, "caught_by": stage, "test": test, "hash": key}
                row |= {"change": change, "seconds": f"{time.monotonic() - begin:.0f}"}
                results.put(**row, says=text.splitlines()[0])
                print(f"{outcome:9} {patch.stem:40} {stage} {test}", flush=True)
    outcomes = [results.rows[p.stem]["outcome"] for p in chosen]
    for patch, outcome in zip(chosen, outcomes, strict=True):
        if outcome != "caught":
            print(f"{outcome}: {patch.relative_to(ROOT)}: {results.rows[patch.stem]['caught_by']}")
    caught = outcomes.count("caught")
    print(f"{caught} of {len(chosen)} faults caught, {outcomes.count('survived')} survived, {outcomes.count('error')} in error: {CSV}")
    sys.exit(caught < len(chosen))


if __name__ == "__main__":
    main()
