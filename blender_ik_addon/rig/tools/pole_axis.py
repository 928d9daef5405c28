"""The axis about which the pole angle of a chain turns its bend, in world space."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ...core.kinematics.bend_plane import FULL_POLE_SINE
from ..planning.live_chain import Known, known_chain, spec_of
from ..posing.reasons import find_bend_line, sense_of_pole_angle
from ..reading.chain_plan import shown_joints
from ..reading.refusals import RigError
from ..reading.world import array_of
from .move_by_location import place_of

# Minimum distance of the ends of a chain, as a share of its length; below it there is no axis.
MIN_CHORD_SHARE = 1e-5


@dataclass(frozen=True)
class PoleAxis:
    """The line from root to target, world space.

    Attributes:
        root: The root of the chain, shape (3,).
        end: The target, or the end of the bones that bend, shape (3,).
        sense: 1 if a greater pole angle turns the bend counter-clockwise about the axis, seen from
            its end; -1 if clockwise, as in an armature mirrored by negative scale.
    """

    root: Array
    end: Array
    sense: float

    @property
    def direction(self) -> Array:
        """The unit vector from root to end, shape (3,)."""
        line = self.end - self.root
        return line / np.linalg.norm(line)


def pole_axis(armature_object: bpy.types.Object, known: Known) -> PoleAxis:
    """Return the axis of the pole angle of a chain in the pose that a viewport has evaluated.

    Raises:
        RigError: If the chain has no bones, a joint is invalid, or its ends coincide.
    """
    spec, (plan, _) = spec_of(known), known_chain(armature_object, known)
    points = shown_joints(armature_object, plan)
    length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    target = None if spec.target is None else place_of(spec.target)
    (root, *_), end = find_bend_line(plan, spec, points, target)
    if not np.linalg.norm(end - root) > MIN_CHORD_SHARE * length:
        raise RigError(
            "The root and the end of the bend are at the same point: move the target away from"
            " the root."
        )
    world = array_of(armature_object.matrix_world)
    return PoleAxis(root, end, sense_of_pole_angle(world, spec))


def is_in_line(axis: PoleAxis, pole: Array) -> bool:
    """Return whether a pole (3,) in world space is so near to the axis that the bend may flip.

    There the core begins to blend the side of the pole with that of the start pose.
    """
    to_pole = pole - axis.root
    distance = np.linalg.norm(np.cross(axis.direction, to_pole))
    return bool(distance < FULL_POLE_SINE * np.linalg.norm(to_pole))
