"""Files of a release: packages, workflows, forms, the container file."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import ROOT
from forebay.repro import _toml

GITHUB = ROOT / ".github"
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
WORKSPACE = _toml.read(ROOT / "Cargo.toml")["workspace"]["package"]
VERSION = WORKSPACE["version"]
STAND_IN = shutil.which("true")


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Manual pages and completions, as packages have them."""
    folder = tmp_path_factory.mktemp("staged") / "package"
    script(ROOT / "packaging" / "stage.sh", Path(sys.executable).parent / "forebay", folder)
    return folder


def script(*words: object, code: int = 0, environment: dict[str, str] | None = None) -> str:
    """Run a program, check its exit code, and return its output."""
    given = {**os.environ, **(environment or {})}
    out = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False, env=given)
    assert out.returncode == code, out.stderr
    return out.stdout + out.stderr


def load(file: Path) -> Any:
    # YAML 1.1 reads the key `on` as true.
    return yaml.safe_load(re.sub(r"^on:", "'on':", file.read_text(), flags=re.MULTILINE))


def steps(workflow: Any) -> list[Any]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_every_command_has_a_manual_page(staged: Path) -> None:
    listed = script(sys.executable, "-m", "forebay", "--help")
    section = listed.split("Commands:\n")[1].split("\n\n")[0] if "Commands:\n" in listed else listed
    commands = set(re.findall(r"^  ([a-z]+)  ", section, re.MULTILINE)) - {"help"}
    pages = {p.name for p in (staged / "man").iterdir()}
    assert len(commands) > 15
    assert {f"forebay-{c}.1" for c in commands} | {"forebay.1"} <= pages
    assert "repro" in (staged / "completions" / "forebay.bash").read_text()


@pytest.mark.skipif(not STAND_IN or not shutil.which("dpkg-deb") or not shutil.which("readelf"), reason="not on Debian")
def test_debian_package(staged: Path, tmp_path: Path) -> None:
    """Another program stands in for the command."""
    build = [ROOT / "packaging" / "pack-deb.sh", STAND_IN, staged, VERSION]
    options = {"SOURCE_DATE_EPOCH": "1700000000", "DEB_COMPRESSION": "none", "NO_LINTIAN": "1"}
    packages: list[Path] = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        script(*build, tmp_path / name, environment=options)
        packages += (tmp_path / name).iterdir()
    assert packages[0].read_bytes() == packages[1].read_bytes()
    assert re.fullmatch(rf"forebay_{re.escape(VERSION)}-1_(amd64|arm64)\.deb", packages[0].name)
    script("dpkg-deb", "--extract", packages[0], tmp_path / "tree")
    usr = tmp_path / "tree" / "usr"
    pages = {p.name.removesuffix(".gz") for p in (usr / "share/man/man1").iterdir()}
    assert pages == {p.name for p in (staged / "man").iterdir()}
    assert ".TH forebay-repro 1" in gzip.decompress((usr / "share/man/man1/forebay-repro.1.gz").read_bytes()).decode()
    assert "License: Expat\n Permission is hereby granted" in (usr / "share/doc/forebay/copyright").read_text()
    assert (usr / "bin/forebay").stat().st_mode & 0o777 == 0o755
    assert "libc6 (>= 2.28)" in script("dpkg-deb", "--field", packages[0], "Depends")
    authors = yaml.safe_load((ROOT / "CITATION.cff").read_text())["authors"]
    assert [script("dpkg-deb", "--field", packages[0], "Maintainer").strip()] == [a["name"] for a in authors]
    script(*build, tmp_path, environment=options | {"DEB_MAINTAINER": "A Name <name@example.org>"})
    assert "<name@example.org>" in script("dpkg-deb", "--field", next(tmp_path.glob("*.deb")), "Maintainer")


