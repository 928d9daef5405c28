"""How a process ends that has Blender as a Python module, and what is registered in it."""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

import bpy


def registered(base: type, package: str) -> list[type]:
    """Return the registered classes of a package below one of Blender's, bases first."""
    found, left = dict[type, None](), [base]
    while left:
        left += (each := left.pop(0)).__subclasses__()
        if each.__module__.startswith(package) and each.is_registered:
            found[each] = None
    return list(found)


def run(main: Callable[..., object], *arguments: object) -> NoReturn:
    """Call a function and end the process, with exit code 1 and the traceback if it failed.

    Python's own cleaning up is left out: the 4.2 module would crash there.
    """
    exit_code = 1
    try:
        main(*arguments)
        exit_code = 0
    finally:
        if exit_code:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        shutil.rmtree(bpy.app.tempdir, ignore_errors=True)
        os._exit(exit_code)
