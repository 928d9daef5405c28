"""A day in Blender's window: set up, pose, switch, mirror, bake, convert, render.

    BLENDER_USER_RESOURCES=$(mktemp -d) blender --factory-startup --enable-event-simulate \
        --python scripts/window/workflow_tour.py -- dist/chain_ik-*.zip out/workflow

Every step leaves a picture in the folder; those of docs/workflow.md are made so. The exit code is
1, after a sentence, if something pops, misses or is lost. It needs what window_tour.py needs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import bpy
import numpy as np
from bpy_extras.object_utils import world_to_camera_view
from mathutils import Vector

# Blender puts the folder of a script that it runs on no path.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from window.driver import REDRAW, Session, Viewport, check, play, read_paths, select_bones
from window.opening import RIG, add_metarig, install, show_tab

LIMBS = {"Arm.L", "Arm.R", "Leg.L", "Leg.R", "Toe.L", "Toe.R", "Spine", "Neck"}
FRAMES, TO_FK, TO_IK = range(1, 41), 16, 28
# Metres, and what matrices of bones may differ by.
REACHED = 2e-5
SAME = 1e-4
VIEW = Vector((0.55, -0.2, 0.95)), 4.0, (1.35, 0.0, 0.65)


def rig() -> bpy.types.Object:
    """Return the character. By name: undo replaces all references."""
    return bpy.data.objects[RIG]


def pose() -> np.ndarray:
    """Return the matrices of all bones as Blender has evaluated them, shape (n, 4, 4)."""
    evaluated = rig().evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([bone.matrix for bone in evaluated.pose.bones])


def poses(frames: Iterable[int]) -> np.ndarray:
    """Return those of all bones at frames that are played in order, shape (f, n, 4, 4)."""
    found = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        found.append(pose())
    return np.array(found)


def give_bodies(armature_object: bpy.types.Object) -> None:
    """Hang a wedge on each long bone, as armatures are not rendered."""
    for bone in armature_object.data.bones:
        if bone.length < 0.04:
            continue
        mesh, wide = bpy.data.meshes.new(bone.name), 0.12 * bone.length
        corners = [(x, -bone.length, z) for x, z in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
        points = [(wide * x, y, wide * z) for x, y, z in corners]
        faces = [(0, 1, 2, 3), *((i, (i + 1) % 4, 4) for i in range(4))]
        mesh.from_pydata([*points, (0.0, 0.0, 0.0)], [], faces)
        body = bpy.data.objects.new(bone.name, mesh)
        bpy.context.scene.collection.objects.link(body)
        # Children of bones start at their tails.
        body.parent, body.parent_type, body.parent_bone = armature_object, "BONE", bone.name


def check_rendered(path: Path, scene: bpy.types.Scene, place: Vector) -> None:
    """Check that a render shows something where a point of the scene is."""
    image = bpy.data.images.load(str(path))
    (width, height), (x, y, _) = image.size, world_to_camera_view(scene, scene.camera, place)
    pixels = np.array(image.pixels).reshape(height, width, -1)
    bpy.data.images.remove(image)
    drawn = np.abs(pixels - pixels[0, 0]).max(axis=2) > 0.05
    row, column = round(height * y), round(width * x)
    near = drawn[row - 8 : row + 8, column - 8 : column + 8]
    check(near.any(), f"{path.name} shows nothing where {tuple(place)} is.")


def check_reached(when: str) -> None:
    """Check that every chain that is not muted says that it has arrived."""
    for chain in rig().chain_ik.chains:
        check(
            chain.mute or chain.influence == 0.0 or chain.status.startswith("Reached"),
            f"{when}, {chain.name}: {chain.status}",
        )


class Day:
    """The session; every method is something that people do all day."""

    def __init__(self, zip_path: Path, folder: Path) -> None:
        self.zip_path, self.folder = zip_path, folder
        self.viewport = Viewport()

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        yield from self.begin()
        yield from self.set_up()
        yield from self.pose_hand()
        yield from self.turn_by_hand()
        yield from self.switch()
        yield from self.mirror()
        yield from self.bake()
        yield from self.convert()
        yield from self.render()
        print(f"The day passed; pictures are in {self.folder}.")

    def begin(self) -> Session:
        """Install the zip, and add Rigify's human metarig."""
        yield from install(self.viewport, self.zip_path, 1.2)
        yield from add_metarig(self.viewport, VIEW)
        yield from show_tab(self.viewport)

    def set_up(self) -> Session:
        """Press Set Up Limbs."""
        before = pose()
        with self.viewport.context():
            bpy.ops.pose.chain_ik_setup("INVOKE_DEFAULT", True)
            bpy.ops.object.mode_set(mode="POSE")
        yield REDRAW
        names = {chain.name for chain in rig().chain_ik.chains}
        check(names == LIMBS, f"Set up {sorted(names)}.")
        count = len(before)
        check(np.abs(pose()[:count] - before).max() <= SAME, "Setting up has moved the pose.")
        check_reached("After the set-up")
        self.picture("1_set_up")

    def pose_hand(self) -> Session:
        """Click the left hand's control, press G and move the mouse; key it at two frames."""
        chain = rig().chain_ik.chains["Arm.L"]
        with self.viewport.context():
            select_bones(rig(), chain.subtarget)
            bpy.ops.ed.undo_push(message="Select")
        yield REDRAW
        active = rig().chain_ik.chains[rig().chain_ik.active_index].name
        check(active == "Arm.L", f"The click made {active} the active chain.")
        self.key_target(FRAMES[0])
        start = self.target_place()
        (x, y), (x_end, y_end) = map(self.viewport.pixel_of, (start, start + Vector((0, 0, 0.35))))
        yield from self.viewport.drag([(x, y)], button="")
        self.viewport.press("G")
        yield from self.viewport.drag([(x, y), (x_end, y_end)], button="")
        self.viewport.press("LEFTMOUSE")
        yield REDRAW
        check((self.target_place() - start).length > 0.2, "The mouse has not moved the control.")
        check_reached("After the drag")
        self.key_target(FRAMES[-1])
        self.picture("2_posed")

    def turn_by_hand(self) -> Session:
        """Press R on the forearm, which a chain poses: it goes back, and the status says why."""
        with self.viewport.context():
            select_bones(rig(), "forearm.L")
        x, y = self.viewport.pixel_of(rig().pose.bones["forearm.L"].tail)
        yield from self.viewport.drag([(x, y)], button="")
        self.viewport.press("R")
        yield from self.viewport.drag([(x, y + 40), (x - 30, y + 80)], button="")
        self.viewport.press("LEFTMOUSE")
        yield REDRAW
        status = rig().chain_ik.chains["Arm.L"].status
        check(status.startswith("This chain poses forearm.L"), status)
        self.picture("3_turned_by_hand")

    def switch(self) -> Session:
        """In the middle of the shot switch to FK, pose a bone, and switch back."""
        before = poses(FRAMES)
        rig().chain_ik.active_index = rig().chain_ik.chains.find("Arm.L")
        bpy.context.scene.frame_set(TO_FK)
        with self.viewport.context():
            bpy.ops.pose.chain_ik_switch("INVOKE_DEFAULT", True, to="FK")
        yield REDRAW
        played = poses(range(FRAMES[0], TO_FK + 1))
        worst = np.abs(played - before[: len(played)]).max()
        check(worst <= SAME, f"Up to the switch to FK the pose differs by {worst:.2g}.")
        bpy.context.scene.frame_set(TO_IK - 4)
        forearm = rig().pose.bones["forearm.L"]
        forearm.rotation_mode = "QUATERNION"
        forearm.rotation_quaternion.rotate(Vector((1, 0, 0)).rotation_difference((0.9, 0.3, 0.3)))
        forearm.keyframe_insert("rotation_quaternion")
        yield REDRAW
        bpy.context.scene.frame_set(TO_IK)
        posed = pose()
        with self.viewport.context():
            bpy.ops.pose.chain_ik_switch("INVOKE_DEFAULT", True, to="IK")
        yield REDRAW
        arm = [rig().pose.bones.find(name) for name in ("upper_arm.L", "forearm.L", "hand.L")]
        worst = np.abs(pose()[arm] - posed[arm]).max()
        check(worst <= SAME, f"The switch to IK has moved the arm by {worst:.2g}.")
        check_reached("After the switch to IK")
        self.picture("4_switched")

    def mirror(self) -> Session:
        """Remove the right arm's chain with its controls, and mirror the left one."""
        rig().chain_ik.active_index = rig().chain_ik.chains.find("Arm.R")
        with self.viewport.context():
            bpy.ops.pose.chain_ik_remove(delete_controls=True)
            rig().chain_ik.active_index = rig().chain_ik.chains.find("Arm.L")
            bpy.ops.pose.chain_ik_mirror("INVOKE_DEFAULT", True)
        yield REDRAW
        names = {chain.name for chain in rig().chain_ik.chains}
        check(names == LIMBS, f"Mirrored: {sorted(names)}.")
        check_reached("After mirroring")
        self.picture("5_mirrored")

    def bake(self) -> Session:
        """Bake all chains; what plays is the same."""
        before = poses(FRAMES)
        with self.viewport.context():
            bpy.ops.pose.chain_ik_bake(
                which="ALL", frame_start=FRAMES[0], frame_end=FRAMES[-1], mute=True
            )
        yield REDRAW
        worst = np.abs(poses(FRAMES) - before).max()
        check(worst <= SAME, f"Baked, the pose differs by {worst:.2g}.")
        check(all(chain.mute for chain in rig().chain_ik.chains), "Not all chains are muted.")
        self.picture("6_baked")

    def convert(self) -> Session:
        """Put Blender's IK on the arm of another character, and convert it."""
        with self.viewport.context():
            bpy.ops.object.mode_set(mode="OBJECT")
            rig().hide_set(True)
            bpy.ops.object.armature_human_metarig_add()
            other = bpy.context.active_object
            other.name = "With Blender's IK"
            target = bpy.data.objects.new("Target", None)
            bpy.context.scene.collection.objects.link(target)
            target.empty_display_size = 0.05
            constraint = other.pose.bones["forearm.L"].constraints.new("IK")
            constraint.target, constraint.chain_count = target, 2
            target.location = (0.55, -0.1, 1.45)
            bpy.ops.object.mode_set(mode="POSE")
        yield REDRAW
        before = self.wrist(other.name)
        with self.viewport.context():
            bpy.ops.pose.chain_ik_convert(direction="TO_CHAINS", use_all=True)
        yield REDRAW
        moved = (self.wrist("With Blender's IK") - before).length
        check(moved <= 1e-3, f"Converted, the wrist is {moved:.2g} m off.")
        self.picture("7_converted")

    def render(self) -> Session:
        """Give the bones bodies, and render a frame: the chain is solved there too."""
        scene, name = bpy.context.scene, "With Blender's IK"
        give_bodies(bpy.data.objects[name])
        scene.render.engine = "BLENDER_WORKBENCH"
        camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
        camera.location, camera.rotation_euler = (0.0, -3.5, 1.0), (1.5708, 0.0, 0.0)
        scene.collection.objects.link(camera)
        scene.camera = camera
        scene.render.resolution_x, scene.render.resolution_y = 640, 360
        path = str(self.folder / "8_rendered.png")
        scene.render.filepath = path
        before = self.wrist(name)
        bpy.ops.render.render(write_still=True)
        yield REDRAW
        moved = (self.wrist(name) - before).length
        check(moved <= SAME, f"The render has moved the wrist by {moved:.2g} m.")
        check_rendered(Path(path), scene, before)

    def wrist(self, name: str) -> Vector:
        """Return where the left forearm of a character ends, world space."""
        ob = bpy.data.objects[name].evaluated_get(bpy.context.evaluated_depsgraph_get())
        return ob.matrix_world @ ob.pose.bones["forearm.L"].tail

    def target_place(self) -> Vector:
        """Return where the control of the left hand is, world space."""
        bone = rig().chain_ik.chains["Arm.L"].subtarget
        return rig().matrix_world @ rig().pose.bones[bone].head

    def key_target(self, frame: int) -> None:
        """Key the control of the left hand as it stands."""
        bone = rig().pose.bones[rig().chain_ik.chains["Arm.L"].subtarget]
        bone.keyframe_insert("location", frame=frame)
        bone.keyframe_insert("rotation_quaternion", frame=frame)

    def picture(self, name: str) -> None:
        """Take the picture of a step."""
        self.viewport.take_picture(self.folder / f"{name}.png")
        print(name)


def main() -> None:
    """Read the arguments and start the session."""
    play(Day(*read_paths("the zip, a folder for pictures")).steps())


if __name__ == "__main__":
    main()
