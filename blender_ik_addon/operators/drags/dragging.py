"""The base of operators that drag: something follows the mouse until release, or Esc."""

from __future__ import annotations

import math
from contextlib import suppress

import bpy
from mathutils import Vector

from ...core import IKError
from ...properties.chains import ChainGroup, chain_key, chains_of, owner_of
from ...rig.reading.refusals import RigError
from ...translations import translate
from ..base import ChainOperator
from .picking import click

# Shift slows the mouse by this factor.
PRECISE = 0.1
# Degrees that Ctrl snaps angles to.
SNAP = 5.0
AXES = ("X", "Y", "Z")


class Dragging(ChainOperator):
    """The base of operators that drag; a subclass adds ``take``, ``move``, ``put_back``, ``keep``.

    One drag is one undo step. A click without a move selects: see ``click``.

    Attributes:
        axis: The axis of world space that the move keeps to; empty for none.
        snaps: Whether Ctrl is held.
    """

    bl_options = {"REGISTER", "UNDO", "BLOCKING"}
    hints: tuple[str, ...] = (
        "Left click: confirm",
        "Esc or right click: cancel",
        "Shift: precise",
    )

    axis = ""
    snaps = False
    _is_moved = _is_pressed = False

    def take(self, context: bpy.types.Context) -> None:
        """Note what is to be moved, as it is now; raise an ``IKError`` if it cannot be moved."""
        raise NotImplementedError

    def move(self, context: bpy.types.Context, mouse: tuple[Vector, Vector]) -> str:
        """Move it; return the text of the header, in English.

        Args:
            context: With the viewport.
            mouse: Its last and its present place in the region, pixels.
        """
        raise NotImplementedError

    def put_back(self, context: bpy.types.Context) -> None:
        """Put everything back as it was."""
        raise NotImplementedError

    def keep(self, context: bpy.types.Context) -> None:
        """Key what was moved, if keys are wanted, and note it for *Adjust Last Operation*."""
        raise NotImplementedError

    def click(self, _context: bpy.types.Context, pixel: tuple[int, int], *, toggle: bool) -> None:
        """Select something after a click without a move; what is under the mouse if not said."""
        click(pixel, toggle=toggle)

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Begin to drag."""
        if context.region_data is None:
            return self.refuse("Nothing can be dragged here: do this in a 3D viewport.")
        try:
            self.take(context)
        except IKError as error:
            return self.refuse(error)
        self._start = self._last = _mouse(event)
        # Slower than the mouse itself while Shift is held.
        self._shown = self._start.copy()
        self.axis, self._is_moved, self.snaps = "", False, False
        self._is_pressed = event.type == "LEFTMOUSE" and event.value in {"PRESS", "CLICK_DRAG"}
        context.window_manager.modal_handler_add(self)
        context.workspace.status_text_set(translate(" · ".join(self.hints)))
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Follow the mouse; no other operator gets events meanwhile."""
        try:
            return self._answer(context, event)
        except IKError as error:
            problem = str(error)
        except ReferenceError:
            problem = "What was dragged is gone: choose another target, pole or chain."
        # It is gone or has not moved, so there is nothing to put back.
        self._tidy(context)
        return self.refuse(problem)

    def cancel(self, context: bpy.types.Context) -> None:
        """Put everything back as it was; Blender calls this when it closes the window."""
        with suppress(IKError, ReferenceError):
            self.put_back(context)
        self._tidy(context)

    def hold(self, settings: ChainGroup) -> None:
        """Note which chain is changed: references to settings do not last."""
        self._owner, (_, self._index) = owner_of(settings), chain_key(settings)

    @property
    def chain(self) -> ChainGroup:
        """The settings of the chain that is changed; a ``ReferenceError`` once they are gone."""
        chains = chains_of(self._owner)
        if self._index >= len(chains):
            raise ReferenceError
        return chains[self._index]

    def snapped(self, angle: float) -> float:
        """Return an angle, radians; the nearest of those that Ctrl snaps to while it is held."""
        return math.radians(round(math.degrees(angle) / SNAP) * SNAP) if self.snaps else angle

    def _answer(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if event.type in {"ESC", "RIGHTMOUSE"} and event.value == "PRESS":
            self.put_back(context)
            self._tidy(context)
            return {"CANCELLED"}
        # A drag that was started from a menu goes on until the next click.
        end = "RELEASE" if self._is_pressed else "PRESS"
        is_let_go = event.type == "LEFTMOUSE" and event.value == end
        if is_let_go or (event.type in {"RET", "NUMPAD_ENTER"} and event.value == "PRESS"):
            return self._let_go(context, event)
        # A modifier gives the key another meaning, as in Ctrl Z.
        has_modifier = event.ctrl or event.shift or event.alt or event.oskey
        is_axis = event.type in AXES and event.value == "PRESS" and not has_modifier
        if is_axis:
            self.axis = "" if self.axis == event.type else event.type
        if event.type == "MOUSEMOVE" or is_axis:
            self._follow(context, event)
        return {"RUNNING_MODAL"}

    def _follow(self, context: bpy.types.Context, event: bpy.types.Event) -> None:
        mouse, before = _mouse(event), self._shown.copy()
        threshold = context.preferences.inputs.drag_threshold_mouse
        if not self._is_moved and (mouse - self._start).length < threshold:
            return
        self._is_moved, self.snaps = True, event.ctrl
        self._shown += (mouse - self._last) * (PRECISE if event.shift else 1.0)
        self._last = mouse
        moved = self.move(context, (before, self._shown.copy()))
        context.area.header_text_set(translate(moved))

    def _let_go(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        self._tidy(context)
        if self._is_moved:
            self.keep(context)
            return {"FINISHED"}
        if self._is_pressed and event.type == "LEFTMOUSE":
            pixel = (event.mouse_region_x, event.mouse_region_y)
            self.click(context, pixel, toggle=event.shift)
        return {"CANCELLED"}

    def _tidy(self, context: bpy.types.Context) -> None:
        """Clear the texts in the status bar and in the header."""
        # Both are missing when a window closes.
        if context.workspace is not None:
            context.workspace.status_text_set(None)
        if context.area is not None:
            context.area.header_text_set(None)


def check_number(angle: float) -> None:
    """Raise unless an angle is finite.

    Raises:
        RigError: With what to do.
    """
    if not math.isfinite(angle):
        raise RigError("The angle is not a finite number: type another one.")


def _mouse(event: bpy.types.Event) -> Vector:
    return Vector((event.mouse_region_x, event.mouse_region_y))
