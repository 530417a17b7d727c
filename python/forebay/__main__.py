"""The ``forebay`` command: ``python -m forebay`` and the script of the same name."""

from __future__ import annotations

import os
import signal
import sys

from forebay import _native, _share


def main() -> int:
    """Run the command with the process's arguments and return its exit code."""
    _share.tell_command()
    if sys.argv[1:2] == ["repro"]:  # in this process, with this package's simulator
        return _repro(sys.argv[2:])
    # The command's own Python processes use this interpreter.
    os.environ.setdefault("FOREBAY_PYTHON", sys.executable)
    # The command handles Ctrl-C itself; elsewhere Ctrl-C ends it at once, as a native program.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.cli(["forebay", *sys.argv[1:]])


def _repro(words: list[str]) -> int:
    try:
        from forebay.repro.__main__ import main as repro
    except ImportError as e:
        print(f"error: reproductions need more than is installed ({e}): pip install 'forebay[repro]'", file=sys.stderr)
        return 1
    return repro(words)


if __name__ == "__main__":
    sys.exit(main())
