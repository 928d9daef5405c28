"""Make the virtual environments of the project, inside the checkout.

All that scripts need beside the Python (3.9 or newer) that starts them comes from here. The Pythons
that Blender wants (3.11, 3.13) are looked for, else fetched by uv. Only `.venv/` is written.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from common.console import ROOT, say, stream

FOLDER = ROOT / ".venv"
# Small matrices get nothing from more threads, and runs side by side would wait for each other.
ONE_THREAD = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")
}
# Seconds before pip is asked again: a connection may break off within hundreds of megabytes.
_WAITS = (15.0, 60.0)
PYTHON_PATH = os.pathsep.join((str(ROOT / "scripts"), str(ROOT)))
STAMP = "chain_ik_recipe.txt"

# Lower bounds are what was really run. Lint tools have upper bounds: a new release of them must not
# turn a good commit red.
_TESTING = ("pytest>=8.3,<10", "hypothesis>=6.112")
# An independent minimiser for the resting poses of FORCE; tests do without where it is missing.
_MINIMISING = "scipy>=1.11"
_STUBS = ("fake-bpy-module-5.2>=20260730", "numpy>=2.2,<3")
_PAGES = ("sphinx>=9.1,<10", "myst-parser>=5.1,<6", "furo>=2025.12.19", "numpy>=2.2,<3")


class Environment(NamedTuple):
    """A virtual environment: its Python, what pip installs, and how large that download is."""

    python: str
    requirements: tuple[str, ...]
    size: str


ENVIRONMENTS = {
    # Older versions of mypy stop at the syntax of the stubs.
    "lint": Environment("3.13", ("ruff>=0.17.0,<0.18", "mypy>=2.4,<3", *_STUBS), "60 MB"),
    # No bpy: proves that core needs none, on an old NumPy.
    "core-3.11": Environment("3.11", ("numpy==1.26.*", _MINIMISING, *_TESTING), "20 MB"),
    "bpy-5.2": Environment("3.13", ("bpy==5.2.*", _MINIMISING, *_TESTING), "450 MB"),
    # 1.24 is the NumPy inside the application 4.2; its wheel does not say so and would take 2.x.
    "bpy-4.2": Environment("3.11", ("bpy==4.2.*", "numpy==1.24.3", *_TESTING), "400 MB"),
    "bpy-4.5": Environment("3.11", ("bpy==4.5.*", *_TESTING), "400 MB"),
    "bpy-5.0": Environment("3.11", ("bpy==5.0.*", *_TESTING), "400 MB"),
    # For the figures of the documentation.
    "drawing-3.13": Environment("3.13", ("matplotlib>=3.9.2",), "40 MB"),
    # NumPy: the pages on scripting import core, and run their examples.
    "docs": Environment("3.13", (*_PAGES, "latex2mathml>=3.81,<4"), "50 MB"),
}

# Runs side by side may want the same environment, or Python: one makes it, the others wait.
_making: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


class UnavailableError(Exception):
    """This machine cannot have what was asked for; the text says what to do."""


class InstallError(UnavailableError):
    """An environment could not be installed although its interpreter is there."""


def ensure(name: str, wanted: Environment | None = None) -> Path:
    """Return the interpreter of an environment, which is made or repaired first if needed.

    Of one that no check needs it is told what it holds. If this machine cannot have it:
    ``UnavailableError``; if pip failed: ``InstallError``.
    """
    version, requirements, size = wanted or ENVIRONMENTS[name]
    folder, recipe = FOLDER / name, "\n".join((f"python {version}", *requirements, ""))
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    with _making[name]:
        if not (python.exists() and _is_made_from(folder, recipe)):
            say(name, f"installing on Python {version}, downloads about {size}")
            with _making["python"]:
                _make_empty(name, version)
            _pip_install(name, python, requirements, recipe)
        return python


def ensure_packages(version: str) -> Path:
    """Return a folder with pytest and hypothesis for the Python inside a Blender application."""
    folder, recipe = FOLDER / f"app-{version}", "\n".join((*_TESTING, ""))
    if not _is_made_from(folder, recipe):
        shutil.rmtree(folder, ignore_errors=True)
        # This machine need not have such a Python.
        target = ("--target", str(folder), "--python-version", version, "--only-binary", ":all:")
        _pip_install(folder.name, ensure("core-3.11"), (*target, *_TESTING), recipe)
    return folder


def _is_made_from(folder: Path, recipe: str) -> bool:
    """Tell whether a finished installation in the folder was made from a recipe."""
    stamp = folder / STAMP
    return stamp.exists() and stamp.read_text() == recipe


def _pip_install(name: str, python: Path, arguments: Iterable[str], recipe: str) -> None:
    """Install packages into the folder of that name, with a line for each download, and stamp it.

    ``UnavailableError`` if there is no bpy wheel for this platform.
    """
    start = time.monotonic()
    code, output = _call_pip(name, python, arguments)
    if code == 0:
        # Last: without it, all is installed again.
        (FOLDER / name / STAMP).write_text(recipe)
        say(name, f"installed in {time.monotonic() - start:.0f} s")
        return
    text = " ".join([line for line in output if line.startswith("ERROR")] or output[-3:])
    # Without a connection pip says the same, but only after it has tried again.
    was_offline = any("Retrying (" in line for line in output)
    if "No matching distribution found for bpy" in text and not was_offline:
        raise UnavailableError(f"Blender offers no bpy package for this platform. {text}")
    raise InstallError(f"pip could not install {name}: {text}")


def _call_pip(name: str, python: Path, arguments: Iterable[str]) -> tuple[int, list[str]]:
    """Run `pip install`, again if a download broke off; return its exit code and its output."""
    options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    command = [str(python), "-m", "pip", "install", *options, *arguments]
    code, output = stream(name, command, _condense_pip_line)
    for wait in _WAITS:
        # Without any connection waiting is no help.
        if code == 0 or not any("Downloading" in line for line in output):
            break
        say(name, f"the connection broke off: next attempt in {wait:.0f} s")
        time.sleep(wait)
        code, output = stream(name, command, _condense_pip_line)
    return code, output


def _condense_pip_line(line: str) -> str | None:
    """Keep of pip's output what a waiting person wants to read."""
    text = line.strip()
    is_large = text.startswith("Downloading") and text.endswith(" MB)")
    words = ("Installing collected packages", "WARNING: Retrying (", "ERROR")
    return text if is_large or text.startswith(words) else None


