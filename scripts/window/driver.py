"""Control of a window of Blender by simulated mouse and keys, and its pictures.

This runs inside the application, started with --enable-event-simulate. Blender handles events one
by one in its own loop, so a session is a generator that yields the seconds to wait, see ``play``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Generator, Iterable
from pathlib import Path

import bpy
import numpy as np
import numpy.typing as npt
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Euler, Vector

Session = Generator[float, None, None]

# Least seconds between two events, and for things that open or move slowly.
MOMENT = 0.0
REDRAW = 0.03
# Rounds of Blender's loop: it handles events in one and updates and draws in the next; then follows
# the deferred work of the extension. A smooth picture is drawn in eight rounds.
ROUNDS, SMOOTH_ROUNDS = 3, 12


class SessionError(Exception):
    """The error for a fault that a user would see; its text is one sentence."""


def check(is_right: bool, sentence: str) -> None:
    """Raise ``SessionError`` with a sentence unless a condition is true."""
    if not is_right:
        raise SessionError(sentence)


def check_near(actual: npt.ArrayLike, expected: npt.ArrayLike, tolerance: float, name: str) -> None:
    """Check that a point or numbers differ from the expected ones by at most a tolerance."""
    off = np.subtract(actual, expected)
    off = np.linalg.norm(off) if isinstance(actual, Vector) else np.abs(off).max()
    check(off <= tolerance, f"{name} is {off:.2g} off.")


def check_moved(after: Vector, before: Vector, min_distance: float, name: str) -> None:
    """Check that a point has moved by more than a distance in metres."""
    moved = (after - before).length
    check(moved > min_distance, f"{name} has moved by {moved:.2g} m only.")


def play(session: Session, min_rounds: int = ROUNDS) -> None:
    """Start a session when the window is open; at its end Blender exits with code 0 or 1.

    After each step the session waits for the seconds that it yields and for a number of rounds,
    since each round draws a smooth picture again.
    """
    until, rounds = 0.0, 0

    def advance() -> float:
        nonlocal until, rounds
        rounds -= 1
        if rounds > 0 or time.perf_counter() < until:
            return 0.0
        delay, has_failed = None, True
        try:
            delay = next(session, None)
            has_failed = False
        finally:
            if has_failed:
                traceback.print_exc()
                print("FAILED:", sys.exc_info()[1])
            if delay is None:
                sys.stdout.flush()
                sys.stderr.flush()
                # The only way to give an exit code: Blender drops exceptions in timers.
                os._exit(has_failed)
        until = time.perf_counter() + delay
        # A session that only polls takes no picture, so it needs no more rounds.
        rounds = ROUNDS if delay == MOMENT else min_rounds
        return 0.0

    bpy.context.preferences.view.show_splash = False
    # Persistent, so that a session continues after it opens a file.
    bpy.app.timers.register(advance, first_interval=0.1, persistent=True)


def wait_until(condition: Callable[[], bool], seconds: float = 90.0) -> Session:
    end = time.monotonic() + seconds
    yield MOMENT
    while not condition() and time.monotonic() < end:
        yield MOMENT


def select_bones(rig: bpy.types.Object, *names: str) -> None:
    """Select only these bones of a rig in pose mode; the last one becomes active."""
    for bone in rig.pose.bones:
        # Blender 5.0 moved the selection from the armature's bones to the pose bones.
        holder = bone if hasattr(bone, "select") else bone.bone
        holder.select = bone.name in names
    rig.data.bones.active = rig.data.bones[names[-1]]


def read_pixels(path: Path) -> np.ndarray:
    """Return the pixels of a picture, from the bottom up, shape (height, width, channels)."""
    image = bpy.data.images.load(str(path))
    width, height = image.size
    pixels = np.empty((height, width, image.channels), dtype=np.float32)
    image.pixels.foreach_get(pixels.ravel())
    bpy.data.images.remove(image)
    return pixels


def write_pixels(pixels: np.ndarray, path: Path) -> None:
    """Write a picture of pixels with four channels, in the order of ``read_pixels``."""
    image = bpy.data.images.new("Sheet", pixels.shape[1], pixels.shape[0])
    image.pixels.foreach_set(np.ascontiguousarray(pixels).ravel())
    image.filepath_raw, image.file_format = str(path), "PNG"
    image.save()
    bpy.data.images.remove(image)


class Viewport:
    """A window and the 3D viewport in it, without references, since undo replaces them."""

    kind = "VIEW_3D"
    _has_screenshots = True
    _mouse = (5, 5)

    def __init__(self, number: int = 0) -> None:
        self.number = number

    @property
    def window(self) -> bpy.types.Window:
        return bpy.context.window_manager.windows[self.number]

    @property
    def area(self) -> bpy.types.Area:
        return next(area for area in self.window.screen.areas if area.type == self.kind)

    def region(self, kind: str) -> bpy.types.Region:
        return next(region for region in self.area.regions if region.type == kind)

    def context(self, kind: str = "WINDOW") -> bpy.types.Context:
        """Return a context manager that makes operators act in a region of the editor."""
        area, region = self.area, self.region(kind)
        return bpy.context.temp_override(window=self.window, area=area, region=region)

    def fill_window(self) -> Session:
        """Close the splash screen and all other editors."""
        # Blender 4.3 crashes if editors close before they are drawn at a new interface scale.
        yield REDRAW
        self.press("ESC")
        yield REDRAW
        for area in [area for area in self.window.screen.areas if area.type != "VIEW_3D"]:
            with bpy.context.temp_override(window=self.window, area=area):
                bpy.ops.screen.area_close()
            yield MOMENT
        space = self.area.spaces.active
        space.show_region_ui = True
        space.show_region_toolbar = space.show_region_tool_header = False
        space.overlay.show_cursor = False
        yield REDRAW

    def widen_sidebar(self, pixels: int) -> Session:
        """Drag the sidebar's edge with the mouse, at the height of its panels."""
        sidebar = self.region("UI")
        x, y = sidebar.x, sidebar.y + sidebar.height * 3 // 4
        yield from self.drag([(x - 40, y), (x, y)])
        yield from self.drag([(x - pixels * i // 8, y) for i in range(9)], button="LEFTMOUSE")
        yield REDRAW

    def scroll(self, kind: str, *, is_up: bool = False, pages: int = 1) -> Session:
        """Scroll a region down or up by pages."""
        scroll = bpy.ops.view2d.scroll_up if is_up else bpy.ops.view2d.scroll_down
        with self.context(kind):
            for _ in range(pages if scroll.poll() else 0):
                scroll(page=True)
        yield REDRAW

    def turn_into(self, kind: str) -> Session:
        self.area.type = self.kind = kind
        yield REDRAW

    def look(self, at: Vector, distance: float, angles: tuple[float, float, float]) -> None:
        view = self.area.spaces.active.region_3d
        view.view_location, view.view_distance = at, distance
        view.view_rotation = Euler(angles).to_quaternion()

    def pixel_of(self, point: Vector) -> tuple[int, int]:
        """Return the pixel in the window where a point of the scene is visible."""
        region = self.region("WINDOW")
        pixel = location_3d_to_region_2d(region, self.area.spaces.active.region_3d, point)
        check(pixel is not None, f"The point {tuple(point)} is behind the view.")
        return round(region.x + pixel.x), round(region.y + pixel.y)

    def point_at(self, place: Vector) -> Session:
        yield from self.drag([self.pixel_of(place)])

    def press(self, key: str, **keys: bool) -> None:
        """Press and release a key at the mouse, optionally with ``ctrl``, ``shift`` or ``alt``."""
        for value in ("PRESS", "RELEASE"):
            self._simulate(key, value, **keys)

    def undo(self, *, is_redone: bool = False) -> Session:
        """Press Ctrl Z or Ctrl Shift Z, and wait for the update that follows."""
        handlers, updates = bpy.app.handlers, []
        undone = handlers.redo_post if is_redone else handlers.undo_post

        def note(*_arguments: object) -> None:
            updates.append(True)

        def listen(*_arguments: object) -> None:
            handlers.depsgraph_update_post.append(note)

        undone.append(listen)
        self.press("Z", ctrl=True, shift=is_redone)
        yield from wait_until(lambda: bool(updates), 10.0)
        check(len(updates) > 0, f"Blender has {'re' if is_redone else 'un'}done nothing.")
        undone.remove(listen)
        handlers.depsgraph_update_post.remove(note)

    def drag(self, path: Iterable[tuple[int, int]], button: str = "", **keys: bool) -> Session:
        """Move the mouse through pixels, with or without a button; keys as for ``press``."""
        for number, pixel in enumerate(path):
            self._mouse = pixel
            # Hold the keys from the second move on: with them, a press may mean something else.
            self._simulate("MOUSEMOVE", "NOTHING", **(keys if number else {}))
            yield MOMENT
            if button and number == 0:
                self._simulate(button, "PRESS")
                yield MOMENT
        if button:
            self._simulate(button, "RELEASE")
            yield MOMENT

    def pop_up(self, pixel: tuple[int, int], call: Callable[[], set[str]]) -> Session:
        """Open a menu, pie menu or popover at a pixel."""
        x, y = pixel
        yield from self.drag([pixel])
        with self.context():
            opened = call()
        check(opened == {"INTERFACE"}, f"This does not open: {call} ends with {opened}.")
        # A pie menu opens slowly, and only while the mouse moves.
        for step in range(1, 5):
            yield from self.drag([(x + step, y)])
            yield REDRAW

    def take_picture(self, path: Path) -> None:
        """Write a picture of the window as it was drawn last.

        Without a graphics card, Blender's ``screen.screenshot`` gives black pictures: then the
        program `import` of ImageMagick, if it exists, takes a picture of the whole screen.
        """
        if self._has_screenshots:
            with self.context():
                bpy.ops.screen.screenshot(filepath=str(path))
            is_black = not read_pixels(path)[..., :3].any()
            self._has_screenshots = not shutil.which("import") or not is_black
        if not self._has_screenshots:
            # Low compression takes half the time.
            subprocess.run(["import", "-window", "root", "-quality", "11", path], check=True)

    def _simulate(self, event: str, value: str, **keys: bool | str) -> None:
        x, y = self._mouse
        self.window.event_simulate(event, value, x=x, y=y, **keys)
