"""A stand-in for Flamenco: Node compiles jobs, and commands are built as workers build them."""

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

# The default values of Flamenco's variables.
VARIABLES = {"{blender}": "blender", "{blenderArgs}": "-b -y"}


def settings_with(**changed: object) -> dict[str, object]:
    """Return settings as Blender submits them, with some changes."""
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
    """Return the job type and the tasks of a job, or the message of an error."""
    job = {"name": "Shot", "type": "chain-ik-bake", "settings": settings}
    command = ["node", str(ROOT / "tests" / "flamenco.js"), str(JOB_TYPE)]
    done = subprocess.run(
        command, input=json.dumps(job), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def tasks_of(settings: dict[str, object]) -> list[dict[str, Any]]:
    """Return the tasks of a job that compiles."""
    result = compiled(settings)
    assert "error" not in result, result
    return result["tasks"]


def command_line(task: dict[str, Any]) -> list[str]:
    """Return a worker's command for a task: `{exe} {exeArgs} {argsBefore} {blendfile} {args}`."""
    (command,) = task["commands"]
    assert command["name"] == "blender-render"
    parameters = command["parameters"]
    assert set(parameters) == {"exe", "exeArgs", "argsBefore", "blendfile", "args"}
    start = [VARIABLES[parameters["exe"]], *shlex.split(VARIABLES[parameters["exeArgs"]])]
    line = [*start, *parameters["argsBefore"], parameters["blendfile"], *parameters["args"]]
    assert all(isinstance(part, str) for part in line)
    return line
