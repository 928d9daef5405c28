"""The base of operators that drag something with the mouse until release, or Esc."""

from __future__ import annotations

import math
from contextlib import suppress

import bpy
from mathutils import Vector

from ...core import IKError
from ...core.model.message import Message, joined
from ...properties.chains import ChainGroup, chain_key, chains_of, owner_of
from ...rig.reading.refusals import RigError
from ...translations import translate
from ..base import ChainOperator
from .picking import click

# Factor on the move of the mouse while Shift is held.
PRECISE_FACTOR = 0.1
# Step of angles while Ctrl is held, degrees.
SNAP = 5.0
AXES = ("X", "Y", "Z")


class Dragging(ChainOperator):
    """The base of operators that drag; a subclass adds ``read``, ``move``, ``revert``, ``confirm``.

    One drag is one undo step. A click without a move selects: see ``click``.

    Attributes:
        axis: The axis of world space that limits the move; empty for none.
        use_snap: Whether Ctrl is held.
    """

    bl_options = {"REGISTER", "UNDO", "BLOCKING"}
    hints: tuple[str, ...] = (
        "Left click: confirm",
        "Esc or right click: cancel",
        "Shift: precise",
    )

    axis = ""
    use_snap = False
    _is_moved = _is_pressed = False

    def read(self, context: bpy.types.Context) -> None:
        """Read the state before the drag; raise an ``IKError`` if the drag is impossible."""
        raise NotImplementedError

    def move(self, context: bpy.types.Context, mouse: tuple[Vector, Vector]) -> str:
        """Apply a move of the mouse; return the text of the header, in English.

        ``mouse`` is its last and present position in the region, pixels.
        """
        raise NotImplementedError

    def revert(self, context: bpy.types.Context) -> None:
        """Restore the state before the drag."""
        raise NotImplementedError

    def confirm(self, context: bpy.types.Context) -> None:
        """Store the result for *Adjust Last Operation*, and key it if Auto Keying is on."""
        raise NotImplementedError

    def click(self, _context: bpy.types.Context, pixel: tuple[int, int], *, toggle: bool) -> None:
        """Select something after a click without a move: by default what is under the mouse."""
        click(pixel, toggle=toggle)

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Begin the drag."""
        if context.region_data is None:
            return self.refuse("Nothing can be dragged here: do this in a 3D viewport.")
        try:
            self.read(context)
        except IKError as error:
            return self.refuse(error.message)
        self._start = self._last = _mouse(event)
        # It moves more slowly than the mouse while Shift is held.
        self._pointer = self._start.copy()
        self.axis, self._is_moved, self.use_snap = "", False, False
        self._is_pressed = event.type == "LEFTMOUSE" and event.value in {"PRESS", "CLICK_DRAG"}
        context.window_manager.modal_handler_add(self)
        context.workspace.status_text_set(translate(joined(" · ", map(Message, self.hints))))
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Follow the mouse; no other operator gets events meanwhile."""
        try:
            return self._handle_event(context, event)
        except IKError as error:
            problem = error.message
        except ReferenceError:
            problem = Message(
                "The dragged target, pole or chain no longer exists: choose another one."
            )
        # The dragged thing is gone or has not moved, so there is nothing to restore.
        self._clear_texts(context)
        return self.refuse(problem)

    def cancel(self, context: bpy.types.Context) -> None:
        """Restore the state before the drag; Blender calls this when it closes the window."""
        with suppress(IKError, ReferenceError):
            self.revert(context)
        self._clear_texts(context)

    def store_chain(self, settings: ChainGroup) -> None:
        """Store the owner and index of the changed chain: references to settings become invalid."""
        self._owner, (_, self._index) = owner_of(settings), chain_key(settings)

    @property
    def chain(self) -> ChainGroup:
        """The settings of the changed chain; a ``ReferenceError`` after its removal."""
        chains = chains_of(self._owner)
        if self._index >= len(chains):
            raise ReferenceError
        return chains[self._index]

    def snapped(self, angle: float) -> float:
        """Return an angle in radians, rounded to a step of Ctrl while that is held."""
        return math.radians(round(math.degrees(angle) / SNAP) * SNAP) if self.use_snap else angle

    def _handle_event(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if event.type in {"ESC", "RIGHTMOUSE"} and event.value == "PRESS":
            self.revert(context)
            self._clear_texts(context)
            return {"CANCELLED"}
        # A drag that was started from a menu goes on until the next click.
        end = "RELEASE" if self._is_pressed else "PRESS"
        is_released = event.type == "LEFTMOUSE" and event.value == end
        if is_released or (event.type in {"RET", "NUMPAD_ENTER"} and event.value == "PRESS"):
            return self._release(context, event)
        # A key with a modifier has another meaning, for example Ctrl Z.
        has_modifier = event.ctrl or event.shift or event.alt or event.oskey
        is_axis = event.type in AXES and event.value == "PRESS" and not has_modifier
        if is_axis:
            self.axis = "" if self.axis == event.type else event.type
        if event.type == "MOUSEMOVE" or is_axis:
            self._follow_mouse(context, event)
        return {"RUNNING_MODAL"}

    def _follow_mouse(self, context: bpy.types.Context, event: bpy.types.Event) -> None:
        mouse, before = _mouse(event), self._pointer.copy()
        threshold = context.preferences.inputs.drag_threshold_mouse
        if not self._is_moved and (mouse - self._start).length < threshold:
            return
        self._is_moved, self.use_snap = True, event.ctrl
        self._pointer += (mouse - self._last) * (PRECISE_FACTOR if event.shift else 1.0)
        self._last = mouse
        header = self.move(context, (before, self._pointer.copy()))
        context.area.header_text_set(translate(header))

    def _release(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        self._clear_texts(context)
        if self._is_moved:
            self.confirm(context)
            return {"FINISHED"}
        if self._is_pressed and event.type == "LEFTMOUSE":
            pixel = (event.mouse_region_x, event.mouse_region_y)
            self.click(context, pixel, toggle=event.shift)
        return {"CANCELLED"}

    def _clear_texts(self, context: bpy.types.Context) -> None:
        """Clear the texts in the status bar and in the header."""
        # The context has neither when a window closes.
        if context.workspace is not None:
            context.workspace.status_text_set(None)
        if context.area is not None:
            context.area.header_text_set(None)


def check_number(angle: float) -> None:
    """Raise a ``RigError`` if an angle is not finite."""
    if not math.isfinite(angle):
        raise RigError("The angle is not a finite number: type another one.")


def _mouse(event: bpy.types.Event) -> Vector:
    return Vector((event.mouse_region_x, event.mouse_region_y))
