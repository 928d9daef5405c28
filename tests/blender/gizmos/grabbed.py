"""Stand-ins for the gizmos of a viewport and for drags in it, without a window.

Blender makes these, modal operators and events only in a window; it has viewports without one.
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector

from tests.blender.interface.drawn import FakePanel, OperatorProperties, operator_type

GROUP_PREFIX = "VIEW3D_GGT_chain_ik"
GIZMO_OPERATORS = {
    f"pose.chain_ik_{name}"
    for name in ("activate", "move_target", "move_pole", "turn_pole", "set_limit")
}
"""Operators that gizmos start, and that no panel has."""


class FakeGizmo(SimpleNamespace):
    """A stand-in for a gizmo, with the methods of its type if that is of the extension.

    Like Blender, it refuses unknown operators, and properties that an operator does not have.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(hide=False, started={})
        self.gizmo_type = bpy.types.Gizmo.bl_rna_get_subclass_py(kind)
        if self.gizmo_type is not None:
            self.gizmo_type.setup(self)

    def __getattr__(self, name: str) -> partial:
        if self.gizmo_type is None:
            raise AttributeError(name)
        return partial(getattr(self.gizmo_type, name), self)

    def target_set_operator(self, name: str, index: int = 0) -> OperatorProperties:
        assert index >= 0
        self.started[name] = OperatorProperties(operator_type(name))
        return self.started[name]


class FakeGizmos(list):
    def new(self, kind: str) -> FakeGizmo:
        self.append(FakeGizmo(kind))
        return self[-1]


@contextmanager
def in_viewport() -> Iterator[bpy.types.Context]:
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        yield bpy.context


def shown_gizmos() -> list[FakeGizmo]:
    """Return the gizmos that the viewport shows now, with the operators that they start."""
    base = bpy.types.GizmoGroup
    # Classes that an earlier test unregistered still exist; their common base is never registered.
    classes = [group for common in base.__subclasses__() for group in common.__subclasses__()]
    names = {group.__name__ for group in classes if group.__name__.startswith(GROUP_PREFIX)}
    groups = [base.bl_rna_get_subclass_py(name) for name in sorted(names)]
    assert len(groups) > 2
    shown: list[FakeGizmo] = []
    with in_viewport() as context:
        for group in groups:
            # Blender makes instances only to draw a window.
            fake = FakePanel(group, None)
            fake.gizmos = FakeGizmos()
            if group.poll(context):
                fake.setup(context)
                fake.draw_prepare(context)
            shown += [gizmo for gizmo in fake.gizmos if not gizmo.hide]
    return shown


def started_by_gizmos() -> set[str]:
    return {name for gizmo in shown_gizmos() for name in gizmo.started}


Pixel = tuple[float, float]


class FakeContext:
    """A stand-in for a context of a window: it records status bar and header; the rest is real.

    Their texts are None while Blender shows its own.
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
    """A stand-in for an operator that follows the mouse."""

    def __init__(self, name: str, context: bpy.types.Context, start: Pixel, **settings: object):
        self.operator = getattr(bpy.types, f"POSE_OT_chain_ik_{name}")
        self.reports: list[str] = []
        for setting, value in settings.items():
            setattr(self, setting, value)
        self.context, self.mouse = FakeContext(context), start
        self.result = self.invoke(self.context, self.event("LEFTMOUSE", "PRESS"))

    def __getattr__(self, name: str) -> object:
        attribute = inspect.getattr_static(self.operator, name)
        if isinstance(attribute, property):
            return attribute.fget(self)
        if isinstance(attribute, classmethod):
            return partial(attribute.__func__, self.operator)
        return partial(attribute, self) if callable(attribute) else attribute

    def report(self, _kinds: set[str], text: str) -> None:
        self.reports.append(text)

    def event(self, kind: str, value: str, modifier: str = "") -> SimpleNamespace:
        held = {key: key == modifier for key in ("ctrl", "shift", "alt", "oskey")}
        x, y = self.mouse
        return SimpleNamespace(type=kind, value=value, mouse_region_x=x, mouse_region_y=y, **held)

    def send(self, kind: str, value: str = "PRESS", modifier: str = "") -> None:
        """Send an event to the operator, which must not have ended."""
        assert self.result == {"RUNNING_MODAL"}
        self.result = self.modal(self.context, self.event(kind, value, modifier))

    def drag_along(self, pixels: Sequence[Pixel], modifier: str = "") -> None:
        for self.mouse in pixels:
            self.send("MOUSEMOVE", "NOTHING", modifier)

    def release(self) -> None:
        self.send("LEFTMOUSE", "RELEASE")


def pixel_of(context: bpy.types.Context, point: np.ndarray) -> Pixel:
    """Return the pixel of a viewport that shows a point of the scene."""
    pixel = location_3d_to_region_2d(context.region, context.region_data, Vector(point))
    assert pixel is not None
    return pixel.x, pixel.y
