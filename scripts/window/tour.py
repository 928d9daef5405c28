"""Common steps of tours: install the zip, add a character, press buttons, take pictures."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import bpy
from mathutils import Vector

from common.blender_process import list_types
from window.driver import REDRAW, Session, Viewport, check, select_bones, wait_until

MODULE, TAB = "bl_ext.user_default.chain_ik", "Chain IK"
RIG = "metarig"

# A point of the scene, its distance, and Euler angles in radians.
View = tuple[Vector, float, tuple[float, float, float]]
# Function that is called with the number of each step of a drag, after it.
StepCallback = Callable[[int], object]


def line(start: Vector, end: Vector, steps: int) -> list[Vector]:
    return [start.lerp(end, step / steps) for step in range(steps + 1)]


def clear_scene() -> None:
    for ob in list(bpy.data.objects):
        bpy.data.objects.remove(ob)


def unfold(*blenders: type, are_ours_open: bool = True) -> None:
    """Register the extension again with open panels, also of Blender: no click opens them all."""
    package = sys.modules[MODULE]
    ours = [
        cls for cls in list_types(bpy.types.Panel, MODULE) if cls.bl_region_type in {"UI", "WINDOW"}
    ]
    package.unregister()
    for cls in blenders:
        bpy.utils.unregister_class(cls)
    for cls in (*blenders, *(ours if are_ours_open else ())):
        cls.bl_options = set(getattr(cls, "bl_options", ())) - {"DEFAULT_CLOSED"}
    for cls in blenders:
        bpy.utils.register_class(cls)
    package.register()


class Tour:
    """The base class of tours: the public methods of a subclass are its steps, in their order."""

    # A page shows pictures at half of their size, so their text must be large.
    ui_scale = 1.2
    # Whether pictures are smooth: without a graphics card, drawing takes eight times the time.
    is_fine = False

    def __init__(self, zip_path: Path, folder: Path) -> None:
        self.zip_path, self.folder = zip_path, folder
        self.viewport = Viewport()

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        yield from self.install()
        for name, step in vars(type(self)).items():
            if callable(step) and not name.startswith("_"):
                print(f"STEP {name}", flush=True)
                yield from step(self)
                yield REDRAW

    def install(self) -> Session:
        """Install and enable the zip, as Preferences > Get Extensions > From Disk does."""
        preferences = bpy.context.preferences
        # A tooltip could cover a part of a picture.
        preferences.view.ui_scale, preferences.view.show_tooltips = self.ui_scale, False
        if not self.is_fine:
            preferences.system.viewport_aa = "OFF"
            preferences.system.use_overlay_smooth_wire = False
            self.viewport.area.spaces.active.overlay.show_floor = False
        yield from self.viewport.fill_window()
        bpy.ops.extensions.package_install_files(
            repo="user_default", filepath=str(self.zip_path), enable_on_install=True
        )
        is_enabled = MODULE in preferences.addons
        check(is_enabled, f"{self.zip_path.name} was installed but is not enabled.")
        yield REDRAW

    def add_metarig(self, view: View, kind: str = "human") -> Session:
        """Replace the startup scene by a metarig of Rigify, look at it, and open our tab."""
        bpy.ops.preferences.addon_enable(module="rigify")
        clear_scene()
        with self.viewport.context():
            getattr(bpy.ops.object, f"armature_{kind}_metarig_add")()
        self.viewport.look(*view)
        yield from self.show_tab()
        check(RIG in bpy.data.objects, "Rigify added no metarig.")

    def show_tab(self, wider: int = 50) -> Session:
        """Open the tab of the extension in the sidebar, and widen the sidebar by some pixels."""
        self.viewport.region("UI").active_panel_category = TAB
        yield REDRAW
        yield from self.viewport.widen_sidebar(wider)

    def open_preferences(self) -> Session:
        """Turn the editor into the preferences, and expand those of the extension."""
        yield from self.viewport.turn_into("PREFERENCES")
        bpy.context.preferences.active_section = "ADDONS"
        bpy.context.window_manager.addon_search = TAB
        bpy.ops.preferences.addon_expand(module=MODULE)
        yield REDRAW

    def set_up_limbs(self, **settings: object) -> Session:
        yield from self.press_button("setup", **settings)
        yield from self.set_mode("POSE")

    def set_mode(self, mode: str) -> Session:
        """Change the mode as a step that can be undone."""
        with self.viewport.context():
            bpy.ops.object.mode_set(mode=mode)
        yield from self.note_step(f"{mode.title()} Mode")

    def press_button(self, name: str, how: str = "INVOKE_DEFAULT", **settings: object) -> Session:
        """Run an operator of the extension as its button does, or without a dialog."""
        with self.viewport.context():
            getattr(bpy.ops.pose, f"chain_ik_{name}")(how, True, **settings)
        yield REDRAW

    def start(self, name: str, picture: str = "", **settings: object) -> Session:
        """Press a button, take a picture of its dialog if named, and start the work with Enter."""
        yield from self.rest_mouse()
        yield from self.press_button(name, **settings)
        if picture:
            self.picture(picture)
        done = bpy.context.window_manager.operators
        known_count = len(done)

        def has_started() -> bool:
            # Short work may be finished before the first check.
            return self.is_running(name) or len(done) > known_count

        self.viewport.press("RET")
        yield from wait_until(has_started, 10.0)
        check(has_started(), f"Enter has not started {name}.")

    def is_running(self, name: str) -> bool:
        running = [operator.bl_idname for operator in self.viewport.window.modal_operators]
        return f"POSE_OT_chain_ik_{name}" in running

    def stop(self, name: str) -> Session:
        """Press Esc while the work is running."""
        check(self.is_running(name), f"{name} has ended before it could be stopped.")
        self.viewport.press("ESC")
        yield REDRAW
        check(not self.is_running(name), f"Esc has not stopped {name}.")

    def finish(self, name: str) -> Session:
        yield from wait_until(lambda: not self.is_running(name))
        check(not self.is_running(name), f"{name} has not come to its end.")
        yield REDRAW

    def select(self, rig: bpy.types.Object, *names: str) -> Session:
        """Select bones of a rig in pose mode, as a step that can be undone."""
        with self.viewport.context():
            select_bones(rig, *names)
        yield from self.note_step("Select")

    def note_step(self, name: str) -> Session:
        """Make the changes of a script a step that can be undone."""
        with self.viewport.context():
            bpy.ops.ed.undo_push(message=name)
        yield REDRAW

    def rest_mouse(self) -> Session:
        """Move the mouse to a place where only the viewport receives keys."""
        region = self.viewport.region("WINDOW")
        spot = region.x + region.width // 4, region.y + region.height * 3 // 4
        yield from self.viewport.drag([spot])

    def grab(self, places: Sequence[Vector], look: StepCallback = lambda step: None) -> Session:
        """Press G at the first point of the scene, then move the mouse through the others."""
        yield from self.viewport.point_at(places[0])
        self.viewport.press("G")
        yield REDRAW
        yield from self.move_mouse(places[1:], look)

    def move_mouse(self, places: Sequence[Vector], look: StepCallback) -> Session:
        """Move the mouse through points of the scene; call ``look`` at each after a redraw."""
        for step, place in enumerate(places, start=1):
            yield from self.viewport.point_at(place)
            yield REDRAW
            look(step)

    def drop(self) -> Session:
        self.viewport.press("LEFTMOUSE")
        yield REDRAW

    def picture(self, name: str) -> Path:
        path = self.folder / f"{name}.png"
        self.viewport.take_picture(path)
        return path