@pytest.mark.skipif(not STAND_IN, reason="no program to pack")
def test_cargo_binstall_finds_the_archives(staged: Path, tmp_path: Path) -> None:
    manifest = _toml.read(ROOT / "crates/forebay/Cargo.toml")["package"]
    target = "aarch64-unknown-linux-gnu"
    names = {"repo": WORKSPACE["repository"], "name": manifest["name"], "version": VERSION, "target": target}
    names |= {"bin": "forebay", "binary-ext": ""}

    def filled(template: str) -> str:
        return re.sub(r"\{ (\S+) \}", lambda m: names[m[1]], template)

    metadata = manifest["metadata"]["binstall"]
    assert manifest["repository"] == {"workspace": True}
    url = filled(metadata["pkg-url"])
    assert url.startswith(f"{WORKSPACE['repository']}/releases/download/v{VERSION}/")
    made = "$(DIST)/forebay-$(VERSION)-$$target.tar.gz"
    assert made in (ROOT / "packaging" / "release.mk").read_text()
    archive = tmp_path / url.rsplit("/", 1)[1]
    assert archive.name == Path(made).name.replace("$(VERSION)", VERSION).replace("$$target", target)
    script(ROOT / "packaging" / "pack-binary.sh", STAND_IN, staged, archive)
    with tarfile.open(archive) as tar:
        inside = tar.getnames()
    assert filled(metadata["bin-dir"]) in inside
    folder = archive.name.removesuffix(".tar.gz")
    assert {f"{folder}/{n}" for n in ("man/forebay-run.1", "completions/_forebay", "LICENSE-MIT", "THIRD-PARTY-NOTICES")} <= set(
        inside
    )


@pytest.mark.skipif(not shutil.which("cargo"), reason="no cargo")
def test_source_archive_builds_with_the_locked_versions(tmp_path: Path) -> None:
    """The archive has a part of the workspace, so cargo shortens the lock file: it must need no other versions for that."""
    script(Path(sys.executable).parent / "maturin", "sdist", "--manifest-path", ROOT / "crates/py/Cargo.toml", "--out", tmp_path)
    shutil.unpack_archive(next(tmp_path.glob("*.tar.gz")), tmp_path)
    folder = tmp_path / f"forebay-{VERSION}"
    # A build by pip has the options of this table only.
    options = ["--locked"] if _toml.read(folder / "pyproject.toml")["tool"]["maturin"].get("locked") else []
    manifest = folder / "crates/py/Cargo.toml"
    script("cargo", "metadata", *options, "--offline", "--format-version", "1", "--manifest-path", manifest)

    def packages(lock: Path) -> set[tuple[str, str]]:
        return {(p["name"], p["version"]) for p in _toml.read(lock)["package"]}

    assert ("forebay-py", VERSION) in packages(folder / "Cargo.lock") < packages(ROOT / "Cargo.lock")


