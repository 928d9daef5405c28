"""Find an interpreter of a given version on this machine, or have uv fetch one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

from common.console import say, stream

# Version of the interpreter; importing venv and ensurepip fails where a distribution ships
# Python without them, and such a Python cannot make an environment.
_PROBE = "import sys, venv, ensurepip; print(sys.executable, '%d.%d' % sys.version_info[:2])"

# Two environments may ask for the same version at the same time; one search is enough.
_lock = threading.Lock()
_found: dict[str, Path] = {}


class UnavailableError(Exception):
    """This machine cannot have what was asked for; the text says what to do."""


def find_python(version: str, folder: Path) -> Path:
    """Return an interpreter that can make virtual environments.

    Args:
        version: Major and minor number, "3.11".
        folder: Where uv and the Pythons it fetches are put.

    Raises:
        UnavailableError: If there is none and none could be fetched.
    """
    with _lock:
        if version not in _found:
            _found[version] = _search(version, folder) or _fetch(version, folder)
        return _found[version]


def python_in(environment: Path) -> Path:
    """Return the path of the interpreter in a virtual environment."""
    if os.name == "nt":
        return environment / "Scripts" / "python.exe"
    return environment / "bin" / "python"


def _search(version: str, folder: Path) -> Path | None:
    """Return the first usable interpreter of this version on the machine."""
    for command in _candidates(version, folder):
        try:
            probe = subprocess.run(
                [*command, "-c", _PROBE], capture_output=True, text=True, timeout=30, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        path, _, found = probe.stdout.strip().rpartition(" ")
        if probe.returncode == 0 and found == version:
            return Path(path)
    return None


def _candidates(version: str, folder: Path) -> list[list[str]]:
    """Return commands that may start the wanted version, the likeliest first."""
    # Every folder of PATH, not only the first hit: a pyenv shim may stand before a real one.
    names = [f"python{version}", "python3", "python"]
    suffix = ".exe" if os.name == "nt" else ""
    found = [
        Path(part) / (name + suffix)
        for name in names
        for part in os.environ.get("PATH", "").split(os.pathsep)
        if part
    ]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found += [python_in(path) for path in sorted(pyenv.glob(f"{version}*"), reverse=True)]
    found += _fetched(version, folder)
    commands = [[sys.executable], *([str(path)] for path in found if path.is_file())]
    if os.name == "nt":
        commands.append(["py", f"-{version}"])
    return commands


def _fetched(version: str, folder: Path) -> list[Path]:
    """Return the interpreters that uv has put into the folder."""
    name = "python.exe" if os.name == "nt" else f"bin/python{version}"
    return sorted((folder / "python").glob(f"cpython-{version}*/{name}"), reverse=True)


def _fetch(version: str, folder: Path) -> Path:
    """Have uv download an interpreter.

    Raises:
        UnavailableError: If there is no uv, or it could not.
    """
    uv = shutil.which("uv") or _install_uv(folder)
    if uv:
        say("python", f"Python {version} is not on this machine: uv downloads it, about 30 MB")
        # Into the checkout, and no link to it in the person's own folder of programs.
        places = {"UV_PYTHON_INSTALL_DIR": str(folder / "python"), "UV_PYTHON_INSTALL_BIN": "0"}
        command = [uv, "python", "install", version]
        stream("python", command, lambda line: line.strip(), env={**os.environ, **places})
        for path in _fetched(version, folder):
            return path
    raise UnavailableError(
        f"Python {version} was not found and could not be downloaded: install Python {version} "
        "(with its venv module) or uv, then run this again."
    )


def _install_uv(folder: Path) -> str | None:
    """Install uv into an environment of its own; return its path, or None if that failed."""
    home = folder / "uv"
    uv = python_in(home).with_name("uv.exe" if os.name == "nt" else "uv")
    if not uv.exists():
        say("python", "installing uv, about 20 MB")
        if home.exists():
            shutil.rmtree(home)
        pip = [str(python_in(home)), "-m", "pip", "install", "--quiet", "uv"]
        for command in ([sys.executable, "-m", "venv", str(home)], pip):
            code, output = stream("python", command, lambda line: None)
            if code != 0:
                say("python", *output[-3:])
                return None
    return str(uv)
