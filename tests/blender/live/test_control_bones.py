"""Rigs that contain their control bones: the next move uses each setting changed meanwhile."""

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.live import live
from tests.blender.setups import rigs, ties
from tests.blender.setups.spoiling import settings_of

LIMB = ((0.0, 0.0, 0.0), (0.1, -0.2, 1.0), (0.0, 0.0, 2.0), (0.1, 0.1, 2.6))
FRAMES = (1, 30)


def make_posed() -> bpy.types.Object:
    """Return a rig whose chain follows a bone and bends to another; the target has been dragged."""
    ob = rigs.make_rig(LIMB)
    rigs.add_bones(ob, ((0.9, 0.3, 1.2), (0.9, 0.3, 1.5)), prefix="Target")
    rigs.add_bones(ob, ((0.2, -3.0, 1.0), (0.2, -3.0, 1.3)), prefix="Pole")
    chain = rigs.add_chain(ob, "Bone.2", ob)
    chain.subtarget, chain.pole_target, chain.pole_subtarget = "Target.0", ob, "Pole.0"
    for step in range(3):
        drag(ob, step)
    return ob


def drag(ob: bpy.types.Object, step: int) -> None:
    """Move the target bone as a user does, whatever its name."""
    rigs.change(ob.pose.bones[len(LIMB) - 1], location=(-0.05 * step, 0.02 * step, 0.03 * step))


def first_chain(ob: bpy.types.Object) -> bpy.types.PropertyGroup:
    return ob.chain_ik.chains[0]


def elbow(ob: bpy.types.Object) -> bpy.types.PoseBone:
    return ob.pose.bones["Bone.1"]


def _limit(ob: bpy.types.Object) -> None:
    elbow(ob).use_ik_limit_x, elbow(ob).ik_min_x, elbow(ob).ik_max_x = True, -0.1, 0.1


def _drive_constraint(ob: bpy.types.Object) -> None:
    constraint = ties.constrain(elbow(ob), "LIMIT_ROTATION", use_limit_x=True, max_x=0.1)
    ties.drive(constraint, "influence", ob, "LOC_Z", bone="Target.0")


CHANGES: dict[str, Callable[[bpy.types.Object], object]] = {
    "lock": lambda ob: setattr(elbow(ob), "lock_ik_x", True),
    "limit": _limit,
    "locked rotation": lambda ob: setattr(elbow(ob), "lock_rotation", (True, True, True)),
    "rotation mode": lambda ob: setattr(elbow(ob), "rotation_mode", "XYZ"),
    "inherit": lambda ob: setattr(ob.data.bones["Bone.1"], "use_inherit_rotation", False),
    "influence": lambda ob: setattr(first_chain(ob), "influence", 0.4),
    "target": lambda ob: setattr(first_chain(ob), "subtarget", "Pole.0"),
    "constraint": lambda ob: ties.constrain(
        ob.pose.bones["Target.0"], "LIMIT_LOCATION", use_max_x=True, max_x=0.2
    ),
    "rename": lambda ob: setattr(ob.data.bones["Target.0"], "name", "Renamed"),
    "fewer bones": lambda ob: setattr(first_chain(ob), "chain_count", 2),
    "scale": lambda ob: setattr(ob.pose.bones["Bone.0"], "scale", (1.0, 1.3, 1.0)),
    "moved": lambda ob: setattr(ob, "location", (0.5, 0.2, 0.1)),
    "driver": lambda ob: ties.drive(first_chain(ob), "influence", ob, "LOC_Z", bone="Target.0"),
    "driver of a constraint": _drive_constraint,
    "keyed lock": lambda ob: rigs.key(ob, 'pose.bones["Bone.1"].lock_ik_x', {1: False, 5: True}),
}


def pose_at(ob: bpy.types.Object, frame: float) -> np.ndarray:
    return rigs.pose(ob, rigs.go_to(frame))


def assert_same_without_memory(
    ob: bpy.types.Object, frame: int | None = None, pose: np.ndarray | None = None
) -> None:
    """Check that a pose, now or at a frame, is the same when nothing is remembered."""
    pose = rigs.pose(ob) if pose is None else pose
    live.memory.clear()
    rigs.tagged(ob)
    np.testing.assert_allclose(
        pose, rigs.pose(ob) if frame is None else pose_at(ob, frame), atol=1e-5
    )


# Settings that no solve reads, or that report changes themselves; constraints of a control; and
# settings of a body: its root, and the floor that its feet are planted on.
IGNORED = {"active_index", "active_joint_index", "filled_paths", "format", "is_control"}
IGNORED |= {
    "seen_bones",
    "seen_chains",
    "seen_poses",
    "stored_pose",
    "space",
    "pole_space",
    "root",
    "held_root",
    "floor",
}
WITHOUT_EFFECT = ("rotation mode", "moved", "rename")


@pytest.mark.parametrize("change", [name for name in CHANGES if not name.startswith("keyed")])
def test_what_is_set_by_hand_is_seen_with_the_next_move(change: str) -> None:
    ob = make_posed()
    drag(ob, 5)
    unchanged = rigs.pose(ob)
    drag(ob, 2)
    CHANGES[change](ob)
    drag(ob, 5)
    assert np.abs(rigs.pose(ob) - unchanged).max() > 1e-6 or change in WITHOUT_EFFECT
    assert_same_without_memory(ob)


def test_blender_tells_settings_from_poses() -> None:
    """The object counts as moved after a setting, not after a drag: so a drag reads no settings."""
    ob, are_moves = make_posed(), []
    first_chain(ob).joints.add().bone = "Bone.1"

    def note(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
        listed = [item for item in depsgraph.updates if item.id.original == bpy.data.objects["Rig"]]
        are_moves.append(bool(listed) and all(item.is_updated_transform for item in listed))

    rigs.updated()
    settings = [one for one in settings_of("Rig", "chain_ik") if one.name not in IGNORED]
    assert len(settings) > 60
    bpy.app.handlers.depsgraph_update_post.insert(0, note)
    for setting in settings:
        are_moves.clear()
        setting.set(setting.get())
        rigs.updated()
        # Every group of settings also has a hidden name of Blender's.
        assert are_moves[:1] == [True] or setting.name == "name", setting
    are_moves.clear()
    drag(ob, 7)
    assert are_moves[:1] == [False]


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_script_sets_as_a_frame_begins_is_seen_at_that_frame(change: str) -> None:
    ob = make_posed()
    for bone, end in (("Target.0", (-0.8, 0.2, 0.3)), ("Pole.0", (1.5, 0.0, 0.4))):
        places = {frame: np.multiply(end, frame / FRAMES[1]) for frame in FRAMES}
        rigs.key(ob.pose.bones[bone], "location", places)
    for frame in (1, 2, 3):
        rigs.go_to(frame)
    before = pose_at(ob, 6)
    pose_at(ob, 5)

    def set_at(scene: bpy.types.Scene, _depsgraph: object = None) -> None:
        if scene.frame_current == 6:
            CHANGES[change](bpy.data.objects["Rig"])

    bpy.app.handlers.frame_change_pre.append(set_at)
    after = pose_at(ob, 6)
    bpy.app.handlers.frame_change_pre.remove(set_at)
    assert np.abs(after - before).max() > 1e-6 or change in WITHOUT_EFFECT
    next_pose = pose_at(ob, 7)
    assert_same_without_memory(ob, 7, next_pose)
    assert_same_without_memory(ob, 6, after)