@pytest.mark.skipif(not shutil.which("rustc"), reason="no rustc")
def test_release_names_its_commit(tmp_path: Path) -> None:
    """Wheels are built from an archive without git, so the commit comes from the environment."""
    build = tmp_path / "build"
    script("rustc", "--edition=2024", "-o", build, ROOT / "crates/forebay/build.rs")
    # Two levels up is a folder without git.
    folder = {"CARGO_MANIFEST_DIR": str(tmp_path / "crates/forebay"), "GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    (tmp_path / "crates/forebay").mkdir(parents=True)
    assert "FOREBAY_BUILT=unknown\n" in script(build, environment=folder | {"FOREBAY_COMMIT": ""})
    named = script(build, environment=folder | {"FOREBAY_COMMIT": "0123456789ab, 2026-11-29"})
    assert "FOREBAY_BUILT=0123456789ab, 2026-11-29\n" in named
    assert "rerun-if-env-changed=FOREBAY_COMMIT\n" in named
    if (ROOT / ".git").exists():
        commit = script("git", "-C", ROOT, "log", "-1", "--abbrev=12", "--format=%h").strip()
        for target in ("wheels", "binaries"):
            planned = script("make", "--dry-run", "--directory", ROOT, target)
            assert re.search(rf'FOREBAY_COMMIT="{commit}, [-0-9]+" .*(maturin|zigbuild)', planned), target


@pytest.mark.skipif(not STAND_IN or not shutil.which("readelf"), reason="needs binutils")
def test_newer_glibc_refused() -> None:
    check = ROOT / "packaging" / "check-glibc.sh"
    assert "and 2.0 is the newest one allowed" in script(check, "2.0", STAND_IN, code=1)
    assert "or newer" in script(check, "2.99", STAND_IN)


@pytest.mark.skipif(not shutil.which("cc") or not shutil.which("readelf"), reason="needs a C compiler and binutils")
def test_symbol_without_a_library_refused(tmp_path: Path) -> None:
    """The linker accepts such a library; a call of the symbol fails at run time."""
    code = '#include <stdio.h>\nint in_no_library(void);\nint f(void) { return puts("") + in_no_library(); }\n'
    (tmp_path / "a.c").write_text(code)
    library = tmp_path / "a.so"
    script("cc", "-shared", "-fPIC", "-o", library, tmp_path / "a.c")
    assert "in_no_library" in script(ROOT / "packaging" / "check-glibc.sh", "2.99", library, code=1)


def test_release_notes_are_of_the_version() -> None:
    notes = script(ROOT / "packaging" / "release-notes.sh", VERSION)
    assert "### Added" in notes
    assert "## [" not in notes
    assert "has no section for version 9.9.9" in script(ROOT / "packaging" / "release-notes.sh", "9.9.9", code=1)


def test_versions_agree() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == VERSION
    assert citation["repository-code"] == WORKSPACE["repository"]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda f: f.name)
def test_workflows(file: Path) -> None:
    """Actions are pinned to commits, permissions are those to read, and each target of make exists."""
    workflow = load(file)
    assert workflow["permissions"] == {"contents": "read"}
    targets = set(
        re.findall(r"^([a-z-]+):", "".join(p.read_text() for p in (ROOT / "Makefile", ROOT / "packaging/release.mk")), re.M)
    )
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())
    for step in steps(workflow):
        if "uses" in step:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", step["uses"]), step["uses"]
        command = step.get("run", "")
        assert set(re.findall(r"\bmake ([a-z-]+)", command)) <= targets, command
        scripts = re.findall(r"(?:tools|packaging)/[\w-]+\.sh", command)
        assert all((ROOT / s).is_file() for s in scripts), command


def test_a_workflow_runs_every_test() -> None:
    commands = [step["run"] for step in steps(load(GITHUB / "workflows" / "test.yml")) if "run" in step]
    assert "make test" in commands


def test_issue_forms() -> None:
    forms = [load(f) for f in GITHUB.glob("ISSUE_TEMPLATE/*.yml") if f.name != "config.yml"]
    assert len({form["name"] for form in forms}) == len(forms) >= 3
    for form in forms:
        ids = [field["id"] for field in form["body"]]
        assert form["description"]
        assert len(set(ids)) == len(ids)
        assert all(field["attributes"]["label"] for field in form["body"])


def test_container_file_uses_supported_versions() -> None:
    text = (ROOT / "Containerfile").read_text()
    versions = dict(re.findall(r"^ARG (RUST|PYTHON)=(\S+)$", text, re.MULTILINE))
    package = _toml.read(ROOT / "pyproject.toml")["project"]

    def number(version: str) -> tuple[int, ...]:
        return tuple(map(int, version.split(".")))

    assert number(versions["RUST"]) >= number(WORKSPACE["rust-version"])
    assert number(versions["PYTHON"]) >= number(package["requires-python"].removeprefix(">="))
    assert re.search(r"^maturin==\S+$", (ROOT / "python/requirements-dev.txt").read_text(), re.MULTILINE)
    extras = re.search(r"\[([a-z,]+)\]\"", text)
    assert extras
    assert set(extras[1].split(",")) <= set(package["optional-dependencies"])