@contextlib.contextmanager
def own_variables(**variables: str) -> Iterator[dict[str, str]]:
    """Yield variables of a process with one thread and a Blender without this person's preferences.

    Nothing is written into these either.
    """
    with tempfile.TemporaryDirectory(prefix="chain_ik_") as folder:
        yield {**os.environ, **ONE_THREAD, "BLENDER_USER_RESOURCES": folder, **variables}


def run_in(label: str, *arguments: object, mark: str = "") -> int:
    """Run Python with arguments in an environment and return its exit code.

    It finds our modules, and has a Blender without this person's preferences. Where there can be no
    such environment, the script ends with a sentence. With a mark only lines that start with it are
    printed, for the person who waits, unless it fails.
    """
    try:
        command = [str(ensure(label)), *map(str, arguments)]
    except UnavailableError as error:
        sys.exit(str(error))
    # Matplotlib's list of fonts would else go into the person's own folder.
    own = {"PYTHONPATH": PYTHON_PATH, "MPLCONFIGDIR": str(FOLDER / label / "matplotlib")}
    with own_variables(**own) as env:
        if not mark:
            return subprocess.run(command, env=env, check=False).returncode

        def show(line: str) -> None:
            if line.startswith(mark):
                print(line[len(mark) :], flush=True)

        code, output = stream(label, command, show, env=env)
    if code != 0:
        say(label, *output, f"{' '.join(command)} ended with exit code {code}.")
    return code


def _make_empty(name: str, version: str) -> None:
    """Make an environment with a Python such as "3.11": of this machine, else one fetched by uv.

    virtualenv and uv come from pip. ``UnavailableError`` if there is no such Python.
    """
    tools, pythons = FOLDER / "tools", FOLDER / "python"
    if not tools.exists():
        say("tools", "installing virtualenv and uv, about 30 MB")
        wanted = ("--target", str(tools), "virtualenv>=20.31", "uv")
        code, output = _call_pip("tools", Path(sys.executable), wanted)
        if code:
            raise InstallError(f"pip could not install virtualenv and uv: {' '.join(output[-3:])}")
    # On the path pyenv has shims alone, which start no version but the chosen one.
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [*pyenv.glob(f"{version}*"), *pythons.glob(f"cpython-{version}*")]
    path = [str(place) for folder in found for place in (folder / "bin", folder)]
    # Into the checkout, and no link to it in the person's own folder of programs.
    own = {"UV_PYTHON_INSTALL_DIR": str(pythons), "UV_PYTHON_INSTALL_BIN": "0"}
    own |= {"PATH": os.pathsep.join((*path, os.environ["PATH"])), "PYTHONPATH": str(tools)}
    own["VIRTUALENV_OVERRIDE_APP_DATA"] = str(tools / "data")
    command = [sys.executable, "-m", "virtualenv", "--clear", "--python", version]
    code, output = stream(name, [*command, str(FOLDER / name)], env={**os.environ, **own})
    if code and not any(pythons.glob(f"cpython-{version}*")):
        say("python", f"Python {version} is not on this machine: uv downloads it, about 30 MB")
        uv = [sys.executable, "-m", "uv", "python", "install", version]
        if stream("python", uv, str.strip, env={**os.environ, **own})[0] == 0:
            return _make_empty(name, version)
        raise UnavailableError(
            f"Python {version} was not found and could not be downloaded: install Python {version},"
            " then run this again."
        )
    if code:
        raise InstallError(f"Python {version} made no environment: {' '.join(output[-3:])}")
