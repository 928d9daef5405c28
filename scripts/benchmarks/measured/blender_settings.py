"""Measure whole updates of chains with one setting. A worker: it sets up row after row.

    python -m benchmarks.measured.blender_settings MANNER      a Python with the bpy module

Manners: chains (this project's, as a row of `setting_rows` says), built-in (Blender's IK
constraint on plain rigs, whatever the row is: one measure for all of them).
"""

from __future__ import annotations

import dataclasses
import time

import bpy
import numpy as np
from mathutils import Euler

import blender_ik_addon
from benchmarks.clocks import SECONDS
from benchmarks.measured.in_blender import InBlender, answer
from benchmarks.scenes import blender_scenes, setting_rigs
from benchmarks.scenes.blender_scenes import TARGET_SETS, Array
from benchmarks.scenes.sizes import LAYOUTS, Layout
from benchmarks.setting_rows import ROWS, Setting

ROW_BY_NAME = {row.name: row for row in ROWS}
# How far targets beyond the reach are, in times of those within.
BEYOND = 1.35
# Of the range of limited joints, where targets are those of joints.
SHARE = 0.8
SEED = 20261123
CHECKED_SECONDS = 2.0


class UnsolvedError(Exception):
    """A chain says that it cannot be solved, so its time says nothing."""


