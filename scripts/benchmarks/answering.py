"""The measured side of a conversation: one JSON request a line, one JSON answer a line."""

from __future__ import annotations

import json
import platform
import sys

# Blender and libraries print, too; only lines that begin with this are answers.
ANSWER = "answer: "


def serve(worker: object) -> None:
    """Answer requests until the input ends.

    An error ends the process: its text reaches the other side as the last line, and nothing is
    measured on a state that nobody can vouch for.

    Args:
        worker: Its methods are the tasks: a request's other entries are the arguments, and what
            the method returns is the answer.
    """
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(worker, request.pop("task"))(**request)
        print(ANSWER + json.dumps(answer), flush=True)


def python_versions() -> dict[str, str]:
    """Return the versions of what every Python worker stands on."""
    import numpy as np

    return {"python": platform.python_version(), "numpy": np.__version__}
