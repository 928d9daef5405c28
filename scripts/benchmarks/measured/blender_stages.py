"""Where the time of a live update goes: a clock around each stage of it."""

from __future__ import annotations

import statistics
import time
from typing import Any, Callable

REPEATS = 60
# Stage to the module below ``blender_ik_addon`` and the functions that make it up.
STAGES = {
    "read": (
        ("rig.live.live", "_world"),
        ("rig.live.live", "_read_rigs"),
        ("rig.live.graph_state", "GraphState.touched"),
        ("rig.batches.followed", "Followed.read"),
    ),
    "solve": (
        ("rig.posing.base_solve", "BaseSolve.solved"),
        ("rig.posing.frame_solve", "FrameSolve.solved"),
        ("rig.posing.follow_solve", "FollowSolve.dragged"),
    ),
    "write": (("rig.live.live", "_write"),),
    "handler": (("handlers", "_run"),),
}


class Clocks:
    """Sums up, by stage, the time that functions take."""

    def __init__(self) -> None:
        """Put a clock around every function of every stage."""
        self.seconds = dict.fromkeys(STAGES, 0.0)
        for stage, functions in STAGES.items():
            for module, name in functions:
                self._wrap(stage, module, name)

    def _wrap(self, stage: str, module: str, name: str) -> None:
        import importlib

        owner: Any = importlib.import_module(f"blender_ik_addon.{module}")
        *path, attribute = name.split(".")
        for part in path:
            owner = getattr(owner, part)
        function = getattr(owner, attribute)

        def timed(*arguments: Any, **keywords: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments, **keywords)
            finally:
                self.seconds[stage] += time.perf_counter() - start

        setattr(owner, attribute, timed)


def stages(prepare: Callable[[], object], update: Callable[[], object]) -> dict[str, float]:
    """Return the median milliseconds of each stage of an update; the process ends up slower.

    Returns:
        By stage: read, solve, write, decide (the rest of the handler), Blender (the rest of the
        update: its evaluation of targets before, and of poses after).
    """
    clocks = Clocks()
    found: dict[str, list[float]] = {
        name: [] for name in ("read", "solve", "write", "decide", "Blender")
    }
    for _ in range(REPEATS):
        prepare()
        clocks.seconds = dict.fromkeys(STAGES, 0.0)
        start = time.perf_counter()
        update()
        whole = time.perf_counter() - start
        own = clocks.seconds
        for name in ("read", "solve", "write"):
            found[name].append(own[name])
        found["decide"].append(own["handler"] - own["read"] - own["solve"] - own["write"])
        found["Blender"].append(whole - own["handler"])
    return {name: 1e3 * statistics.median(seconds) for name, seconds in found.items()}
