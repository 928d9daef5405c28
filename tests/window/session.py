"""One session in Blender's window: install the zip, use all of it, switch it off, end Blender.

Started by conftest.py inside the application, with the zip and a folder for results and pictures
after ``--``. Each step is one method; test_window.py says what went wrong in which.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

import bpy
from mathutils import Vector

# Blender puts none of these on its path.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from everything import open_panels, open_preferences, run_operators
from recorder import Recorder, flush, mark
from rendered import check_rendered, give_bodies
from steps import SOLVERS, STEPS

from tests.blender.live.traces import has_translations, left_behind, list_traces
from window import shown
from window.driver import (
    MOMENT,
    REDRAW,
    Session,
    SessionError,
    check,
    play,
    read_arguments,
    select_bones,
    wait_until,
)
from window.tour import MODULE, RIG
from window.tours import arm
from window.tours.arm import REACHED, SAME_PLACE, read_arm

# Eleven: three frames are played between two looks, which would meet the same ones of twelve.
FRAMES, PLAYED, LOOKED_AT = range(1, 12), 8, 5
# In no chain.
OTHER_BONE = "spine"
SHIFT = Vector((-0.1, 0.1, 0.15))
# Force comes to rest between springs, Follow drags: neither has to arrive.
ARRIVING = ("TWO_BONE", "NEWTON", "FABRIK", "CCD")


class WindowSession(arm.Steps):
    """The session; every method is a step, and so are those of the tour of the arm."""

    ui_scale = 1.0

    def __init__(self, zip_path: Path, folder: Path) -> None:
        super().__init__(zip_path, folder)
        self.recorder = Recorder(self.viewport, folder)
        self.file = folder / "session.blend"
        self.before = list_traces()

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        named: dict[str, Callable[[], Session]] = {
            f"switch_to_{solver.lower()}": partial(self.switch_to, solver) for solver in SOLVERS
        }
        for name in STEPS:
            step = named.get(name) or getattr(self, name)
            yield from self.recorder.record(name, step())
        mark("end")
        flush()
        bpy.ops.wm.quit_blender()
        yield 30.0
        raise SessionError("Blender has not ended when it was told to.")

    def install(self) -> Session:
        """Install the zip from disk."""
        yield from super().install()
        left = left_behind(self.before, list_traces())
        check("classes" in left and "handlers" in left, f"Installed, there is only {left}.")

    def save(self) -> Session:
        """Save the file."""
        with self.viewport.context():
            bpy.ops.wm.save_as_mainfile(filepath=str(self.file))
        yield MOMENT
        check(self.file.stat().st_size > 0, "The saved file is empty.")
        check(not bpy.data.is_dirty, "Blender does not count the file as saved.")

    def reopen(self) -> Session:
        """Move the target, and open the file that was saved: the pose is as it was."""
        saved = read_arm()
        yield from self.move_target()
        bpy.ops.wm.open_mainfile(filepath=str(self.file))
        yield REDRAW
        read_arm().check_same_pose(saved, "After the file was opened")
        yield from self.move_target()
        read_arm().check_reached("In the file that was opened")

    def play(self) -> Session:
        """Key the target, play, and compare with frames that are jumped to."""
        rig = bpy.data.objects[RIG]
        control = rig.pose.bones[rig.chain_ik.chains[0].subtarget]
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
        played, looked = set(), set()

        def on_frame(scene: bpy.types.Scene, *_graph: object) -> None:
            # Looks at moments may meet the same few frames again and again.
            played.add(scene.frame_current)

        bpy.app.handlers.frame_change_post.append(on_frame)
        for _ in range(60):
            yield MOMENT
            frame = scene.frame_current
            looked.add(frame)
            read_arm().check_same_pose(expected[frame], f"Played, at frame {frame},")
            if len(played) >= PLAYED and len(looked) >= LOOKED_AT:
                break
        with self.viewport.context():
            bpy.ops.screen.animation_cancel(restore_frame=False)
        bpy.app.handlers.frame_change_post.remove(on_frame)
        yield REDRAW
        check(len(played) >= PLAYED, f"Only the frames {sorted(played)} were played.")
        check(len(looked) >= LOOKED_AT, f"Only the frames {sorted(looked)} were looked at.")

    def render(self) -> Session:
        """Press F12: the frame is rendered beside the window, and shows the arm where it is."""
        scene = bpy.context.scene
        bpy.context.preferences.view.render_display_type = "NONE"
        give_bodies(bpy.data.objects[RIG])
        scene.render.engine, scene.render.use_lock_interface = "BLENDER_WORKBENCH", True
        camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
        camera.location, camera.rotation_euler = (0.0, -3.5, 1.4), (1.5708, 0.0, 0.0)
        scene.collection.objects.link(camera)
        scene.camera = camera
        scene.render.resolution_x, scene.render.resolution_y = 640, 360
        path = self.folder / "rendered.png"
        scene.render.filepath = str(path)
        path.unlink(missing_ok=True)
        scene.frame_set(FRAMES[4])
        before = read_arm()
        with self.viewport.context():
            bpy.ops.render.render("INVOKE_DEFAULT", write_still=True)
        yield from wait_until(lambda: path.exists() and not bpy.app.is_job_running("RENDER"))
        check(path.exists(), "The render has written no picture.")
        yield REDRAW
        read_arm().check_same_pose(before, "After the render")
        check_rendered(path, scene, before.wrist)

    def switch_to(self, solver: str) -> Session:
        """Choose a solver, and move the target: the sidebar and the arm follow."""
        chain = bpy.data.objects[RIG].chain_ik.chains[0]
        found = {item.identifier for item in chain.bl_rna.properties["solver"].enum_items}
        check(found == set(SOLVERS), f"The solvers are {sorted(found)}.")
        bpy.context.scene.frame_set(FRAMES[0])
        chain.solver = solver
        if solver == "FOLLOW":
            chain.use_anchor = True
        yield REDRAW
        before = read_arm()
        bpy.context.scene.frame_set(FRAMES[-1])
        yield REDRAW
        after = read_arm()
        moved = (after.wrist - before.wrist).length
        check(moved > 0.05, f"With {solver} the wrist has moved by {moved:.2g} m only.")
        gap = (after.wrist - after.target).length
        allowed = REACHED if solver in ARRIVING else 0.1
        check(gap <= allowed, f"{solver} leaves {gap:.2g} m: {after.status}")

    def unfold_panels(self) -> Session:
        """Open the file in a fresh window, every panel of the tab unfolded, with every solver."""
        bpy.ops.wm.read_homefile(use_factory_startup=True)
        yield REDRAW
        shown.unfold()
        bpy.ops.wm.open_mainfile(filepath=str(self.file), load_ui=False)
        yield REDRAW
        yield from self.viewport.fill_window()
        self.viewport.look(*arm.VIEW)
        name = self.folder / "unfolded"
        solvers = self.solvers()
        yield from shown.show_unfolded(self.viewport, name, islice(solvers, 1), most=3)
        yield from shown.show_unfolded(self.viewport, name, solvers, most=1)

    def open_panels(self) -> Session:
        """Open every panel on its own."""
        yield from open_panels(self.viewport, self.folder, self.solvers())

    def open_menus(self) -> Session:
        """Open every menu, and those of Blender that the extension adds to."""
        yield from shown.open_menus(self.viewport, self.folder / "menu")

    def open_preferences(self) -> Session:
        """Open the preferences of the extension."""
        yield from open_preferences(self.viewport, self.folder)

    def adjust_last_operation(self) -> Session:
        """Run every operator, and open what can be adjusted afterwards."""
        bpy.ops.wm.open_mainfile(filepath=str(self.file), load_ui=False)
        yield REDRAW
        with self.viewport.context():
            select_bones(bpy.data.objects[RIG], "forearm.L")
        yield from run_operators(self.viewport, self.folder)

    def compare(self) -> Session:
        """Press Compare Solvers and Esc; press it again, and see the ghosts it leaves."""
        kept = bpy.context.window_manager.chain_ik
        start, scenes = read_arm(), len(bpy.data.scenes)
        for is_stopped in (True, False):
            with self.viewport.context():
                select_bones(bpy.data.objects[RIG], "forearm.L")
                bpy.ops.pose.chain_ik_compare("INVOKE_DEFAULT")
            check(self.is_running("compare"), "Compare Solvers does not let the window go on.")
            check(not kept.solvers, "There are results before any solver is done.")
            if is_stopped:
                self.viewport.press("ESC")
                yield REDRAW
                check(not self.is_running("compare"), "Esc has not stopped Compare Solvers.")
                check(not kept.solvers, "Compare Solvers was stopped, and there are results.")
            yield from wait_until(lambda: not self.is_running("compare"))
            check(len(bpy.data.scenes) == scenes, "Compare Solvers has left a scene.")
            read_arm().check_same_pose(start, "After Compare Solvers")
        check(any(row.is_solved for row in kept.solvers), "No solver was compared.")
        self.viewport.take_picture(self.folder / "ghosts.png")
        with self.viewport.context():
            bpy.ops.pose.chain_ik_compare_clear()
        yield REDRAW

    def disable(self) -> Session:
        """Switch the extension off: nothing of it is left."""
        bpy.ops.preferences.addon_disable(module=MODULE)
        yield REDRAW
        left = left_behind(self.before, list_traces())
        left = {kind: ours for kind in left if (ours := [n for n in left[kind] if "chain_ik" in n])}
        check(not left, f"Switched off, there is still {left}.")
        check(not has_translations(MODULE), "Its translations are still there.")

    def go_on_without(self) -> Session:
        """Draw, change frames, pose, undo and redo without the extension: nobody misses it."""
        scene = bpy.context.scene
        for frame in (3, 1):
            scene.frame_set(frame)
            yield REDRAW
        with self.viewport.context():
            bpy.data.objects[RIG].pose.bones[OTHER_BONE].location.x = 0.1
            bpy.ops.ed.undo_push(message="Pose")
        for is_redone in (False, True):
            yield from self.viewport.undo(is_redone=is_redone)
        check(not hasattr(bpy.types.Object, "chain_ik"), "Objects still have chains.")

    def enable_again(self) -> Session:
        """Switch the extension on again: the chain is solved at once, and follows as before."""
        bpy.ops.preferences.addon_enable(module=MODULE)
        yield REDRAW
        yield REDRAW
        read_arm().check_reached("Switched on again, before anything moves,")
        said = bpy.data.objects[RIG].chain_ik.chains[0].status
        check(not said.startswith("Not solved"), f"Switched on again, the chain says: {said}")
        yield from self.move_target()
        read_arm().check_reached("Switched on again,")

    def solvers(self) -> Iterator[str]:
        """Yield each solver, set; the first once more at the end, which leaves it set."""
        for solver in (*SOLVERS, SOLVERS[0]):
            bpy.data.objects[RIG].chain_ik.chains[0].solver = solver
            yield solver

    def move_target(self) -> Session:
        """Move the control bone a little, and see that it has moved."""
        start = read_arm().target
        rig = bpy.data.objects[RIG]
        rig.pose.bones[rig.chain_ik.chains[0].subtarget].location += SHIFT / 4
        yield REDRAW
        moved = (read_arm().target - start).length
        check(moved > SAME_PLACE, "The target does not move.")


def main() -> None:
    """Read the arguments and start the session."""
    zip_path, folder = read_arguments("the zip, a folder")
    play(WindowSession(Path(zip_path), Path(folder)).steps())


if __name__ == "__main__":
    main()
