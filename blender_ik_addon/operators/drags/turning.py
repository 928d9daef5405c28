"""The operator that turns the bend of a chain about the line from root to target."""

from __future__ import annotations

import math

import bpy
from bpy.props import FloatProperty
from mathutils import Vector

from ...core.model.message import Message
from ...properties.chains import ChainGroup, owner_of
from ...properties.records import chain_spec
from ...rig.reading.animation import driven_axes
from ...rig.reading.refusals import RigError
from ...rig.tools.pole_axis import PoleAxis, pole_axis
from .. import selection
from ..base import SKIP_SAVE
from .auto_keying import key_setting
from .dragging import SNAP, Dragging, check_number
from .view import View


def _problem_of_target(context: bpy.types.Context) -> str:
    has_pole = selection.chain(context).pole_target is not None
    return "" if has_pole else "This chain has no pole: choose one first."


class POSE_OT_chain_ik_turn_pole(Dragging):
    """Turn the bend of the active chain away from its pole, about the line from root to target.

    Auto Keying keys the angle if it already has keys.
    """

    bl_label = "Turn Pole Angle"
    hints = (*Dragging.hints, Message("Ctrl: steps of {snap}°", snap=f"{SNAP:.0f}"))

    angle: FloatProperty(
        name="Pole Angle",
        description="The pole angle to set, in degrees",
        subtype="ANGLE",
        options=SKIP_SAVE,
    )

    _axis_line: PoleAxis

    problems = (selection.problem_of_pole, _problem_of_target)

    def act(self, context: bpy.types.Context) -> None:
        settings = selection.chain(context)
        _check_no_drivers(settings)
        check_number(self.angle)
        settings.pole_angle = self.angle
        key_setting(context, settings, "pole_angle")

    def read(self, context: bpy.types.Context) -> None:
        """Read the angle, and the line that it turns about."""
        settings = selection.chain(context)
        _check_no_drivers(settings)
        self._axis_line = pole_axis(owner_of(settings), chain_spec(settings, with_stored=False))
        self.store_chain(settings)
        self._before = self._angle = settings.pole_angle

    def move(self, context: bpy.types.Context, mouse: tuple[Vector, Vector]) -> str:
        """Turn the angle as the mouse moves around the line."""
        line = self._axis_line
        centre = (line.root + line.end) / 2.0
        self._angle += line.sense * View(context).turn_between(*mouse, centre, line.direction)
        snapped = self.snapped(self._angle)
        self.chain.pole_angle = snapped
        degrees = f"{math.degrees(snapped):.1f}"
        return Message("Pole Angle: {degrees}°", degrees=degrees)

    def revert(self, _context: bpy.types.Context) -> None:
        """Set the angle before the drag."""
        self.chain.pole_angle = self._before

    def confirm(self, context: bpy.types.Context) -> None:
        """Store the angle, and key it if Auto Keying is on and the angle has keys."""
        self.angle = self.chain.pole_angle
        key_setting(context, self.chain, "pole_angle")


def _check_no_drivers(settings: ChainGroup) -> None:
    if driven_axes(owner_of(settings), settings.path_from_id("pole_angle")):
        raise RigError("The pole angle of this chain has drivers: remove its drivers first.")
