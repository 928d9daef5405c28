"""Find an interpreter of a given version on this machine, or have uv fetch one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from common.console import say, stream

# Importing venv and ensurepip fails where a distribution ships Python without them, and such a
# Python cannot make an environment.
_PROBE = "import sys, venv, ensurepip; print(sys.executable, '%d.%d' % sys.version_info[:2])"
_SUFFIX = ".exe" if os.name == "nt" else ""

# Two environments may ask for the same version at the same time; one search is enough.
_lock = threading.Lock()
_found: dict[str, Path] = {}


class UnavailableError(Exception):
    """This machine cannot have what was asked for; the text says what to do."""


def find_python(version: str, folder: Path) -> Path:
    """Return an interpreter of a version such as "3.11" that can make virtual environments.

    The folder is where uv and the Pythons that it fetches are put. If there is none and none could
    be fetched: ``UnavailableError``.
    """
    with _lock:
        found = _found.get(version) or _search(version, folder)
        if found is None:
            _fetch(version, folder)
            found = _search(version, folder)
        if found is None:
            raise UnavailableError(
                f"Python {version} was not found and could not be downloaded: install Python "
                f"{version} (with its venv module) or uv, then run this again."
            )
        return _found.setdefault(version, found)


def python_in(environment: Path) -> Path:
    return environment / ("Scripts" if os.name == "nt" else "bin") / f"python{_SUFFIX}"


def _search(version: str, folder: Path) -> Path | None:
    """Return the first usable interpreter of this version on the machine."""
    # Every folder of PATH, not only the first hit: a pyenv shim may stand before a real one.
    parts = [Path(part) for part in os.environ.get("PATH", "").split(os.pathsep) if part]
    names = (f"python{version}", "python3", "python")
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [Path(sys.executable), *(part / (name + _SUFFIX) for name in names for part in parts)]
    found += [python_in(path) for path in sorted(pyenv.glob(f"{version}*"), reverse=True)]
    for name in ("python.exe", f"bin/python{version}"):
        found += sorted((folder / "python").glob(f"cpython-{version}*/{name}"))
    commands = [[str(path)] for path in found if path.is_file()]
    for command in [*commands, *([["py", f"-{version}"]] if os.name == "nt" else [])]:
        try:
            probe = subprocess.run(
                [*command, "-c", _PROBE], capture_output=True, text=True, timeout=30, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        path, _, answer = probe.stdout.strip().rpartition(" ")
        if probe.returncode == 0 and answer == version:
            return Path(path)
    return None


def _fetch(version: str, folder: Path) -> None:
    """Have uv download an interpreter, if it can; uv comes from pip where it is not here."""
    uv = shutil.which("uv") or str(folder / "uv" / "bin" / f"uv{_SUFFIX}")
    if not Path(uv).exists():
        say("python", "installing uv, about 20 MB")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder / "uv")]
        say("python", *stream("python", [*pip, "uv"])[1][-3:])
    if Path(uv).exists():
        say("python", f"Python {version} is not on this machine: uv downloads it, about 30 MB")
        # Into the checkout, and no link to it in the person's own folder of programs.
        places = {"UV_PYTHON_INSTALL_DIR": str(folder / "python"), "UV_PYTHON_INSTALL_BIN": "0"}
        command = [uv, "python", "install", version]
        stream("python", command, str.strip, env={**os.environ, **places})
