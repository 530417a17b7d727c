"""Processes of this package's command."""

from __future__ import annotations

import os
import sys

#: Python puts the current folder before its own modules, and a file `forebay.py` there would run instead of the package.
#: Python 3.10 does not support `-P`, which prevents that.
_MODULE = """\
import sys
if sys.path and sys.path[0] == '':
    del sys.path[0]
import runpy
runpy.run_module('forebay', run_name='__main__', alter_sys=True)
"""


def command(*words: str | os.PathLike[str]) -> list[str]:
    """Return the command line of ``python -m forebay`` with these arguments, without modules of the current folder."""
    return [sys.executable, "-c", _MODULE, *(os.fspath(word) for word in words)]
