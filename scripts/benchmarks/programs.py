"""How each worker is started, and what has to be installed before."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import shutil
from pathlib import Path

import environment
from benchmarks.workers import Worker, WorkerError
from common.console import say, stream
from common.python_finder import UnavailableError
from environment import Environment, InstallError, python_variables

# Inside Blender; a process has one scene, so they also get its layout.
IN_BLENDER = ("chains", "built-in", "floor", "handler", "unsolved", "memory")

# Fixed versions: a goal is a ratio to something that stays the same.
RIVALS = {
    "pyfabrik": Environment("3.11", ("pyfabrik==0.4.0", "numpy==1.26.*"), "20 MB"),
    "pin": Environment("3.13", ("pin==4.1.0", "numpy>=2.2,<3"), "60 MB"),
    # Without its dependencies: one of them is PyTorch, 200 MB that this part of it does not use.
    "momentum": Environment(
        "3.13",
        ("--no-deps", "pymomentum-cpu==0.1.114.post0", "numpy>=2.2,<3", "scipy>=1.14"),
        "100 MB",
    ),
}
FULLIK = "@aminere/fullik@1.3.3"
ALL_RIVALS = (*RIVALS, "fullik")

# Small matrices get nothing from more threads, and the figures would scatter.
ONE_THREAD = {
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    )
}


@dataclasses.dataclass(frozen=True)
class Programs:
    """Starts workers.

    Attributes:
        blender: The environment with the bpy module, "bpy-5.2"; its Python runs our core, too.
        folder: For files that workers share: the cases, Blender's own user files.
    """

    blender: str
    folder: Path

    def start(self, program: str, subject: str) -> Worker:
        """Start the worker of a side.

        Raises:
            UnavailableError: If this machine cannot have it.
            InstallError: If it could not be installed.
        """
        if program in IN_BLENDER:
            return self.start_in_blender("measured.blender_updates", program, subject)
        cases = str(self._cases)
        if program == "core":
            return self._python(self.blender, "measured.core_solves", [cases], ONE_THREAD)
        if program == "fullik":
            script = Path(__file__).parent / "rivals" / "with_fullik.mjs"
            node, folder = ensure_fullik()
            return Worker(program, [node, str(script), cases, str(folder)], dict(os.environ))
        return self._python(f"rival-{program}", f"rivals.with_{program}", [cases], ONE_THREAD)

    def start_in_blender(self, module: str, *arguments: object) -> Worker:
        """Start a worker in Blender by its module; arguments as that says."""
        texts = [str(argument) for argument in arguments]
        # A Blender without this person's preferences, and nothing written into them.
        own = {"BLENDER_USER_RESOURCES": str(self.folder), **ONE_THREAD}
        return self._python(self.blender, module, texts, own)

    def printed(self, module: str, *arguments: str) -> list[str]:
        """Return what a module of the benchmark prints, which needs no Blender.

        Raises:
            WorkerError: If it fails.
        """
        command = [str(interpreter(self.blender)), "-m", f"benchmarks.{module}", *arguments]
        variables = python_variables(ONE_THREAD)
        code, output = stream(self.blender, command, lambda line: None, env=variables)
        if code != 0:
            raise WorkerError("\n".join(output))
        return output

    def _python(
        self, name: str, module: str, arguments: list[str], variables: dict[str, str]
    ) -> Worker:
        command = [str(interpreter(name)), "-m", f"benchmarks.{module}", *arguments]
        return Worker(module, command, python_variables(variables))

    @functools.cached_property
    def _cases(self) -> Path:
        path = self.folder / "cases.json"
        self.printed("scenes.cases", str(path))
        return path


def interpreter(name: str) -> Path:
    """Return the interpreter of an environment, which is made first if needed."""
    return environment.ensure(name, RIVALS.get(name[len("rival-") :]))


def ensure_fullik() -> tuple[str, Path]:
    """Return node, and the folder with fullik, which is installed first if needed."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise UnavailableError("node and npm are needed for it, and are not on this machine.")
    folder = environment.FOLDER / "rival-fullik"
    manifest = folder / "node_modules" / "@aminere" / "fullik" / "package.json"
    version = FULLIK.rsplit("@", 1)[1]
    if manifest.exists() and json.loads(manifest.read_text("utf-8"))["version"] == version:
        return node, folder
    say("rival-fullik", "installing, about 1 MB")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    options = ["--prefix", str(folder), "--cache", str(folder / "cache")]
    command = [npm, "install", *options, "--no-audit", "--no-fund", FULLIK]
    code, output = stream("rival-fullik", command, lambda line: None)
    if code != 0:
        raise InstallError(f"npm could not install {FULLIK}: {' '.join(output[-3:])}")
    return node, folder
