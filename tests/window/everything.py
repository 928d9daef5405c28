"""Open all that the extension shows, one after the other, with a picture of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy

from examples.parts.rigs import add_empty, hang_chain
from tests.window.application import REFUSED
from window import shown
from window.driver import MOMENT, REDRAW, Session, SessionError, Viewport, check, select_bones
from window.shown import POPUP, close_up


def open_panels(viewport: Viewport, folder: Path, solvers: Iterator[str]) -> Session:
    """Open each panel by itself as a popover, or where it belongs, with a solver that has it."""
    panels = [*shown.registered(bpy.types.Panel), *shown.added_to(bpy.types.Panel)]
    left = {shown.name_of(cls): cls for cls in panels if hasattr(cls, "bl_label")}
    check(len(left) > 5, f"Only these panels were found: {sorted(left)}.")
    yield from _fill_panels(viewport)
    for _ in solvers:
        yield REDRAW
        for name, cls in sorted(left.items()):
            picture = folder / f"panel_{name}.png"
            if cls.bl_space_type == "PROPERTIES" and cls.bl_region_type == "WINDOW":
                yield from viewport.turn_into("PROPERTIES")
                viewport.area.spaces.active.context = cls.bl_context.upper()
            yield from _open_panel(viewport, cls, picture)
            if viewport.kind == "PROPERTIES":
                yield from viewport.turn_into("VIEW_3D")
            if picture.exists():
                del left[name]
    check(not left, f"These panels are never shown: {sorted(left)}.")


def run_operators(viewport: Viewport, folder: Path) -> Session:
    """Run each operator with its defaults, open *Adjust Last Operation*, and undo it.

    Those that are of no use here may refuse, in a sentence that Blender prints as well.
    """
    opened = []
    bpy.context.scene.frame_end = 4
    for name in shown.operators():
        module, _, function = name.partition(".")
        operator = getattr(getattr(bpy.ops, module), function)
        yield from viewport.drag([POPUP], button="")
        with viewport.context():
            if not operator.poll():
                continue
            try:
                done = operator("EXEC_DEFAULT", True)
            except RuntimeError as error:
                if "Traceback" in str(error):
                    raise SessionError(f"{name}: {error}") from error
                print(REFUSED + str(error).strip())
                continue
            if done != {"FINISHED"}:
                continue
            bpy.ops.screen.redo_last("INVOKE_DEFAULT")
        yield from close_up(viewport, folder / f"adjust_{function}.png")
        opened.append(name)
        with viewport.context():
            bpy.ops.ed.undo()
        yield MOMENT
    check(len(opened) >= 5, f"Only these operators could be run and adjusted: {opened}.")


def _open_panel(viewport: Viewport, cls: type, picture: Path) -> Session:
    """Open a panel by itself in an editor, with a picture if it has anything to show there."""
    name = shown.name_of(cls)
    yield from viewport.drag([POPUP], button="")
    with viewport.context():
        if hasattr(cls, "poll") and not cls.poll(bpy.context):
            return
        opened = bpy.ops.wm.call_panel("INVOKE_DEFAULT", name=name)
    check(opened == {"INTERFACE"}, f"The panel {name} does not open: {opened}.")
    yield from close_up(viewport, picture)


def _fill_panels(viewport: Viewport) -> Session:
    """Add a joint to the chain, and another chain that shares bones with it; compare solvers."""
    rig = bpy.context.active_object
    with viewport.context():
        select_bones(rig, "forearm.L")
        bpy.ops.pose.chain_ik_joint_add()
    target = add_empty("Other Target", (-0.5, 0.0, 1.3), 1.0)
    hang_chain(rig, "Other", "forearm.R", target, solver="NEWTON", chain_count=4)
    # Another item in the list may move all of them: nothing is kept across it.
    rig.chain_ik.chains[0].solver, rig.chain_ik.chains[0].chain_count = "NEWTON", 4
    rig.chain_ik.active_index = 0
    yield REDRAW
    with viewport.context():
        bpy.ops.pose.chain_ik_compare()
