"""Scenes of equal rigs inside Blender, with one of several ways to pose them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
import numpy.typing as npt

from benchmarks.scenes.cases import arc, targets_in_reach
from benchmarks.scenes.sizes import Layout
from blender_ik_addon.rig.reading.animation import curves

Array = npt.NDArray[np.float64]
Point = Sequence[float]
Bones = dict[str, tuple[Point, Point, str]]
"""Head, tail and parent by name; no parent is "".
"""

# Every repetition moves all targets to the next of so many sets of positions.
TARGET_SETS = 8
# Between rigs, in units of a limb's length.
SPACING = 3.0
# Blender stores positions as float32; it rounds each coordinate by up to half of this share.
FLOAT32 = 1.2e-7


@dataclasses.dataclass(frozen=True)
class Stage:
    """A built scene.

    Attributes:
        layout: What it was built from.
        armatures: The armature objects.
        targets: One empty for each limb, the limbs of one armature side by side.
        unrelated: An empty that nothing depends on.
        positions: Of the targets, world space, shape (TARGET_SETS, chains, 3).
    """

    layout: Layout
    armatures: list[bpy.types.Object]
    targets: list[bpy.types.Object]
    unrelated: bpy.types.Object
    positions: Array

    def tips(self) -> list[tuple[bpy.types.Object, str, bpy.types.Object]]:
        """Return for each limb its armature object, the name of its last bone, its target."""
        names = [bone_name(limb, self.layout.bones - 1) for limb in range(self.layout.limbs)]
        pairs = [(rig, name) for rig in self.armatures for name in names]
        return [(rig, name, target) for (rig, name), target in zip(pairs, self.targets)]

    def move_targets(self, index: int) -> None:
        """Move all targets to one set of positions, counted round."""
        positions = self.positions[index % TARGET_SETS].tolist()
        for target, position in zip(self.targets, positions):
            target.location = position


def bone_name(limb: int, index: int) -> str:
    """Return the name of a limb's bone, counted from its root."""
    return f"Limb.{limb}.{index}"


def build(layout: Layout) -> Stage:
    """Fill an empty file with the rigs and their targets; nothing poses them yet."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    first = _make_armature(layout)
    columns = math.ceil(math.sqrt(layout.armatures))
    distance = SPACING * layout.bones
    armatures = [first, *(copy_rig(first) for _ in range(layout.armatures - 1))]
    for i, rig in enumerate(armatures):
        # Round the origin: float32 is finest there.
        row, column = divmod(i, columns)
        rig.location = ((column - columns // 2) * distance, (row - columns // 2) * distance, 0.0)
    targets = [add_empty(f"Target.{i}") for i in range(layout.chains)]
    positions = target_positions(layout, np.array([rig.location for rig in armatures]))
    stage = Stage(layout, armatures, targets, add_empty("Unrelated"), positions)
    stage.move_targets(0)
    bpy.context.view_layer.update()
    return stage


def add_builtin_constraints(stage: Stage) -> None:
    """Have Blender's own IK constraint pose the limbs, with its default of 500 iterations."""
    for limb in stage.tips():
        follow(*limb, "built-in", stage.layout.bones)


def add_chains(stage: Stage) -> None:
    """Have live chains pose the limbs."""
    solver = "TWO_BONE" if stage.layout.bones == 2 else "NEWTON"
    for limb in stage.tips():
        follow(*limb, solver, stage.layout.bones).tolerance = stage.layout.tolerance


def follow(
    rig: bpy.types.Object, tip: str, target: bpy.types.Object, solver: str, count: int = 0
) -> Any:
    """Have so many bones up to a tip, or all, follow a target, and return what holds settings.

    The solver "built-in" is Blender's own constraint.
    """
    if solver == "built-in":
        followed = rig.pose.bones[tip].constraints.new("IK")
    else:
        followed = rig.chain_ik.chains.add()
        followed.bone, followed.solver = tip, solver
    followed.chain_count = count
    followed.target = target
    return followed


