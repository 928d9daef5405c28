"""The operators that move a target or a pole, without leaving pose mode."""

from __future__ import annotations

import bpy
import numpy as np
from bpy.props import FloatVectorProperty
from mathutils import Vector

from ...core.algebra.arithmetic import Array
from ...core.model.message import Message
from ...properties.records import controls_of_chain
from ...rig.reading.spec import Anchor
from ...rig.reading.world import channels_of
from ...rig.tools.lengths import length_in_words, length_unit
from ...rig.tools.move_by_location import (
    GrabbedControl,
    MoveBlockedError,
    grab_control,
    move_to_point,
)
from .. import selection
from ..base import SKIP_SAVE
from .auto_keying import key_moved
from .dragging import AXES, Dragging
from .picking import click, pick
from .view import View


class Placing(Dragging):
    """The base of the operators that move a target or a pole."""

    hints = (*Dragging.hints, "X, Y, Z: along one axis")
    word = "target"

    location: FloatVectorProperty(
        name="Location",
        description="New location in world space, in scene units",
        subtype="TRANSLATION",
        options=SKIP_SAVE,
    )

    _held: GrabbedControl
    _held_error: MoveBlockedError | None = None

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        problem = super().problem(context)
        if not problem and cls._anchor(context) is None:
            problem = Message("This chain has no {word}: choose one first.", word=cls.word)
        return problem

    def act(self, context: bpy.types.Context) -> None:
        # ``read`` needs the evaluated scene.
        context.evaluated_depsgraph_get()
        self.read(context)
        self._place(context, np.array(self.location, dtype=np.float64))
        key_moved(context, self._held.anchor)

    def read(self, context: bpy.types.Context) -> None:
        """Read the place of the target or pole."""
        anchor = self._anchor(context)
        assert anchor is not None
        self._held = grab_control(anchor, self.word, selection.scene_of(context))
        self._point, self._held_error = self._held.place, None

    def move(self, context: bpy.types.Context, mouse: tuple[Vector, Vector]) -> str:
        """Move the target or pole under the mouse, at its former depth in the view.

        If a constraint holds it, it stays at the last place that it could reach.
        """
        view, start, pixels = View(context), self._held.place, (self._start, mouse[1])
        if self.axis:
            axis = np.eye(3)[AXES.index(self.axis)]
            points = [view.point_on_axis(pixel, start, axis) for pixel in pixels]
        else:
            points = [view.point_at(pixel, start) for pixel in pixels]
        point = start + (points[1] - points[0])
        try:
            self._place(context, point)
        except MoveBlockedError as error:
            self._held_error = error
            return error.message
        self._point = point
        distance = float(np.linalg.norm(self._point - start))
        words = length_in_words(distance, length_unit(context.scene))
        text = "Moved by {words} along {axis}" if self.axis else "Moved by {words}"
        return Message(text, words=words, axis=self.axis)

    def revert(self, _context: bpy.types.Context) -> None:
        """Move the target or pole back."""
        channels_of(self._held.anchor).location = self._held.location.tolist()

    def confirm(self, context: bpy.types.Context) -> None:
        """Store the new place, and key it if Auto Keying is on."""
        if self._held_error is not None and self._point is self._held.place:
            raise self._held_error
        self.location = self._point.tolist()
        key_moved(context, self._held.anchor)

    def click(self, context: bpy.types.Context, pixel: tuple[int, int], *, toggle: bool) -> None:
        """Select the target or pole; if the mode does not allow it, what is under the mouse."""
        if pick(context, self._held.anchor, toggle=toggle):
            bpy.ops.ed.undo_push(message="Select")
        else:
            click(pixel, toggle=toggle)

    @classmethod
    def _anchor(cls, context: bpy.types.Context) -> Anchor | None:
        target, pole = controls_of_chain(selection.chain(context))
        return target if cls.word == "target" else pole

    def _place(self, context: bpy.types.Context, point: Array) -> None:
        assert context.view_layer is not None
        move_to_point(self._held, point, context.view_layer)


class POSE_OT_chain_ik_move_target(Placing):
    """Move the target of the active chain, an object or a bone, without leaving pose mode.

    Auto Keying keys its location.
    """

    bl_label = "Move Target"


class POSE_OT_chain_ik_move_pole(Placing):
    """Move the pole of the active chain, an object or a bone, without leaving pose mode.

    Auto Keying keys its location.
    """

    bl_label = "Move Pole"
    problems = (selection.problem_of_pole,)
    word = "pole"
