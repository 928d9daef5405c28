"""Make the virtual environments of the project, inside the checkout.

Scripts need a Python (3.9 or newer) to start; all else comes from here. The Pythons for Blender
(3.11, 3.13) are on this machine, otherwise uv downloads them. Only `.venv/` is written.
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
# More threads do not speed up small matrices, and parallel runs would wait for each other.
ONE_THREAD = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM", "NUMEXPR")
}
# Seconds before each new attempt of pip: a download of hundreds of megabytes may break off.
_WAITS = (15.0, 60.0)
PYTHON_PATH = os.pathsep.join((str(ROOT / "scripts"), str(ROOT)))
STAMP = "chain_ik_recipe.txt"

# Lower bounds are versions that were run. Lint tools have upper bounds: a new release of them must
# not make a good commit fail.
_TESTING = ("pytest>=8.3,<10", "hypothesis>=6.112")
# A minimiser for the benchmark of held back targets; the test of it skips if SciPy is missing.
_MINIMISING = "scipy>=1.11"
_STUBS = ("fake-bpy-module-5.2>=20260730", "numpy>=2.2,<3")
_PAGES = ("sphinx>=9.1,<10", "myst-parser>=5.1,<6", "furo>=2025.12.19", "numpy>=2.2,<3")


class Environment(NamedTuple):
    """A virtual environment: its Python version, the requirements, and the size of the download."""

    python: str
    requirements: tuple[str, ...]
    size: str


ENVIRONMENTS = {
    # Older versions of mypy stop at the syntax of the stubs.
    "lint": Environment("3.13", ("ruff>=0.17.0,<0.18", "mypy>=2.4,<3", *_STUBS), "60 MB"),
    # Without bpy and on an old NumPy: proves that core needs no bpy.
    "core-3.11": Environment("3.11", ("numpy==1.26.*", _MINIMISING, *_TESTING), "20 MB"),
    "bpy-5.2": Environment("3.13", ("bpy==5.2.*", _MINIMISING, *_TESTING), "450 MB"),
    # The application 4.2 contains NumPy 1.24; the wheel does not require it, pip would install 2.x.
    "bpy-4.2": Environment("3.11", ("bpy==4.2.*", "numpy==1.24.3", *_TESTING), "400 MB"),
    "bpy-4.5": Environment("3.11", ("bpy==4.5.*", *_TESTING), "400 MB"),
    "bpy-5.0": Environment("3.11", ("bpy==5.0.*", *_TESTING), "400 MB"),
    # For the figures of the documentation.
    "drawing-3.13": Environment("3.13", ("matplotlib>=3.9.2",), "40 MB"),
    # NumPy, since the pages on scripting import core and run their examples.
    "docs": Environment("3.13", (*_PAGES, "latex2mathml>=3.81,<4"), "50 MB"),
}

# Parallel runs may need the same environment or Python: one run makes it, the others wait.
_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


class UnavailableError(Exception):
    """The error if this machine cannot have an environment; its text says what to do."""


class InstallError(UnavailableError):
    """The error if an installation fails although the interpreter exists."""


def ensure(name: str, contents: Environment | None = None) -> Path:
    """Return the interpreter of an environment; make or repair the environment if needed.

    Give the contents of an environment that `ENVIRONMENTS` does not list. Raises
    ``UnavailableError`` if this machine cannot have it, ``InstallError`` if pip failed.
    """
    version, requirements, size = contents or ENVIRONMENTS[name]
    folder, recipe = FOLDER / name, "\n".join((f"python {version}", *requirements, ""))
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    with _locks[name]:
        if not (python.exists() and _is_made_from(folder, recipe)):
            say(name, f"installing on Python {version}, downloads about {size}")
            with _locks["python"]:
                _make_empty(name, version)
            _pip_install(name, python, requirements, recipe)
        return python


def ensure_packages(version: str) -> Path:
    """Return a folder with pytest and hypothesis for the Python inside a Blender application."""
    folder, recipe = FOLDER / f"app-{version}", "\n".join((*_TESTING, ""))
    if not _is_made_from(folder, recipe):
        shutil.rmtree(folder, ignore_errors=True)
        # pip downloads for that Python; this machine need not have it.
        target = ("--target", str(folder), "--python-version", version, "--only-binary", ":all:")
        _pip_install(folder.name, ensure("core-3.11"), (*target, *_TESTING), recipe)
    return folder


def _is_made_from(folder: Path, recipe: str) -> bool:
    """Return whether the folder has a finished installation from a recipe."""
    stamp = folder / STAMP
    return stamp.exists() and stamp.read_text() == recipe


def _pip_install(name: str, python: Path, arguments: Iterable[str], recipe: str) -> None:
    """Install packages into the folder of that name, print each download, and write the stamp.

    Raises ``UnavailableError`` if there is no bpy wheel for this platform.
    """
    start = time.monotonic()
    code, output = _call_pip(name, python, arguments)
    if code == 0:
        # Write the stamp last: without it, the next run installs everything again.
        (FOLDER / name / STAMP).write_text(recipe)
        say(name, f"installed in {time.monotonic() - start:.0f} s")
        return
    text = " ".join([line for line in output if line.startswith("ERROR")] or output[-3:])
    # pip prints the same error without a connection, but only after more attempts.
    was_offline = any("Retrying (" in line for line in output)
    if "No matching distribution found for bpy" in text and not was_offline:
        raise UnavailableError(f"Blender offers no bpy package for this platform. {text}")
    raise InstallError(f"pip could not install {name}: {text}")


def _call_pip(name: str, python: Path, arguments: Iterable[str]) -> tuple[int, list[str]]:
    """Run `pip install`, and repeat it if a download broke off; return exit code and output."""
    options = ["--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    command = [str(python), "-m", "pip", "install", *options, *arguments]
    code, output = stream(name, command, _condense_pip_line)
    for wait in _WAITS:
        # Waiting does not help if there was no connection at all.
        if code == 0 or not any("Downloading" in line for line in output):
            break
        say(name, f"the connection broke off: next attempt in {wait:.0f} s")
        time.sleep(wait)
        code, output = stream(name, command, _condense_pip_line)
    return code, output


def _condense_pip_line(line: str) -> str | None:
    """Return a line of pip that is worth printing while somebody waits, otherwise None."""
    text = line.strip()
    is_large = text.startswith("Downloading") and text.endswith(" MB)")
    words = ("Installing collected packages", "WARNING: Retrying (", "ERROR")
    return text if is_large or text.startswith(words) else None


@contextlib.contextmanager
def isolated_variables(**variables: str) -> Iterator[dict[str, str]]:
    """Yield environment variables for one thread and a Blender with empty user preferences.

    The user's own preferences are neither read nor written.
    """
    with tempfile.TemporaryDirectory(prefix="chain_ik_") as folder:
        yield {**os.environ, **ONE_THREAD, "BLENDER_USER_RESOURCES": folder, **variables}


def run_in(label: str, *arguments: object, mark: str = "") -> int:
    """Run Python with arguments in an environment and return its exit code.

    The process finds our modules, and its Blender does not use the user's preferences. If this
    machine cannot have the environment, the script ends with a sentence. With a mark, only lines
    that begin with it are printed while the process runs; all lines if it fails.
    """
    try:
        command = [str(ensure(label)), *map(str, arguments)]
    except UnavailableError as error:
        sys.exit(str(error))
    # Without this, Matplotlib writes its list of fonts into the user's folder.
    paths = {"PYTHONPATH": PYTHON_PATH, "MPLCONFIGDIR": str(FOLDER / label / "matplotlib")}
    with isolated_variables(**paths) as env:
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
    """Make an environment with a Python version, for example "3.11".

    The Python is on this machine or uv downloads it; pip installs virtualenv and uv. Raises
    ``UnavailableError`` if there is no such Python.
    """
    tools, pythons = FOLDER / "tools", FOLDER / "python"
    if not tools.exists():
        say("tools", "installing virtualenv and uv, about 30 MB")
        packages = ("--target", str(tools), "virtualenv>=20.31", "uv")
        code, output = _call_pip("tools", Path(sys.executable), packages)
        if code:
            raise InstallError(f"pip could not install virtualenv and uv: {' '.join(output[-3:])}")
    # pyenv has only shims on the path, and these start only the selected version.
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    installed = [*pyenv.glob(f"{version}*"), *pythons.glob(f"cpython-{version}*")]
    path = [str(place) for folder in installed for place in (folder / "bin", folder)]
    # Install into the checkout, without a link in the user's folder of programs.
    variables = {"UV_PYTHON_INSTALL_DIR": str(pythons), "UV_PYTHON_INSTALL_BIN": "0"}
    variables |= {"PATH": os.pathsep.join((*path, os.environ["PATH"])), "PYTHONPATH": str(tools)}
    variables["VIRTUALENV_OVERRIDE_APP_DATA"] = str(tools / "data")
    command = [sys.executable, "-m", "virtualenv", "--clear", "--python", version]
    code, output = stream(name, [*command, str(FOLDER / name)], env={**os.environ, **variables})
    if code and not any(pythons.glob(f"cpython-{version}*")):
        say("python", f"Python {version} is not on this machine: uv downloads it, about 30 MB")
        uv = [sys.executable, "-m", "uv", "python", "install", version]
        if stream("python", uv, str.strip, env={**os.environ, **variables})[0] == 0:
            return _make_empty(name, version)
        raise UnavailableError(
            f"Python {version} was not found and could not be downloaded: install Python {version},"
            " then run this again."
        )
    if code:
        raise InstallError(f"Python {version} made no environment: {' '.join(output[-3:])}")
