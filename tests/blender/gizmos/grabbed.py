"""What gizmos show and start in a viewport, told without drawing it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace

import bpy

from tests.blender.interface.drawn import OperatorProperties, operator_type

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
    """Stands for the gizmos of a group."""

    def new(self, kind: str) -> FakeGizmo:
        self.append(FakeGizmo(kind))
        return self[-1]


class FakeGroup:
    """Stands for an instance of a group of gizmos; Blender makes those only to draw a window."""

    def __init__(self, group: type) -> None:
        self.group, self.gizmos = group, FakeGizmos()

    def __getattr__(self, name: str) -> partial:
        return partial(getattr(self.group, name), self)


@contextmanager
def in_viewport() -> Iterator[bpy.types.Context]:
    """Give the context of the first viewport."""
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
            fake = FakeGroup(group)
            if group.poll(context):
                fake.setup(context)
                fake.draw_prepare(context)
            found += [each for each in fake.gizmos if not each.hide]
    return found


def started_by_gizmos() -> set[str]:
    """Return the operators that gizmos start which the viewport shows now."""
    return {name for each in shown_gizmos() for name in each.started}
