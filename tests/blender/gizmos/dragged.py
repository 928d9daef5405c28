"""A drag in a viewport: the operator's own methods, the real view, and events of a mouse.

Without a window Blender makes no operator that goes on, and no events; the view of the file that
it starts with is there.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector

Pixel = tuple[float, float]


class FakeContext:
    """Stands for a context of a window: it notes what is told there, all else is real.

    Attributes:
        status: What the status bar says; None for what Blender says.
        header: Likewise the header.
        is_handling: Whether an operator gets the events.
    """

    def __init__(self, context: bpy.types.Context) -> None:
        self.real, self.status, self.header, self.is_handling = context, None, None, False
        self.workspace = SimpleNamespace(status_text_set=partial(setattr, self, "status"))
        self.area = SimpleNamespace(header_text_set=partial(setattr, self, "header"))
        self.window_manager = SimpleNamespace(modal_handler_add=self._handle)

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)

    def _handle(self, _operator: object) -> None:
        self.is_handling = True


class Drag:
    """Stands for an operator that follows the mouse.

    Attributes:
        result: What it returned last.
        reports: What it has reported.
    """

    def __init__(self, name: str, context: bpy.types.Context, start: Pixel, **settings: object):
        self.own = getattr(bpy.types, f"POSE_OT_chain_ik_{name}")
        self.reports: list[str] = []
        for each, value in settings.items():
            setattr(self, each, value)
        self.told, self.mouse = FakeContext(context), start
        self.result = self.invoke(self.told, self.event("LEFTMOUSE", "PRESS"))

    def __getattr__(self, name: str) -> object:
        found = inspect.getattr_static(self.own, name)
        if isinstance(found, property):
            return found.fget(self)
        if isinstance(found, classmethod):
            return partial(found.__func__, self.own)
        return partial(found, self) if callable(found) else found

    def report(self, _kinds: set[str], text: str) -> None:
        self.reports.append(text)

    def event(self, kind: str, value: str, modifier: str = "") -> SimpleNamespace:
        held = {each: each == modifier for each in ("ctrl", "shift", "alt", "oskey")}
        x, y = self.mouse
        return SimpleNamespace(type=kind, value=value, mouse_region_x=x, mouse_region_y=y, **held)

    def send(self, kind: str, value: str = "PRESS", modifier: str = "") -> None:
        """Give it an event, as long as it gets any."""
        assert self.result == {"RUNNING_MODAL"}
        self.result = self.modal(self.told, self.event(kind, value, modifier))

    def go(self, pixels: Sequence[Pixel], modifier: str = "") -> None:
        """Move the mouse."""
        for self.mouse in pixels:
            self.send("MOUSEMOVE", "NOTHING", modifier)

    def let_go(self) -> None:
        self.send("LEFTMOUSE", "RELEASE")


def pixel_of(context: bpy.types.Context, point: np.ndarray) -> Pixel:
    """Return where in a viewport a point of the scene is seen."""
    pixel = location_3d_to_region_2d(context.region, context.region_data, Vector(point))
    assert pixel is not None
    return pixel.x, pixel.y
