"""The operator that moves an end of a joint's range along its arc."""

from __future__ import annotations

import math

import bpy
import numpy as np
from bpy.props import EnumProperty, FloatProperty, StringProperty
from mathutils import Vector

from ...core.model.message import Message
from ...properties.chains import ChainGroup, owner_of
from ...properties.joints.ends import end_setting, move_limit_end
from ...properties.records import chain_spec
from ...rig.reading.refusals import RigError
from ...rig.shapes.limit_ends import LimitEnd, find_ends
from .. import selection
from ..base import SKIP_SAVE
from .dragging import SNAP, Dragging, check_number
from .view import View

# Largest change of an end by one move of the mouse, radians to either side, and number of angles
# that are compared in this range.
SEARCH_RANGE, SEARCH_COUNT = math.pi / 4.0, 721

AXES = (
    ("X", "X", "About the bone's X axis"),
    ("Y", "Y", "About the bone's Y axis, along its length"),
    ("Z", "Z", "About the bone's Z axis"),
)
ENDS = (("MIN", "Min", "The smallest rotation"), ("MAX", "Max", "The largest rotation"))


class POSE_OT_chain_ik_set_limit(Dragging):
    """Move one end of the rotation range of a bone in the active chain.

    The range is in the chain's joint for this bone, otherwise in the bone's IK limits.
    """

    bl_label = "Move Limit"
    hints = (*Dragging.hints, Message("Ctrl: steps of {snap}°", snap=f"{SNAP:.0f}"))

    bone: StringProperty(name="Bone", description="A bone of the chain", options=SKIP_SAVE)
    turn: EnumProperty(
        name="Axis", description="The axis of the rotation", items=AXES, options=SKIP_SAVE
    )
    end: EnumProperty(
        name="End", description="The end of the range to move", items=ENDS, options=SKIP_SAVE
    )
    angle: FloatProperty(
        name="Angle",
        description="Angle at this end of the range, in degrees. It cannot pass the other end",
        subtype="ANGLE",
        options=SKIP_SAVE,
    )

    def act(self, context: bpy.types.Context) -> None:
        settings = selection.chain(context)
        check_number(self.angle)
        self._find(settings)
        self.angle = self._set(settings, self.angle)

    def read(self, context: bpy.types.Context) -> None:
        """Read the angle of the end."""
        settings = selection.chain(context)
        self.store_chain(settings)
        self._before = self._angle = self._find(settings).angle
        # This raises an error if the end cannot be changed.
        self._set(settings, self._before)

    def move(self, context: bpy.types.Context, mouse: tuple[Vector, Vector]) -> str:
        """Move the end to the point of its arc that is nearest to the mouse."""
        settings = self.chain
        end = self._find(settings)
        setting = end_setting(settings, self.bone, self.turn.lower(), is_max=end.is_max)
        angles = np.linspace(self._angle - SEARCH_RANGE, self._angle + SEARCH_RANGE, SEARCH_COUNT)
        angles = np.clip(angles, setting.least, setting.most)
        nearest = View(context).nearest(mouse[1], end.points(angles))
        self._angle = float(angles[nearest])
        snapped = self.snapped(self._angle)
        self.angle = self._set(settings, snapped)
        degrees = f"{math.degrees(self.angle):.1f}"
        text = (
            "Max {turn} of '{bone}': {degrees}°"
            if end.is_max
            else "Min {turn} of '{bone}': {degrees}°"
        )
        return Message(text, turn=self.turn, bone=self.bone, degrees=degrees)

    def revert(self, _context: bpy.types.Context) -> None:
        """Set the angle before the drag."""
        self._set(self.chain, self._before)

    def confirm(self, _context: bpy.types.Context) -> None:
        """Do nothing: ``move`` has stored the angle, and limits have no keys."""

    def _find(self, settings: ChainGroup) -> LimitEnd:
        if not self.bone:
            raise RigError(
                "No bone is given: name the bone of the chain whose limit you want to move."
            )
        spec = chain_spec(settings)
        for end in find_ends(owner_of(settings), spec, self.bone):
            if "XYZ"[end.axis] == self.turn and end.is_max == (self.end == "MAX"):
                return end
        raise RigError(
            "Bone '{bone}' has no limit about this axis in this chain: switch Limits on, and a"
            " limit about this axis.",
            bone=self.bone,
        )

    def _set(self, settings: ChainGroup, angle: float) -> float:
        is_max = self.end == "MAX"
        return move_limit_end(settings, self.bone, self.turn.lower(), angle, is_max=is_max)
