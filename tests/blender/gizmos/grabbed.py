"""What gizmos show and start in a viewport, and drags there, told without a window.

Blender makes no gizmos, no operator that goes on, and no events without one; the view of the file
that it starts with is there.
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

OWN = "VIEW3D_GGT_chain_ik"
GRABBED = {
    f"pose.chain_ik_{name}"
    for name in ("activate", "move_target", "move_pole", "turn_pole", "set_limit")
}
"""What is dragged or clicked where it is seen, and in no panel."""


class FakeGizmo(SimpleNamespace):
    """Stands for a gizmo; of the extension's own kinds it has the methods.

    Like Blender, it refuses operators that there are none of, and properties that they have not.
    """

    def __init__(self, kind: str) -> None:
        super().__init__(hide=False, started={})
        self.own = bpy.types.Gizmo.bl_rna_get_subclass_py(kind)
        if self.own is not None:
            self.own.setup(self)

    def __getattr__(self, name: str) -> partial:
        if self.own is None:
            raise AttributeError(name)
        return partial(getattr(self.own, name), self)

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
    """Return the gizmos that the viewport shows now, each with the operators that it starts."""
    base = bpy.types.GizmoGroup
    # What an earlier test has unregistered lives on; what all have in common is never registered.
    below = [each for common in base.__subclasses__() for each in common.__subclasses__()]
    names = {each.__name__ for each in below if each.__name__.startswith(OWN)}
    groups = [base.bl_rna_get_subclass_py(name) for name in sorted(names)]
    assert len(groups) > 2
    found: list[FakeGizmo] = []
    with in_viewport() as context:
        for group in groups:
            # Blender makes its own only to draw a window.
            fake = FakePanel(group, None)
            fake.gizmos = FakeGizmos()
            if group.poll(context):
                fake.setup(context)
                fake.draw_prepare(context)
            found += [each for each in fake.gizmos if not each.hide]
    return found


def started_by_gizmos() -> set[str]:
    return {name for each in shown_gizmos() for name in each.started}


Pixel = tuple[float, float]


class FakeContext:
    """Stands for a context of a window: it notes what is told there, all else is real.

    Status bar and header are None where Blender says what it always does.
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
    """Stands for an operator that follows the mouse."""

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
        for self.mouse in pixels:
            self.send("MOUSEMOVE", "NOTHING", modifier)

    def let_go(self) -> None:
        self.send("LEFTMOUSE", "RELEASE")


def pixel_of(context: bpy.types.Context, point: np.ndarray) -> Pixel:
    """Return where in a viewport a point of the scene is seen."""
    pixel = location_3d_to_region_2d(context.region, context.region_data, Vector(point))
    assert pixel is not None
    return pixel.x, pixel.y
