"""Snakes, tails and trees in Blender. A worker: one kind of work, of one size, in one manner.

    python -m benchmarks.measured.blender_characters MANNER WORK SIZE  a Python with the bpy module

Manners: chains (this project's), built-in (Blender's IK constraint, which knows trees alone).
Works: snake (one chain of SIZE bones pulled by a force, with springs and weight), necks (SIZE such
chains of six bones), tails (SIZE chains of six bones dragged by their tips), trees (SIZE spines of
five bones with two arms of four).
"""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np

import blender_ik_addon
from benchmarks.measured.in_blender import InBlender, answer
from benchmarks.scenes.blender_scenes import add_empty, add_rig, follow

TAIL, SPINE, ARM = 6, 5, 4
APART = 12.0
# How far targets move in one step, in lengths of a bone.
STEP = 0.05
# How many of the costliest functions a profile names, and of how many updates it is made.
NAMED, PROFILED = 10, 20


class Characters(InBlender):
    """A scene of characters."""

    def __init__(self, manner: str, work: str, size: str) -> None:
        """Build the scene."""
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        if manner == "chains":
            blender_ik_addon.register()
        self._manner, self._step = manner, 0
        self._targets: list[tuple[bpy.types.Object, np.ndarray]] = []
        is_ours = manner == "chains"
        if is_ours:
            # Else every rig that is added would have all the others solved.
            bpy.context.scene.chain_ik.use_live = False
        getattr(self, f"_{work}")(int(size))
        if is_ours:
            bpy.context.scene.chain_ik.use_live = True
        bpy.context.view_layer.update()

    def profile(self) -> list[tuple[str, str, str]]:
        """Return the costliest functions of some updates, milliseconds an update, and calls."""
        profiler = cProfile.Profile()
        for _ in range(PROFILED):
            self.move_on()
            profiler.enable()
            bpy.context.view_layer.update()
            profiler.disable()
        entries = pstats.Stats(profiler).get_stats_profile().func_profiles.items()
        costly = sorted(entries, key=lambda entry: -entry[1].tottime)[:NAMED]
        return [
            (f"{Path(each.file_name).name} {name}", f"{1e3 * each.tottime / PROFILED:.2f}",
             each.ncalls)
            for name, each in costly
        ]  # fmt: skip

    def move_on(self) -> None:
        """Move all targets a little."""
        self._step += 1
        for number, (target, home) in enumerate(self._targets):
            phase = STEP * self._step + number
            target.location = home + np.array([np.cos(phase), np.sin(phase), np.sin(0.7 * phase)])

    def _snake(self, count: int) -> None:
        self._add_straight("FORCE", (0.0, 0.0), count)

    def _necks(self, count: int) -> None:
        for place in _places(count):
            self._add_straight("FORCE", place)

    def _tails(self, count: int) -> None:
        for place in _places(count):
            self._add_straight("FOLLOW", place)

    def _add_straight(self, solver: str, place: tuple[float, float], count: int = TAIL) -> None:
        """Add a straight chain of so many bones; what a force pulls has springs and weight."""
        bones = {f"Bone {i}": _link("Bone", i, place) for i in range(count)}
        rig = add_rig(solver, bones, is_connected=False)
        lean, height = (0.3, 0.7) if solver == "FORCE" else (0.0, 1.0)
        home = (place[0] + lean * count, place[1], height * count)
        followed = self._follow(rig, f"Bone {count - 1}", solver, home)
        if solver == "FORCE":
            force = followed.force
            force.gravity, force.stiffness_root, force.stiffness_tip = 1.0, 4.0, 0.5

    def _trees(self, count: int) -> None:
        for x, y in _places(count):
            rig = add_rig("Tree", dict(_spine_with_arms((x, y))), is_connected=False)
            for side, sign in (("L", 1.0), ("R", -1.0)):
                there = (x + 0.6 * ARM * sign, y - 1.0, SPINE - 0.5)
                solver = "NEWTON" if self._manner == "chains" else "built-in"
                self._follow(rig, f"Arm {side} {ARM - 1}", solver, there)

    def _follow(
        self, rig: bpy.types.Object, tip: str, solver: str, home: tuple[float, float, float]
    ) -> Any:
        target = add_empty(f"Target {tip}", home)
        self._targets.append((target, np.array(home)))
        return follow(rig, tip, target, solver)


def _places(count: int) -> list[tuple[float, float]]:
    """Return where so many characters stand: in rows of ten."""
    return [(APART * (number % 10), APART * (number // 10)) for number in range(count)]


def _link(name: str, number: int, place: tuple[float, float]) -> tuple:
    """Return head, tail and parent of a bone of a straight chain."""
    x, y = place
    # A little off the line, so that the chain has a side to bend to.
    lean = 0.02 * (number % 2)
    head, tail = (x + lean, y, number), (x + 0.02 - lean, y, number + 1.0)
    return head, tail, f"{name} {number - 1}" if number else ""


def _spine_with_arms(place: tuple[float, float]) -> Iterator[tuple[str, tuple]]:
    for number in range(SPINE):
        yield f"Spine {number}", _link("Spine", number, place)
    x, y = place
    for side, sign in (("L", 1.0), ("R", -1.0)):
        for number in range(ARM):
            head = (x + sign * (0.3 + number), y + 0.05 * (number % 2), SPINE)
            tail = (x + sign * (1.3 + number), y + 0.05 * ((number + 1) % 2), SPINE)
            above = f"Arm {side} {number - 1}" if number else f"Spine {SPINE - 1}"
            yield f"Arm {side} {number}", (head, tail, above)


if __name__ == "__main__":
    answer(Characters)
