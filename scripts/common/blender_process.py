"""Processes with Blender as a Python module: their end, and the classes registered in them."""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

import bpy


def list_types(base: type, package: str) -> list[type]:
    """Return a package's registered subclasses of a class of Blender, bases first."""
    classes, waiting = dict[type, None](), [base]
    while waiting:
        waiting += (cls := waiting.pop(0)).__subclasses__()
        if cls.__module__.startswith(package) and cls.is_registered:
            classes[cls] = None
    return list(classes)


def run(main: Callable[..., object], *arguments: object) -> NoReturn:
    """Call a function and end the process, with exit code 1 and the traceback if it failed.

    The process ends without Python's own clean-up: the module of Blender 4.2 crashes there.
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
