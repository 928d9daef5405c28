"""The figure of the demonstration: five chains on Rigify's human metarig dance a waltz.

Every path of a target is closed, and a function of the share of the loop: a waltz box for the feet,
a circle and a figure eight for the hands. The figure looks along -Y, its left side is +X; metres
and radians.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import math
from collections.abc import Callable
from functools import partial

import bpy
from mathutils import Matrix, Vector

from examples.parts import bodies, rigs, studio
from examples.parts.bodies import Stick
from examples.parts.rigs import Example, Point

FRAMES = 120
NAME, HIPS = "Figure", "spine"
TARGET_SIZE, POLE_SIZE = 0.03, 0.03
# Radius of a bone as a share of its length, its maximum in metres, and bones without a body.
THICKNESS, MAX_THICKNESS = 0.18, 0.04
WITHOUT_BODY = ("breast", "heel")


# Width and depth of the box, centred below the figure. The feet start at its left rear corner.
BOX = (0.3, 0.22)
HALF_STANCE = 0.1
ANKLE_HEIGHT = 0.085
BEATS = 6

# Beat -> corner that a foot steps to, in units of the box (to the right, to the front).
LEFT_STEPS = {0: (0, 1), 2: (1, 1), 4: (0, 0)}
RIGHT_STEPS = {1: (1, 1), 3: (1, 0), 5: (0, 0)}

# Rise of the ankle in a step, and pitch of the foot toward its toes, then toward its heel.
STEP_HEIGHT = 0.15
STEP_PITCH = 0.9


def foot(side: str, share: float) -> tuple[Vector, float]:
    """Return the position of an ankle, and the pitch of the foot toward its toes."""
    steps, sign = (LEFT_STEPS, 1) if side == "L" else (RIGHT_STEPS, -1)
    beat, progress = divmod(share % 1.0 * BEATS, 1.0)
    start = end = (0, 0)
    for number, corner in steps.items():
        if number <= beat:
            start, end = end, corner
    if int(beat) not in steps:
        start, progress = end, 0.0
    eased = rigs.ease(progress)
    right, front = (a + (b - a) * eased for a, b in zip(start, end))
    swing = math.sin(math.pi * progress) ** 2
    side_way, depth = sign * HALF_STANCE + BOX[0] * (0.5 - right), BOX[1] * (0.5 - front)
    position = Vector((side_way, depth, ANKLE_HEIGHT + STEP_HEIGHT * swing))
    return position, STEP_PITCH * swing * (0.6 - progress)


def hips(share: float) -> Vector:
    """Return the offset of the hips from rest: a round path between the feet."""
    side = math.cos(math.tau * (share - 1.0 / 12.0))
    depth = math.cos(math.tau * (share + 1.0 / 12.0))
    # Lower the hips in the first step of each half of the box, raise them in the other two.
    rise = -math.cos(2.0 * math.tau * (share - 0.08))
    return Vector((0.5 * BOX[0] * side, 0.5 * BOX[1] * depth - 0.03, 0.02 * rise - 0.055))


def head(share: float) -> tuple[Vector, float]:
    """Return the position of the top of the neck, which moves less than the hips, and no pitch."""
    angle = math.tau * share
    sway = Vector((0.08 * math.sin(2.0 * angle), -0.05 - 0.04 * math.cos(angle), 1.69))
    sway.z += 0.035 * math.cos(2.0 * angle)
    return hips(share) * Vector((0.1, 0.2, 1.0)) + sway, 0.0


def left_hand(share: float) -> tuple[Vector, float]:
    angle = 3.0 * math.tau * share
    across, up = math.cos(angle), math.sin(angle)
    return Vector((0.39 + 0.13 * across, -0.2 + 0.06 * up, 1.34 + 0.13 * up)), 0.0


def right_hand(share: float) -> tuple[Vector, float]:
    angle = math.tau * (share + 0.1)
    across, up = math.cos(angle), math.sin(2.0 * angle)
    return Vector((-0.42 + 0.16 * across, -0.26 + 0.096 * across, 1.62 + 0.1 * up)), 0.0


@dataclasses.dataclass(frozen=True)
class Limb:
    """A chain: its bones from root to effector, and the colour of the bones and the path.

    ``target`` returns the position and the forward pitch at a share of the loop.
    """

    name: str
    bones: tuple[str, ...]
    colour: str
    target: Callable[[float], tuple[Vector, float]]
    end: str | None = None
    """The next bone, which takes the target's rotation, so that soles and head stay level."""
    pole: Point | None = None


