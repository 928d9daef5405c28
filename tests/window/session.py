"""Tour in Blender's window: install the zip, use all of it, disable it, end Blender.

scripts/window/play.py plays it; an error is printed, and ends Blender.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import bpy
import numpy as np
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Vector

from examples.parts.bodies import Stick, add_body
from examples.parts.rigs import add_chain_data, add_empty
from tests.blender.live.traces import find_added, has_translations, list_traces
from tests.window import shown
from tests.window.application import REFUSED
from tests.window.shown import POPUP, close_up
from window.character import rig
from window.driver import (
    MOMENT,
    REDRAW,
    Session,
    SessionError,
    Viewport,
    check,
    check_moved,
    check_near,
    read_pixels,
    select_bones,
    wait_until,
)
from window.tour import MODULE, Tour, line, unfold

SOLVERS = ("TWO_BONE", "NEWTON", "FABRIK", "CCD", "FORCE", "FOLLOW")

# Eleven: three frames are played between two checks, which would meet only four frames of twelve.
FRAMES, MIN_PLAYED, MIN_CHECKED = range(1, 12), 8, 5
# The last bone of the chain, and one in no chain.
TIP, OTHER_BONE = "forearm.L", "spine"
# Metres. Blender stores float32; a solve accepts 1e-5.
REACHED, SAME_PLACE = 2e-5, 1e-6
# The rig is seen from its front and left; the sidebar hides a quarter of the view, so the centre is
# beside the rig.
VIEW = Vector((0.40, 0.0, 1.45)), 1.7, (1.45, 0.0, 0.4)
DRAG_TO = Vector((0.52, 0.0, 1.72))
SHIFT = Vector((-0.1, 0.1, 0.15))
# Force rests between springs, and Follow drags: they need not reach the target.
EXACT_SOLVERS = ("TWO_BONE", "NEWTON", "FABRIK", "CCD")


@dataclass(frozen=True)
class Arm:
    """Points of the arm and its target, world space; the effector is the wrist."""

    target: Vector | None
    elbow: Vector
    wrist: Vector
    status: str

    def check_reached(self, when: str) -> None:
        check_near(self.wrist, self.target, REACHED, f"{when} the wrist")
        check(self.status.startswith("Reached"), f"{when} the status is '{self.status}'.")

    def check_same_pose(self, other: Arm, when: str) -> None:
        check_near(self.elbow, other.elbow, SAME_PLACE, when)
        check_near(self.wrist, other.wrist, SAME_PLACE, when)


def chain() -> bpy.types.PropertyGroup:
    """Return the chain of the arm, looked up again because undo replaces all references."""
    return rig().chain_ik.chains[0]


def read_arm() -> Arm:
    """Return the evaluated arm; its rig is at the world's origin."""
    bones = rig().evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones
    ends = bones[TIP].head.copy(), bones[TIP].tail.copy()
    if not rig().chain_ik.chains:
        return Arm(None, *ends, "")
    return Arm(bones[chain().subtarget].head.copy(), *ends, str(chain().status))


def open_panels(viewport: Viewport, folder: Path, solvers: Iterator[str]) -> Session:
    """Open every panel as a popover, or in its editor, with a solver that shows it."""
    panels = [*shown.list_types(bpy.types.Panel, MODULE), *shown.added_to(bpy.types.Panel)]
    unseen = {shown.name_of(cls): cls for cls in panels if hasattr(cls, "bl_label")}
    check(len(unseen) > 5, f"Only these panels were found: {sorted(unseen)}.")
    yield from _fill_panels(viewport)
    for _ in solvers:
        yield REDRAW
        for name, cls in sorted(unseen.items()):
            picture = folder / f"panel_{name}.png"
            if cls.bl_space_type == "PROPERTIES" and cls.bl_region_type == "WINDOW":
                yield from viewport.turn_into("PROPERTIES")
                viewport.area.spaces.active.context = cls.bl_context.upper()
            yield from _open_panel(viewport, cls, picture)
            if viewport.kind == "PROPERTIES":
                yield from viewport.turn_into("VIEW_3D")
            if picture.exists():
                del unseen[name]
    check(not unseen, f"These panels are never shown: {sorted(unseen)}.")