def key_targets(stage: Stage, frames: int) -> None:
    """Key the targets so that they visit all sets of positions within so many frames.

    In straight lines: what is between two places in reach is in reach, too.
    """
    for i in range(TARGET_SETS):
        stage.move_targets(i)
        frame = 1 + i * (frames - 1) / (TARGET_SETS - 1)
        for target in stage.targets:
            target.keyframe_insert("location", frame=frame)
    for target in stage.targets:
        for curve in curves(target):
            for point in curve.keyframe_points:
                point.interpolation = "LINEAR"


def residuals(stage: Stage) -> Array:
    """Return the distances between the evaluated tips and targets, shape (chains,)."""
    depsgraph = bpy.context.view_layer.depsgraph
    found = []
    for rig, bone, target in stage.tips():
        posed = rig.evaluated_get(depsgraph)
        tail = posed.matrix_world @ posed.pose.bones[bone].tail
        goal = target.evaluated_get(depsgraph).matrix_world.translation
        found.append((tail - goal).length)
    return np.array(found)


def allowed_residual(stage: Stage) -> float:
    """Return the tolerance, and what storing the scene as float32 adds to it.

    Each bone's rotation is rounded, and the errors of a chain add up as a random walk does.
    """
    layout = stage.layout
    of_bones = FLOAT32 * 2.0 * layout.bones * math.sqrt(layout.bones)
    return layout.tolerance + of_bones + FLOAT32 * 2.0 * float(np.abs(stage.positions).max())


def target_positions(layout: Layout, origins: Array) -> Array:
    """Return targets in reach of all limbs, shape (TARGET_SETS, chains, 3).

    Args:
        layout: Of the limbs.
        origins: Of the armature objects, shape (armatures, 3).
    """
    local = targets_in_reach(layout.bones, TARGET_SETS * layout.chains)
    local = local.reshape(TARGET_SETS, layout.armatures, layout.limbs, 3)
    roots = np.array([_limb_root(layout, limb) for limb in range(layout.limbs)])
    positions: Array = local + roots + origins[:, None, :]
    return positions.reshape(TARGET_SETS, layout.chains, 3)


def _limb_root(layout: Layout, limb: int) -> tuple[float, float, float]:
    """Return where a limb begins, armature space."""
    if not layout.has_root:
        return (0.0, 0.0, 0.0)
    return (0.5 * (-1) ** limb, 0.0, 1.0 + 0.5 * (limb // 2))


def add_rig(name: str, bones: Bones, *, is_connected: bool = True) -> bpy.types.Object:
    """Return an armature object with bones, connected or not where they begin at a parent's end."""
    armature = bpy.data.armatures.new(name)
    rig = bpy.data.objects.new(name, armature)
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for bone_name, (head, tail, above) in bones.items():
        bone = armature.edit_bones.new(bone_name)
        bone.head, bone.tail, bone.parent = head, tail, armature.edit_bones.get(above)
        if bone.parent is not None and is_connected:
            bone.use_connect = (bone.parent.tail - bone.head).length < 1e-6
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def copy_rig(rig: bpy.types.Object) -> bpy.types.Object:
    """Return a copy with armature data of its own: rigs of different characters share none."""
    copy = rig.copy()
    copy.data = rig.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    return copy


def add_empty(name: str, place: Point = (0.0, 0.0, 0.0)) -> bpy.types.Object:
    """Return an empty."""
    empty = bpy.data.objects.new(name, None)
    bpy.context.scene.collection.objects.link(empty)
    empty.location = place
    return empty


def _make_armature(layout: Layout) -> bpy.types.Object:
    bones: Bones = {"Root": ((0.0, 0.0, 0.0), (0.0, 0.0, 0.5), "")} if layout.has_root else {}
    for limb in range(layout.limbs):
        joints = arc(layout.bones, layout.climb) + np.array(_limb_root(layout, limb))
        above = "Root"
        for i in range(layout.bones):
            name = bone_name(limb, i)
            bones[name] = joints[i], joints[i + 1], above
            above = name
    return add_rig("Rig", bones)
