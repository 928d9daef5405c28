"""Flamenco as far as it runs here: jobs are compiled by Node, and commands made as workers do."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
JOB_TYPE = ROOT / "scripts" / "farm" / "chain_ik_bake.js"
needs_node = pytest.mark.skipif(
    shutil.which("node") is None, reason="job types are JavaScript, and this machine has no Node"
)

# What Flamenco has for them by default.
VARIABLES = {"{blender}": "blender", "{blenderArgs}": "-b -y"}


def settings_with(**changed: object) -> dict[str, object]:
    """Return settings as Blender submits them, but for some."""
    return {
        "frames": "1-100",
        "chunk_size": 40,
        "chains": "",
        "armatures": "",
        "method": "frames",
        "smoothness": 0.5,
        "output": "//shot-baked.blend",
        "output_path": "/work/shot-baked.blend",
        "scene": "Scene",
        "blendfile": "/work/shot.flamenco.blend",
        **changed,
    }


def compiled(settings: dict[str, object]) -> dict[str, Any]:
    """Return the job type and the tasks of a job, or the error that is told."""
    job = {"name": "Shot", "type": "chain-ik-bake", "settings": settings}
    command = ["node", str(ROOT / "tests" / "flamenco.js"), str(JOB_TYPE)]
    done = subprocess.run(
        command, input=json.dumps(job), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def tasks_of(settings: dict[str, object]) -> list[dict[str, Any]]:
    """Return the tasks of a job that compiles."""
    answer = compiled(settings)
    assert "error" not in answer, answer
    return answer["tasks"]


def command_line(task: dict[str, Any]) -> list[str]:
    """Return what a worker starts for a task: `{exe} {exeArgs} {argsBefore} {blendfile} {args}`."""
    (command,) = task["commands"]
    assert command["name"] == "blender-render"
    given = command["parameters"]
    assert set(given) == {"exe", "exeArgs", "argsBefore", "blendfile", "args"}
    start = [VARIABLES[given["exe"]], *shlex.split(VARIABLES[given["exeArgs"]])]
    line = [*start, *given["argsBefore"], given["blendfile"], *given["args"]]
    assert all(isinstance(each, str) for each in line)
    return line