class Settings(InBlender):
    """One scene at a time."""

    seconds = SECONDS / 2

    def __init__(self, manner: str) -> None:
        """Remember who poses."""
        self.manner = manner
        if manner == "chains":
            blender_ik_addon.register()

    def set_up(self, layout: str, row: str) -> None:
        """Build a scene and what poses it."""
        self.step, self.row = 0, ROW_BY_NAME[row]
        plain = LAYOUTS[layout]
        if self.manner == "built-in":
            self.row = Setting("plain")
            self.stage = blender_scenes.build(plain)
            blender_scenes.add_builtin_constraints(self.stage)
        else:
            bones = plain.bones + self.row.has_hand
            self.stage = blender_scenes.build(dataclasses.replace(plain, bones=bones))
            bpy.context.scene.chain_ik.use_live = False
            self._dress(plain)
            bpy.context.scene.chain_ik.use_live = True
        bpy.context.view_layer.update()

    def check(self) -> dict[str, float]:
        """Visit sets of targets while there is time, and tell how near the chains came.

        Raises:
            UnsolvedError: If a chain says that it cannot be solved.
        """
        misses, length = [], self.stage.layout.bones - self.row.has_hand
        begin = time.perf_counter()
        for visited in range(TARGET_SETS):
            if visited and time.perf_counter() - begin > CHECKED_SECONDS:
                break
            self.move_on()
            bpy.context.view_layer.update()
            for rig in self.stage.armatures if self.manner == "chains" else ():
                for chain in rig.chain_ik.chains:
                    if chain.residual < 0.0:
                        raise UnsolvedError(f"{self.row.name}: {chain.status}")
                    misses.append(chain.residual)
            if self.manner != "chains":
                misses += blender_scenes.residuals(self.stage).tolist()
        allowed = blender_scenes.allowed_residual(self.stage)
        reached = float(np.mean(np.array(misses) <= allowed))
        return {"reached": reached, "worst": max(misses) / length}

    def _dress(self, plain: Layout) -> None:
        """Do to rigs, targets and chains what the row says."""
        row, stage = self.row, self.stage
        setting_rigs.change(stage, row.rig)
        self.places = self._places(plain)
        self.poles = self._add_poles() if row.has_pole else []
        for number, (rig, bone, target) in enumerate(stage.tips()):
            limb = number % stage.layout.limbs
            chain = rig.chain_ik.chains.add()
            chain.solver = "TWO_BONE" if plain.bones == 2 else "NEWTON"
            chain.tolerance = plain.tolerance
            chain.chain_count = plain.bones + row.is_tree
            for name, value in row.chain.items():
                # A weight is one among others: only every second limb of a tree has it.
                if name != "weight" or limb % 2:
                    setattr(chain, name, value)
            for name, value in row.force.items():
                setattr(chain.force, name, value)
            if row.joint:
                _give_joint(chain, limb, dict(row.joint))
            if self.poles:
                self._set_pole(chain, number, limb)
            bones = rig.data.bones
            chain.bone = bones[bone].parent.name if row.has_hand and chain.use_tail else bone
            chain.target = rig if "handles" in row.rig else target
            if "handles" in row.rig:
                chain.subtarget = setting_rigs.handle_name(limb)

    def _places(self, plain: Layout) -> Array:
        """Return where targets go, shape (TARGET_SETS, chains, 3)."""
        stage = self.stage
        origins = np.array([rig.location for rig in stage.armatures])
        if self.row.targets == "of joints":
            return self._posed_places()
        places = blender_scenes.target_positions(plain, origins)
        if self.row.targets == "beyond":
            roots = np.repeat(origins, plain.limbs, axis=0)
            places = roots + BEYOND * (places - roots)
        return places

    def _posed_places(self) -> Array:
        """Return where the tips are in random poses within the ranges of all bones."""
        rng, found = np.random.default_rng(SEED), []
        ends = SHARE * np.array([setting_rigs.BALL[axis] for axis in "xyz"])
        for _ in range(TARGET_SETS):
            for bone in setting_rigs.limbs(self.stage):
                # About one axis each: within the range whatever the others do.
                turn = np.zeros(3)
                axis = rng.integers(3)
                turn[axis] = rng.uniform(-ends[axis], ends[axis])
                bone.rotation_quaternion = Euler(turn).to_quaternion()
            bpy.context.view_layer.update()
            found.append(
                [rig.matrix_world @ rig.pose.bones[bone].tail for rig, bone, _ in self.stage.tips()]
            )
        for bone in setting_rigs.limbs(self.stage):
            bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
        bpy.context.view_layer.update()
        return np.array(found)

    def _add_poles(self) -> list[bpy.types.Object]:
        """Return an empty beside each chain's root; poles that are bones get that place."""
        poles, stage = [], self.stage
        for number, (rig, _, _) in enumerate(stage.tips()):
            limb = number % stage.layout.limbs
            root = rig.pose.bones[blender_scenes.bone_name(limb, 0)].head
            place = root + 2.0 * stage.layout.bones * root.__class__((0.4, -1.0, 0.3)).normalized()
            if "pole bones" in self.row.rig:
                rig.pose.bones[setting_rigs.handle_name(limb)].location = place
                poles.append(rig)
                continue
            poles.append(blender_scenes.add_empty(f"Pole.{number}", rig.matrix_world @ place))
        return poles

    def _set_pole(self, chain: bpy.types.PropertyGroup, number: int, limb: int) -> None:
        chain.pole_target = self.poles[number]
        if "pole bones" in self.row.rig:
            chain.pole_subtarget = setting_rigs.handle_name(limb)

    def move_on(self) -> None:
        """Move all targets to their next places."""
        self.step += 1
        if self.manner == "built-in":
            self.stage.move_targets(self.step)
            return
        places = self.places[self.step % TARGET_SETS].tolist()
        if "handles" not in self.row.rig:
            for target, place in zip(self.stage.targets, places):
                target.location = place
                # Rows that take the target's rotation have something to take.
                target.rotation_euler.x = 0.2 * (self.step % TARGET_SETS)
            return
        for number, ((rig, _, _), place) in enumerate(zip(self.stage.tips(), places)):
            name = setting_rigs.handle_name(number % self.stage.layout.limbs)
            rig.pose.bones[name].location = np.subtract(place, rig.location)


def _give_joint(chain: bpy.types.PropertyGroup, limb: int, settings: dict[str, object]) -> None:
    """Give the second bone of a chain a joint, or the first."""
    place = 0 if settings.pop("on_first", False) else 1
    joint = chain.joints.add()
    joint.bone = blender_scenes.bone_name(limb, place)
    for name, value in settings.items():
        setattr(joint, name, value)


if __name__ == "__main__":
    answer(Settings)