def run_operators(viewport: Viewport, folder: Path) -> Session:
    """Run every operator with its defaults, open *Adjust Last Operation*, and undo it.

    An operator that cannot work here may refuse, with a message that Blender prints as well.
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
                result = operator("EXEC_DEFAULT", True)
            except RuntimeError as error:
                if "Traceback" in str(error):
                    raise SessionError(f"{name}: {error}") from error
                print(REFUSED + str(error).strip())
                continue
            if result != {"FINISHED"}:
                continue
            bpy.ops.screen.redo_last("INVOKE_DEFAULT")
        yield from close_up(viewport, folder / f"adjust_{function}.png")
        opened.append(name)
        with viewport.context():
            bpy.ops.ed.undo()
        yield MOMENT
    check(len(opened) >= 5, f"Only these operators could be run and adjusted: {opened}.")


def _open_panel(viewport: Viewport, cls: type, picture: Path) -> Session:
    """Open one panel in an editor and take a picture of it, unless its poll fails."""
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
    add_chain_data(rig, "Other", "forearm.R", target, solver="NEWTON", chain_count=4)
    # A new item may move all items of the list in memory: do not keep references to them.
    rig.chain_ik.chains[0].solver, rig.chain_ik.chains[0].chain_count = "NEWTON", 4
    rig.chain_ik.active_index = 0
    yield REDRAW
    with viewport.context():
        bpy.ops.pose.chain_ik_compare()


class Steps(Tour):
    """Steps of the session."""

    ui_scale = 1.0
    rest: Arm
    dropped: Arm

    def __init__(self, zip_path: Path, folder: Path) -> None:
        super().__init__(zip_path, folder)
        self.file = folder / "session.blend"
        self.before = list_traces()

    def add_rig(self) -> Session:
        """Replace the startup scene by Rigify's human metarig and look at its left arm."""
        left = find_added(self.before, list_traces())
        check("classes" in left and "handlers" in left, f"Installed, there is only {left}.")
        yield from self.add_metarig(VIEW)
        self.rest = read_arm()

    def add_chain(self) -> Session:
        """Select upper arm, forearm and hand, and press the sidebar's plus."""
        yield from self.set_mode("POSE")
        yield from self.select(rig(), "upper_arm.L", TIP, "hand.L")
        yield from self.press_button("add")
        (added,) = rig().chain_ik.chains
        settings = added.chain_count, added.solver, added.pole_subtarget != "", added.use_rotation
        # The number of bones; the solver; whether it has a pole, and whether it turns the hand.
        check(settings == (2, "TWO_BONE", True, True), f"The chain that was added has {settings}.")
        self.picture("added")
        read_arm().check_same_pose(self.rest, "After the chain was added the arm")
        read_arm().check_reached("After the chain was added")

    def drag_target(self) -> Session:
        """Select the hand's control, press G, move the mouse, and click; the arm follows."""
        yield from self.select(rig(), chain().subtarget)
        start = read_arm().target
        yield from self.grab(
            line(start, DRAG_TO, 8),
            lambda step: read_arm().check_reached(f"At step {step} of the drag"),
        )
        check_moved(read_arm().target, start, 0.2, "With the mouse the target")
        self.picture("dragging")
        yield from self.drop()
        self.dropped = read_arm()
        self.dropped.check_reached("After the drop")

    def save(self) -> Session:
        """Save the file."""
        with self.viewport.context():
            bpy.ops.wm.save_as_mainfile(filepath=str(self.file))
        yield MOMENT
        check(self.file.stat().st_size > 0, "The saved file is empty.")
        check(not bpy.data.is_dirty, "Blender does not count the file as saved.")

    def play(self) -> Session:
        """Key the target, play, and compare with frames that are jumped to."""
        control = rig().pose.bones[chain().subtarget]
        for frame in (FRAMES[0], FRAMES[-1]):
            control.keyframe_insert("location", frame=frame)
            control.location += SHIFT
        scene = bpy.context.scene
        scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
        expected = {}
        for frame in reversed(FRAMES):
            scene.frame_set(frame)
            expected[frame] = read_arm()
            expected[frame].check_reached(f"At frame {frame}")
        with self.viewport.context():
            bpy.ops.screen.animation_play()
        played, checked = set(), set()

        def on_frame(scene: bpy.types.Scene, *_graph: object) -> None:
            # The checks may meet the same frames again and again, so count the played frames here.
            played.add(scene.frame_current)

        bpy.app.handlers.frame_change_post.append(on_frame)
        for _ in range(60):
            yield MOMENT
            frame = scene.frame_current
            checked.add(frame)
            read_arm().check_same_pose(expected[frame], f"Played, at frame {frame}, the arm")
            if len(played) >= MIN_PLAYED and len(checked) >= MIN_CHECKED:
                break
        with self.viewport.context():
            bpy.ops.screen.animation_cancel(restore_frame=False)
        bpy.app.handlers.frame_change_post.remove(on_frame)
        yield REDRAW
        check(len(played) >= MIN_PLAYED, f"Only the frames {sorted(played)} were played.")
        check(len(checked) >= MIN_CHECKED, f"Only the frames {sorted(checked)} were looked at.")

    def render(self) -> Session:
        """Press F12: the frame is rendered in the background and shows the arm at its place."""
        scene, path = bpy.context.scene, self.folder / "rendered.png"
        bpy.context.preferences.view.render_display_type = "NONE"
        bones = [bone for bone in rig().data.bones if bone.length > 0.04]
        ends = [(bone.name, tuple(bone.head_local), tuple(bone.tail_local)) for bone in bones]
        add_body(rig(), [Stick(*end, 0.03) for end in ends])
        scene.render.engine, scene.render.use_lock_interface = "BLENDER_WORKBENCH", True
        camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
        camera.location, camera.rotation_euler = (0.0, -3.5, 1.4), (1.5708, 0.0, 0.0)
        scene.collection.objects.link(camera)
        scene.camera = camera
        scene.render.resolution_x, scene.render.resolution_y = 640, 360
        scene.render.filepath = str(path)
        path.unlink(missing_ok=True)
        scene.frame_set(FRAMES[4])
        before = read_arm()
        with self.viewport.context():
            bpy.ops.render.render("INVOKE_DEFAULT", write_still=True)
        yield from wait_until(lambda: path.exists() and not bpy.app.is_job_running("RENDER"))
        check(path.exists(), "The render has written no picture.")
        yield REDRAW
        read_arm().check_same_pose(before, "After the render the arm")
        pixels, (x, y, _) = read_pixels(path), world_to_camera_view(scene, camera, before.wrist)
        row, column = round(360 * y), round(640 * x)
        near = pixels[row - 8 : row + 8, column - 8 : column + 8]
        check(np.abs(near - pixels[0, 0]).max() > 0.05, "The render does not show the wrist.")

    def use_solvers(self) -> Session:
        """Choose every solver, and move the target: the sidebar and the arm follow."""
        solvers = {item.identifier for item in chain().bl_rna.properties["solver"].enum_items}
        check(solvers == set(SOLVERS), f"The solvers are {sorted(solvers)}.")
        for solver in SOLVERS:
            bpy.context.scene.frame_set(FRAMES[0])
            chain().solver = solver
            chain().use_anchor = solver == "FOLLOW"
            yield REDRAW
            before = read_arm()
            bpy.context.scene.frame_set(FRAMES[-1])
            yield REDRAW
            after = read_arm()
            check_moved(after.wrist, before.wrist, 0.05, f"With {solver} the wrist")
            allowed = REACHED if solver in EXACT_SOLVERS else 0.1
            check_near(after.wrist, after.target, allowed, f"{solver}: {after.status}; the wrist")
            self.picture(f"solver_{solver.lower()}")

    def unfold_panels(self) -> Session:
        """Open the file in a new window with all panels of the tab unfolded, with every solver."""
        bpy.ops.wm.read_homefile(use_factory_startup=True)
        yield REDRAW
        unfold()
        yield from self._open_file()
        read_arm().check_same_pose(self.dropped, "In the file that was opened the arm")
        yield from self.viewport.fill_window()
        self.viewport.look(*VIEW)
        name = self.folder / "unfolded"
        solvers = self._solvers()
        yield from shown.show_unfolded(self.viewport, name, islice(solvers, 1), pages=3)
        yield from shown.show_unfolded(self.viewport, name, solvers, pages=1)

    def open_panels(self) -> Session:
        """Open every panel by itself."""
        yield from open_panels(self.viewport, self.folder, self._solvers())

    def open_menus(self) -> Session:
        """Open every menu, and the menus of Blender with entries of the extension."""
        yield from shown.open_menus(self.viewport, self.folder / "menu")

    def see_preferences(self) -> Session:
        """Open the preferences of the extension."""
        yield from self.open_preferences()
        self.picture("preferences")
        yield from self.viewport.turn_into("VIEW_3D")

    def adjust_last_operation(self) -> Session:
        """Run every operator, and open the panel that adjusts it afterwards."""
        yield from self._open_file()
        with self.viewport.context():
            select_bones(rig(), TIP)
        yield from run_operators(self.viewport, self.folder)

    def compare(self) -> Session:
        """Press Compare Solvers and Esc; press it again, and see the ghosts."""
        comparison = bpy.context.window_manager.chain_ik
        start, scenes = read_arm(), len(bpy.data.scenes)
        for is_stopped in (True, False):
            with self.viewport.context():
                select_bones(rig(), TIP)
                bpy.ops.pose.chain_ik_compare("INVOKE_DEFAULT")
            check(self.is_running("compare"), "Compare Solvers does not let the window go on.")
            check(not comparison.solvers, "There are results before any solver is done.")
            if is_stopped:
                yield from self.stop("compare")
                check(not comparison.solvers, "Compare Solvers was stopped, and there are results.")
            yield from self.finish("compare")
            check(len(bpy.data.scenes) == scenes, "Compare Solvers has left a scene.")
            read_arm().check_same_pose(start, "After Compare Solvers the arm")
        check(any(row.is_solved for row in comparison.solvers), "No solver was compared.")
        self.picture("ghosts")
        yield from self.press_button("compare_clear")

    def disable(self) -> Session:
        """Disable the extension: nothing of it remains."""
        bpy.ops.preferences.addon_disable(module=MODULE)
        yield REDRAW
        left = find_added(self.before, list_traces())
        left = {kind: ours for kind in left if (ours := [n for n in left[kind] if "chain_ik" in n])}
        check(not left, f"Switched off, there is still {left}.")
        check(not has_translations(MODULE), "Its translations are still there.")

    def work_without(self) -> Session:
        """Draw, change frames, pose, undo and redo without the extension: there are no errors."""
        for frame in (3, 1):
            bpy.context.scene.frame_set(frame)
            yield REDRAW
        rig().pose.bones[OTHER_BONE].location.x = 0.1
        yield from self.note_step("Pose")
        for is_redone in (False, True):
            yield from self.viewport.undo(is_redone=is_redone)
        check(not hasattr(bpy.types.Object, "chain_ik"), "Objects still have chains.")

    def enable_again(self) -> Session:
        """Enable the extension again: the chain is solved at once, and follows as before."""
        bpy.ops.preferences.addon_enable(module=MODULE)
        yield REDRAW
        yield REDRAW
        start = read_arm()
        start.check_reached("Switched on again, before anything moves,")
        rig().pose.bones[chain().subtarget].location += SHIFT / 4
        yield REDRAW
        after = read_arm()
        check_moved(after.target, start.target, SAME_PLACE, "Switched on again, the target")
        after.check_reached("Switched on again,")
        self.picture("enabled_again")

    def end(self) -> Session:
        """Quit Blender."""
        bpy.ops.wm.quit_blender()
        yield 30.0
        raise SessionError("Blender has not ended when it was told to.")

    def _solvers(self) -> Iterator[str]:
        """Set and yield every solver; set and yield the first one again at the end."""
        for solver in (*SOLVERS, SOLVERS[0]):
            chain().solver = solver
            yield solver

    def _open_file(self) -> Session:
        """Open the saved file in the present window layout."""
        bpy.ops.wm.open_mainfile(filepath=str(self.file), load_ui=False)
        yield REDRAW
