#!/usr/bin/env python3
"""Writes forebay.cdx.json: the software bill of materials of forebay's programs and its wheel (CycloneDX 1.5).

    tools/sbom.py            update the file
    tools/sbom.py --check    fail if it is out of date

It has the same software as THIRD-PARTY-NOTICES (tools/notices.py). Components have the checksums of Cargo.lock. There is no time and no random serial
number, so that builds are reproducible.
"""

import json
import re
import sys
import tomllib

from notices import FEATURES, ROOT, keep, linked, metadata

FILE = ROOT / "forebay.cdx.json"
UPLOT = ROOT / "crates/report/assets/uplot/uPlot.iife.min.js"


def purl(package: dict) -> str:
    return f"pkg:cargo/{package['name']}@{package['version'].replace('+', '%2B')}"


def licences(expression: str) -> list[dict]:
    """SPDX expression; older manifests write `/` for OR."""
    return [{"expression": expression.replace("/", " OR ")}]


def component(package: dict, checksums: dict[tuple[str, str], str]) -> dict:
    reference = {"type": "vcs", "url": package["repository"]}
    return {
        "type": "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "hashes": [{"alg": "SHA-256", "content": checksums[package["name"], package["version"]]}],
        "licenses": licences(package["license"]),
        "purl": purl(package),
    } | ({"externalReferences": [reference]} if package["repository"] else {})


def bundled(packages: dict[str, dict]) -> list[tuple[str, dict]]:
    """Sources of others in this repository or in a crate, each with the reference of the component that contains it."""
    uplot = re.search(r"\(v([0-9.]+)\)", UPLOT.read_text(encoding="utf-8")[:200])
    libbpf = next(p for p in packages.values() if p["name"] == "libbpf-sys")
    if uplot is None:
        sys.exit(f"no version in {UPLOT}")
    parts = [
        ("forebay", "uPlot", uplot[1], "MIT", f"pkg:npm/uplot@{uplot[1]}"),
        (purl(libbpf), "libbpf", libbpf["version"].partition("+v")[2], "BSD-2-Clause OR LGPL-2.1-only", None),
    ]
    made = []
    for owner, name, version, licence, url in parts:
        part = {"type": "library", "bom-ref": name, "name": name, "version": version, "licenses": licences(licence)}
        made.append((owner, part | ({"purl": url} if url else {})))
    return made


def depends(graph: dict, packages: dict[str, dict], parts: list[tuple[str, dict]]) -> list[dict]:
    """Returns the links between components. The own crates are one component."""
    edges: dict[str, set[str]] = {"forebay": set()} | {purl(p): set() for p in packages.values()}
    own = {p["id"] for p in graph["packages"] if p["source"] is None}
    for node in graph["resolve"]["nodes"]:
        if node["id"] not in packages and node["id"] not in own:
            continue
        user = "forebay" if node["id"] in own else purl(packages[node["id"]])
        normal = (d["pkg"] for d in node["deps"] if any(k["kind"] is None for k in d["dep_kinds"]))
        edges[user] |= {purl(packages[d]) for d in normal if d in packages}
    for owner, part in parts:
        edges[owner].add(part["bom-ref"])
        edges[part["bom-ref"]] = set()
    return [{"ref": ref, "dependsOn": sorted(used)} if used else {"ref": ref} for ref, used in sorted(edges.items())]


def render() -> str:
    graph = metadata(FEATURES)
    packages = linked(graph)
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))
    checksums = {(p["name"], p["version"]): p["checksum"] for p in lock["package"] if "checksum" in p}
    own = next(p for p in graph["packages"] if p["name"] == "forebay" and p["source"] is None)
    parts = bundled(packages)
    components = [component(p, checksums) for p in packages.values()] + [part for _, part in parts]
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "forebay",
                "name": "forebay",
                "version": own["version"],
                "description": "Builds without the features `bpf` and `mpi` contain less.",
                "licenses": licences(own["license"]),
                "purl": purl(own),
            }
        },
        "components": sorted(components, key=lambda c: c["bom-ref"]),
        "dependencies": depends(graph, packages, parts),
    }
    return json.dumps(bill, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    keep(FILE, render, __doc__)
