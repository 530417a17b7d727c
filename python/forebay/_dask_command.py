"""``forebay run --dask``: reads the request and fills the sweep's directory; the command then continues."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from forebay import _dask, _native


def main() -> int:
    """Read a sweep as JSON from standard input, as ``forebay run --dask`` writes it, and run its units."""
    job = json.load(sys.stdin)
    if os.environ.get("FOREBAY_SOURCES") != _native.__sources__:
        print("error: the Python package was not built from the sources of this program; install both anew", file=sys.stderr)
        return 1
    try:
        client = _dask.connect(job["address"])
    except OSError as e:
        print(f"error: {e}", file=sys.stderr)
        return 1
    scenario = _native.Scenario.from_text(job["text"], job["file"], "", job["sets"], job["seed"])
    out = job["out"]
    try:
        with client:
            _dask.fill(scenario, job["axes"], None if out is None else Path(out), client, progress=job["progress"])
    except KeyboardInterrupt:
        return 130
    except Exception as e:  # whatever a worker or the scheduler says
        print(f"error: {e or type(e).__name__}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
