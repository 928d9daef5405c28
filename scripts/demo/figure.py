"""The figure of the demonstration: five chains on the human metarig of Rigify dance a waltz."""

from __future__ import annotations

import contextlib
import dataclasses
import io

import bpy
from mathutils import Matrix

from demo import motion
from examples.parts import bodies, rigs, studio
from examples.parts.bodies import Stick
from examples.parts.rigs import Example, Point

FRAMES = 120
NAME, HIPS = "Figure", "spine"
TARGET_SIZE, POLE_SIZE = 0.03, 0.03
# The thickness of a bone in its length, up to so many metres; those that say nothing have none.
THICKNESS, THICKEST = 0.18, 0.04
LEFT_OUT = ("breast", "heel")


@dataclasses.dataclass(frozen=True)
class Limb:
    """One chain: the bones from its root to its effector, their colour and that of the path."""

    name: str
    bones: tuple[str, ...]
    colour: str
    end: str | None = None
    """Bone after them that takes the target's rotation: soles and the head stay level."""
    pole: Point | None = None


SPINE = tuple(f"spine.00{number}" for number in range(1, 6))
LIMBS = (
    Limb("spine", SPINE, "#f2c14e", end="spine.006"),
    Limb("left arm", ("upper_arm.L", "forearm.L"), "#ff7a59", pole=(0.6, 0.8, 0.3)),
    Limb("right arm", ("upper_arm.R", "forearm.R"), "#38c6d9", pole=(-0.9, 0.1, 0.3)),
    Limb("left leg", ("thigh.L", "shin.L"), "#e05c9a", "foot.L", (0.2, -1.5, 0.6)),
    Limb("right leg", ("thigh.R", "shin.R"), "#7f8cff", "foot.R", (-0.2, -1.5, 0.6)),
)


def build() -> bpy.types.Object:
    """Fill the file: the metarig, its keyed hips, chains with their targets."""
    rig = _add_metarig()
    rest = rig.data.bones[HIPS].matrix_local
    rigs.key_bone(rig, HIPS, FRAMES, lambda at: Matrix.Translation(motion.hips(at)) @ rest)
    for limb in LIMBS:
        _add_chain(rig, limb)
    return rig


def _add_metarig() -> bpy.types.Object:
    """Add the human metarig of Rigify, which Blender brings along but keeps switched off."""
    is_enabled = "rigify" in bpy.context.preferences.addons
    # It prints what it loads.
    with contextlib.redirect_stdout(io.StringIO()):
        if not is_enabled:
            bpy.ops.preferences.addon_enable(module="rigify")
        bpy.ops.object.armature_human_metarig_add()
        if not is_enabled:
            bpy.ops.preferences.addon_disable(module="rigify")
    rig = bpy.context.object
    rig.name, rig.data.display_type = NAME, "STICK"
    rig.data.collections_all["Face"].is_visible = False
    rigs.move_to_collection(rig, NAME)
    return rig


def _add_chain(rig: bpy.types.Object, limb: Limb) -> None:
    """Add a chain with its animated target and its pole, through the settings of the add-on."""
    target = bodies.add_ball(f"target of {limb.name}", TARGET_SIZE, "light")
    options = {"use_tail": limb.end is None, "use_rotation": limb.end is not None}
    if limb.pole:
        name = f"pole of {limb.name}"
        options["pole_target"] = rigs.add_empty(name, limb.pole, POLE_SIZE, "CUBE", "Poles")
    tip, count = limb.end or limb.bones[-1], len(limb.bones)
    rigs.hang_chain(rig, limb.name, tip, target, chain_count=count, **options)
    axes = rig.data.bones[limb.end].matrix_local.to_3x3() if limb.end else Matrix.Identity(3)

    def place(passed: float) -> Matrix:
        position, tip = motion.TARGETS[limb.name](passed)
        turn = Matrix.Rotation(tip, 4, "X") @ axes.to_4x4()
        return Matrix.Translation(position) @ turn

    rigs.key_object(target, FRAMES, place)


def dress(rig: bpy.types.Object) -> None:
    """Give the figure a body, a floor, and draw the paths of its targets."""
    colours = {name: limb.colour for limb in LIMBS for name in (*limb.bones, limb.end)}
    sticks = []
    for bone in rig.data.bones:
        is_shown = any(collection.is_visible for collection in bone.collections)
        if is_shown and bone.name.split(".")[0] not in LEFT_OUT:
            radius = min(THICKNESS * bone.length, THICKEST)
            colour = colours.get(bone.name, "body")
            ends = tuple(bone.head_local), tuple(bone.tail_local)
            sticks.append(Stick(bone.name, *ends, radius, 0.6 * radius, colour))
    bodies.give_body(rig, sticks)
    for limb in LIMBS:
        way = [motion.TARGETS[limb.name](i / FRAMES)[0] for i in range(FRAMES)]
        studio.draw_path(limb.name, way, limb.colour)
    studio.add_floor(12.0)


FIGURE = Example(
    name="demo",
    build=build,
    control="target of right arm",
    frames=FRAMES,
    pictured=69,
    look=((0.0, 0.0, 0.92), 4.2, (80.0, 30.0)),
)
