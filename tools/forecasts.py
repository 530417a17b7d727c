#!/usr/bin/env python3
"""Compares forecasts of `forebay check` with the runs, for every scenario in scenarios/ and papers/.

    tools/forecasts.py FOREBAY [--most SECONDS] [--factor 1.5] [FILE...]

FOREBAY is the program. Files with a forecast above SECONDS of processor time (default 60) are not run. The last column has the ratios of forecast and run
for packet transmissions, messages, samples and processor time (with the writing of tables). Fails if one of the first three ratios differs from 1 by more
than the factor; the last depends on the machine.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def scenarios() -> list[Path]:
    files = sorted([*ROOT.glob("scenarios/*.toml"), *ROOT.glob("papers/*/*.toml")])
    return [f for f in files if "topology" in tomllib.loads(f.read_text())]


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(program: str, file: Path) -> dict[str, float | None]:
    with tempfile.TemporaryDirectory() as folder:
        before = processor_time()
        command = [program, "run", str(file), "--yes", "--quiet", "--no-report", "--out", f"{folder}/r"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        manifest = json.loads(Path(folder, "r/manifest.json").read_text())
        rows = {t["name"]: t["rows"] for t in manifest.get("tables", [])}
        # A sweep keeps numbers of its runs and not their rows.
        whole = "flows" in rows
        return {
            "packet_transmissions": manifest["packet_hops"],
            "messages": rows["flows"] if whole else None,
            "samples": rows["queue"] + rows["tcp"] if whole else None,
            "processor_s": processor_time() - before,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--most", type=float, default=60.0)
    parser.add_argument("--factor", type=float, default=1.5)
    parser.add_argument("files", nargs="*", type=Path)
    args = parser.parse_args()
    bad = 0
    print("| file | packet transmissions: forecast, run | messages | ratios |\n|---|---|---|---|")
    for file in args.files or scenarios():
        checked = subprocess.run([args.program, "check", str(file), "--format", "json"], check=True, capture_output=True, text=True)
        forecast = json.loads(checked.stdout)["forecast"]
        name = file.resolve().relative_to(ROOT) if file.resolve().is_relative_to(ROOT) else file
        if forecast.get("processor_s", float("inf")) > args.most:
            print(f"| {name} | not run: {forecast} | | |", flush=True)
            continue
        actual = run(args.program, file)
        ratios = {k: (forecast[k] + 1) / (v + 1) if k != "processor_s" else forecast[k] / v for k, v in actual.items() if v is not None}
        counts = [r for k, r in ratios.items() if k != "processor_s"]
        wrong = any(not 1 / args.factor < r < args.factor for r in counts)
        bad += wrong
        shown = " ".join(f"{r:.2f}" for r in ratios.values()) + (" WRONG" if wrong else "")
        pairs = [f"{forecast[k]:.3g}, {actual[k]:.3g}" if actual[k] is not None else "" for k in ("packet_transmissions", "messages")]
        print(f"| {name} | {pairs[0]} | {pairs[1]} | {shown} |", flush=True)
    if bad:
        sys.exit(f"{bad} forecasts are wrong by more than a factor of {args.factor}")


main()
