"""Controls for new chains: targets, poles and roots, with their display."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import bpy
import numpy as np
from mathutils import Matrix

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..anatomy.bone_names import Side
from ..anatomy.limbs import Limb
from ..controls.control_shapes import Shape
from ..controls.control_sizes import ControlLook, look_of_hips
from ..controls.control_spaces import finite_place
from ..controls.default_poles import Placement
from ..reading.spec import Anchor, ChainSpec
from ..reading.world import ends_of

# Display sizes of controls, as shares of the chain's length.
EMPTY_SIZE = 0.06
BONE_SIZE = 0.2
EMPTY_TYPES: dict[Shape | None, Literal["SPHERE", "CIRCLE"]] = {
    "SPHERE": "SPHERE",
    "BELT": "CIRCLE",
}
# The radius of a root ring: a factor on the distance to the farthest point near the floor; the
# height of the band that counts as near, and the minimum radius, as shares of the body's height.
ROOT_MARGIN, FLOOR_BAND, MIN_ROOT_RADIUS = 1.3, 0.1, 0.2


@dataclass(frozen=True)
class Control:
    """A control to be made.

    Attributes:
        name: Blender appends a number if it is taken.
        matrix: World matrix without scale, shape (4, 4).
        length: Length of its chain, scene units; the bone is made in proportion.
        shape: Shape in proportion to its bone; None for a bone of a mechanism.
        parent: Name of the parent of a control bone; empty for none.
        look: Display around a part of the body, in place of ``shape``; None without.
        below: How many places before it in a list its parent stands, which replaces ``parent``; 0
            without.
    """

    name: str
    matrix: Array
    length: float
    shape: Shape | None
    parent: str = ""
    look: ControlLook | None = None
    below: int = 0


@dataclass(frozen=True)
class NewChain:
    """A chain to be added, with the controls to be made for it.

    Attributes:
        spec: Its settings, without the target.
        place: The placement of its controls.
        controls: Controls to be made; the last one is its target.
        soft: Its soft distance.
    """

    spec: ChainSpec
    place: Placement
    controls: Sequence[Control]
    soft: float = 0.0


def target_control(
    chain: str, placed: Placement, parent: str, look: ControlLook | None = None
) -> Control:
    """Return a new target for a chain."""
    return Control(
        control_name(chain, "Target"), placed.target, float(placed.length), "CUBE", parent, look
    )


def pole_control(chain: str, placed: Placement, parent: str = "") -> Control:
    """Return a new pole for a chain."""
    matrix = np.eye(4)
    matrix[:3, 3] = placed.pole
    return Control(control_name(chain, "Pole"), matrix, float(placed.length), "SPHERE", parent)


def root_control(armature_object: bpy.types.Object, hips: str) -> Control:
    """Return a new root for a body: a ring on the floor under the hips, around its feet.

    The floor is at the height of the lowest bone under the hips now.
    """
    bone = armature_object.pose.bones[hips]
    points = ends_of(armature_object, (bone, *bone.children_recursive))
    distances = np.linalg.norm(points[:, :2] - points[0, :2], axis=1)
    floor, height = float(np.min(points[:, 2])), float(np.ptp(points[:, 2]))
    floor_distances = distances[points[:, 2] <= floor + FLOOR_BAND * height]
    matrix = np.eye(4)
    matrix[:3, 3] = (*points[0, :2], floor)
    radius = max(ROOT_MARGIN * float(np.max(floor_distances)), MIN_ROOT_RADIUS * height)
    return Control("Root", matrix, radius / BONE_SIZE, "RING")


def torso_control(armature_object: bpy.types.Object, hips: str, limbs: Sequence[Limb]) -> Control:
    """Return a new control for the hips of a body, placed at the rest position of their tail.

    Its rest orientation is that of the hips, so it carries other bones as the hips do.

    Raises:
        RigError: If the pose of the hips is not finite.
    """
    torso_goal(armature_object, hips)
    look = look_of_hips(armature_object, hips, limbs)
    tail = armature_object.matrix_world @ armature_object.data.bones[hips].tail_local
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation.orientation(look.matrix[:3, :3]), tail
    return Control("Torso", matrix, float(look.sides[1]), "CUBE", look=look)


def torso_goal(armature_object: bpy.types.Object, hips: str) -> Array:
    """Return the goal of a torso control in the present pose, world space, shape (4, 4).

    Raises:
        RigError: If the pose of the hips is not finite.
    """
    goal = finite_place(Anchor(armature_object, hips), "hips")
    goal[:3, :3] = rotation.orientation(goal[:3, :3])
    goal[:3, 3] = ends_of(armature_object, [armature_object.pose.bones[hips]])[1]
    return goal


def control_name(chain: str, role: str) -> str:
    """Return a control name that ends with the side of the chain's name: it can be mirrored."""
    for side in Side:
        if side.value and chain.endswith(side.value):
            return f"{chain.removesuffix(side.value)} {role}{side.value}"
    return f"{chain} {role}"


def make_empty(collection: bpy.types.Collection, control: Control) -> bpy.types.Object:
    """Return a new empty in a collection, marked as a control of chains."""
    empty = bpy.data.objects.new(control.name, None)
    shape = control.look.shape if control.look else control.shape
    empty.empty_display_type = EMPTY_TYPES[shape] if shape in EMPTY_TYPES else "CUBE"
    empty.empty_display_size = EMPTY_SIZE * control.length
    if control.look:
        # An empty is centred on its place and cannot lie on the floor: use its middle side length.
        sides = float(np.median(control.look.sides))
        empty.empty_display_size = sides if shape == "BELT" else sides / 2.0
    empty.matrix_world = Matrix(control.matrix.tolist())
    empty.chain_ik.is_control = True
    collection.objects.link(empty)
    return empty
