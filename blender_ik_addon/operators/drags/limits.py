"""The operator that moves an end of a joint's range along its arc."""

from __future__ import annotations

import math

import bpy
import numpy as np
from bpy.props import EnumProperty, FloatProperty, StringProperty
from mathutils import Vector

from ...properties.chains import ChainGroup, owner_of
from ...properties.joints.ends import end_setting, move_limit_end
from ...properties.records import chain_spec
from ...rig.reading.refusals import RigError
from ...rig.shapes.limit_ends import LimitEnd, find_ends
from .. import selection
from ..base import ANEW
from .dragging import SNAP, Dragging, check_number
from .view import View

# How far one move of the mouse can take an end to either side, radians, and in how many steps.
WAY, STEPS = math.pi / 4.0, 721

AXES = (
    ("X", "X", "About the bone's X axis"),
    ("Y", "Y", "About the bone's own length"),
    ("Z", "Z", "About the bone's Z axis"),
)
ENDS = (("MIN", "Min", "The least rotation"), ("MAX", "Max", "The greatest rotation"))


class POSE_OT_chain_ik_set_limit(Dragging):
    """Move one end of the range that a bone may turn in."""

    bl_label = "Move Limit"
    bl_description = (
        "Move one end of the range that a bone of the active chain may turn in: in the chain's own"
        " joint of the bone, else in the bone's IK limits"
    )
    hints = (*Dragging.hints, f"Ctrl: steps of {SNAP:.0f}°")

    bone: StringProperty(name="Bone", description="A bone of the chain", options=ANEW)
    turn: EnumProperty(
        name="Axis", description="The axis that it turns about", items=AXES, options=ANEW
    )
    end: EnumProperty(
        name="End",
        description="The end of the range to move",
        items=ENDS,
        options=ANEW,
    )
    angle: FloatProperty(
        name="Angle",
        description="Where the range ends, in degrees, no farther than its other end",
        subtype="ANGLE",
        options=ANEW,
    )

    def act(self, context: bpy.types.Context) -> None:
        settings = selection.chain(context)
        check_number(self.angle)
        self._find(settings)
        self.angle = self._set(settings, self.angle)

    def take(self, context: bpy.types.Context) -> None:
        """Note where the end is."""
        settings = selection.chain(context)
        self.hold(settings)
        self._before = self._turned = self._find(settings).angle
        # Raises if it cannot be changed at all.
        self._set(settings, self._before)

    def move(self, context: bpy.types.Context, mouse: tuple[Vector, Vector]) -> str:
        """Move it to where its arc is nearest to the mouse."""
        settings = self.chain
        end = self._find(settings)
        setting = end_setting(settings, self.bone, self.turn.lower(), is_max=end.is_max)
        angles = np.linspace(self._turned - WAY, self._turned + WAY, STEPS)
        angles = np.clip(angles, setting.least, setting.most)
        nearest = View(context).nearest(mouse[1], end.points(angles))
        self._turned = float(angles[nearest])
        shown = self.snapped(self._turned)
        self.angle = self._set(settings, shown)
        degrees = f"{math.degrees(self.angle):.1f}"
        if end.is_max:
            return f"Max {self.turn} of '{self.bone}': {degrees}°"
        return f"Min {self.turn} of '{self.bone}': {degrees}°"

    def put_back(self, _context: bpy.types.Context) -> None:
        """Set the former angle."""
        self._set(self.chain, self._before)

    def keep(self, _context: bpy.types.Context) -> None:
        """Do nothing: ``move`` has noted the angle, and limits have no keys."""

    def _find(self, settings: ChainGroup) -> LimitEnd:
        if not self.bone:
            raise RigError("No bone is given: name the bone of the chain whose limit is to move.")
        spec = chain_spec(settings)
        for end in find_ends(owner_of(settings), spec, self.bone):
            if "XYZ"[end.axis] == self.turn and end.is_max == (self.end == "MAX"):
                return end
        raise RigError(
            f"Bone '{self.bone}' has no such limit in this chain: switch Limits on, and a limit"
            " about that axis."
        )

    def _set(self, settings: ChainGroup, angle: float) -> float:
        is_max = self.end == "MAX"
        return move_limit_end(settings, self.bone, self.turn.lower(), angle, is_max=is_max)