SPINE = tuple(f"spine.00{number}" for number in range(1, 6))
LEFT_LEG, RIGHT_LEG = ("thigh.L", "shin.L"), ("thigh.R", "shin.R")
LIMBS = (
    Limb("spine", SPINE, "#f2c14e", head, "spine.006"),
    Limb("left arm", ("upper_arm.L", "forearm.L"), "#ff7a59", left_hand, None, (0.6, 0.8, 0.3)),
    Limb("right arm", ("upper_arm.R", "forearm.R"), "#38c6d9", right_hand, None, (-0.9, 0.1, 0.3)),
    Limb("left leg", LEFT_LEG, "#e05c9a", partial(foot, "L"), "foot.L", (0.2, -1.5, 0.6)),
    Limb("right leg", RIGHT_LEG, "#7f8cff", partial(foot, "R"), "foot.R", (-0.2, -1.5, 0.6)),
)


def build() -> bpy.types.Object:
    """Build the metarig, keys of its hips, and chains with their targets."""
    rig = _add_metarig()
    rest = rig.data.bones[HIPS].matrix_local
    rigs.key_bone(rig, HIPS, FRAMES, lambda share: Matrix.Translation(hips(share)) @ rest)
    for limb in LIMBS:
        _add_chain(rig, limb)
    return rig


def _add_metarig() -> bpy.types.Object:
    """Add the human metarig of Rigify, which is part of Blender but disabled by default."""
    is_enabled = "rigify" in bpy.context.preferences.addons
    # Rigify prints the names of files that it loads.
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
    """Add a chain with its animated target and its pole through the properties of the add-on."""
    target = bodies.add_ball(f"target of {limb.name}", TARGET_SIZE, "light")
    options = {"use_tail": limb.end is None, "use_rotation": limb.end is not None}
    if limb.pole:
        name = f"pole of {limb.name}"
        options["pole_target"] = rigs.add_empty(name, limb.pole, POLE_SIZE, "CUBE", "Poles")
    tip, count = limb.end or limb.bones[-1], len(limb.bones)
    rigs.add_chain_data(rig, limb.name, tip, target, chain_count=count, **options)
    axes = rig.data.bones[limb.end].matrix_local.to_3x3() if limb.end else Matrix.Identity(3)

    def make_matrix(share: float) -> Matrix:
        position, pitch = limb.target(share)
        turn = Matrix.Rotation(pitch, 4, "X") @ axes.to_4x4()
        return Matrix.Translation(position) @ turn

    rigs.key_object(target, FRAMES, make_matrix)


def dress(rig: bpy.types.Object) -> None:
    """Add a body, a floor, and the paths of the targets."""
    colours = {name: limb.colour for limb in LIMBS for name in (*limb.bones, limb.end)}
    sticks = []
    for bone in rig.data.bones:
        is_shown = any(collection.is_visible for collection in bone.collections)
        if is_shown and bone.name.split(".")[0] not in WITHOUT_BODY:
            radius = min(THICKNESS * bone.length, MAX_THICKNESS)
            colour = colours.get(bone.name, "body")
            ends = tuple(bone.head_local), tuple(bone.tail_local)
            sticks.append(Stick(bone.name, *ends, radius, 0.6 * radius, colour))
    bodies.add_body(rig, sticks)
    for limb in LIMBS:
        path = [limb.target(i / FRAMES)[0] for i in range(FRAMES)]
        studio.draw_path(limb.name, path, limb.colour)
    studio.add_floor(12.0)


LOOK = (0.0, 0.0, 0.92), 4.2, (80.0, 30.0)
FIGURE = Example("demo", build, "target of right arm", FRAMES, 69, LOOK)
