"""The ``forebay`` command: ``python -m forebay`` and the script of the same name."""

from __future__ import annotations

import signal
import sys

from forebay import _native


def main() -> int:
    """Run the command with the process's arguments and return its exit code."""
    # The command listens to Ctrl-C itself; where it does not, Ctrl-C ends it at once, as it does the program of the same name.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.cli(["forebay", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
