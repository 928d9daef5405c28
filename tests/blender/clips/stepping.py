"""Bodies of any kind that step: feet that skate on keys of bones, as motion capture has it."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix, Vector

from blender_ik_addon.rig.controls.control_spaces import move_to
from blender_ik_addon.rig.controls.foot_roll import control_above
from blender_ik_addon.rig.reading.spec import Anchor
from blender_ik_addon.rig.reading.world import channels_of
from tests.blender.clips.walking import forget_controls
from tests.blender.setups.selecting import press

FRAMES, STAND, SKATE, SPEED = range(1, 37), 0.6, 0.08, 0.4
"""A foot stands for this share of its step, of a second, and skates by that share of its way.

Bodies go so many of their heights a second: their limbs reach that far.
"""


def step(ob: bpy.types.Object, limbs: tuple[str, ...] = ("Leg",)) -> dict[str, np.ndarray]:
    """Key the bones of a body that has its chains; neither a chain nor a control has keys then.

    Limbs whose names hold one of these words step from where they are, all others go along.

    Returns:
        At which frames these stand, by the names of their chains.
    """
    scene, chains = bpy.context.scene, ob.chain_ik.chains
    scene.render.fps, scene.frame_end = 30, FRAMES[-1]
    height, root = height_of(ob), Anchor(ob, ob.chain_ik.body.root)
    legs = [each.name for each in chains if any(limb in each.name for limb in limbs)]
    controls = {each.name: control_above(Anchor(each.target, each.subtarget)) for each in chains}
    stands: dict[str, list[bool]] = {name: [] for name in legs}
    rest = {control: _place(control) for control in (*controls.values(), root)}
    scene.chain_ik.use_live = False
    for frame in FRAMES:
        scene.frame_set(frame)
        time = (frame - 1) / 30.0
        body = Vector((0.0, -SPEED * (1.0 + SKATE) * time, -0.03)) * height
        _put(root, Matrix.Translation(body) @ rest[root], frame)
        for name, control in controls.items():
            way = body
            if name in legs:
                number, phase = divmod(time + 0.25 * legs.index(name), 1.0)
                x = max(0.0, (phase - STAND) / (1.0 - STAND))
                stands[name].append(x == 0.0)
                gone = number + x**3 * (10.0 - 15.0 * x + 6.0 * x * x) - 0.25 * legs.index(name)
                up = 0.08 * np.sin(np.pi * x) ** 2
                way = Vector((0.0, -SPEED * (gone + 0.3 + SKATE * time), up)) * height
            _put(control, Matrix.Translation(way) @ rest[control], frame)
    scene.chain_ik.use_live = True
    press(bpy.ops.pose.chain_ik_bake, which="ALL")
    for owner in {ob, *(control.object for control in controls.values())}:
        forget_controls(owner, "Target" if owner == ob else "")
    return {name: np.array(told) for name, told in stands.items()}


def height_of(ob: bpy.types.Object) -> float:
    """Return how high a body is as it stands; the dimensions of its object count controls."""
    spots = [ob.matrix_world @ bone.head for bone in ob.pose.bones if bone.bone.use_deform]
    return float(np.ptp([spot.z for spot in spots]))


def _place(anchor: Anchor) -> Matrix:
    matrix = anchor.object.matrix_world
    return matrix @ anchor.object.pose.bones[anchor.bone].matrix if anchor.bone else matrix.copy()


def _put(anchor: Anchor, matrix: Matrix, frame: int) -> None:
    # What it goes along with has been moved just now.
    bpy.context.view_layer.update()
    move_to(anchor, np.array(matrix))
    moved = channels_of(anchor)
    is_quaternion = moved.rotation_mode == "QUATERNION"
    for name in ("location", "rotation_quaternion" if is_quaternion else "rotation_euler"):
        moved.keyframe_insert(name, frame=frame)
