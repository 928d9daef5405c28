"""Rigs with control bones of their own: whatever is set besides them is seen with the next move."""

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.live import live
from tests.blender.setups import rigs
from tests.blender.setups.spoiling import settings_of

LIMB = ((0.0, 0.0, 0.0), (0.1, -0.2, 1.0), (0.0, 0.0, 2.0), (0.1, 0.1, 2.6))
FRAMES = (1, 30)


def make_posed() -> bpy.types.Object:
    """Return a rig whose chain follows a bone, and bends to another; both were moved by hand."""
    ob = rigs.make_rig(LIMB)
    rigs.add_bones(ob, ((0.9, 0.3, 1.2), (0.9, 0.3, 1.5)), prefix="Target")
    rigs.add_bones(ob, ((0.2, -3.0, 1.0), (0.2, -3.0, 1.3)), prefix="Pole")
    chain = rigs.add_chain(ob, "Bone.2", ob)
    chain.subtarget, chain.pole_target, chain.pole_subtarget = "Target.0", ob, "Pole.0"
    for step in range(3):
        drag(ob, step)
    return ob


def drag(ob: bpy.types.Object, step: int) -> None:
    """Move the target's bone by hand, whatever it is called."""
    rigs.change(ob.pose.bones[len(LIMB) - 1], location=(-0.05 * step, 0.02 * step, 0.03 * step))


def settings(ob: bpy.types.Object) -> bpy.types.PropertyGroup:
    return ob.chain_ik.chains[0]


def bend(ob: bpy.types.Object) -> bpy.types.PoseBone:
    return ob.pose.bones["Bone.1"]


def _limit(ob: bpy.types.Object) -> None:
    bend(ob).use_ik_limit_x, bend(ob).ik_min_x, bend(ob).ik_max_x = True, -0.1, 0.1


def _constrain(ob: bpy.types.Object) -> None:
    held = ob.pose.bones["Target.0"].constraints.new("LIMIT_LOCATION")
    held.use_max_x, held.max_x = True, 0.2


def _drive(owner: bpy.types.bpy_struct, path: str) -> None:
    driver = owner.driver_add(path).driver
    driver.type = "SUM"
    variable = driver.variables.new()
    variable.type, (target,) = "TRANSFORMS", variable.targets
    target.id, target.bone_target, target.transform_type = owner.id_data, "Target.0", "LOC_Z"
    target.transform_space = "LOCAL_SPACE"


def _drive_constraint(ob: bpy.types.Object) -> None:
    held = bend(ob).constraints.new("LIMIT_ROTATION")
    held.use_limit_x, held.max_x = True, 0.1
    _drive(held, "influence")


CHANGES: dict[str, Callable[[bpy.types.Object], object]] = {
    "lock": lambda ob: setattr(bend(ob), "lock_ik_x", True),
    "limit": _limit,
    "locked rotation": lambda ob: setattr(bend(ob), "lock_rotation", (True, True, True)),
    "rotation mode": lambda ob: setattr(bend(ob), "rotation_mode", "XYZ"),
    "inherit": lambda ob: setattr(ob.data.bones["Bone.1"], "use_inherit_rotation", False),
    "influence": lambda ob: setattr(settings(ob), "influence", 0.4),
    "target": lambda ob: setattr(settings(ob), "subtarget", "Pole.0"),
    "constraint": _constrain,
    "rename": lambda ob: setattr(ob.data.bones["Target.0"], "name", "Renamed"),
    "fewer bones": lambda ob: setattr(settings(ob), "chain_count", 2),
    "scale": lambda ob: setattr(ob.pose.bones["Bone.0"], "scale", (1.0, 1.3, 1.0)),
    "moved": lambda ob: setattr(ob, "location", (0.5, 0.2, 0.1)),
    "driver": lambda ob: _drive(ob, "chain_ik.chains[0].influence"),
    "driver of a constraint": _drive_constraint,
    "keyed lock": lambda ob: rigs.key(ob, 'pose.bones["Bone.1"].lock_ik_x', {1: False, 5: True}),
}
BY_HAND = [name for name in CHANGES if not name.startswith("keyed")]


def shown(ob: bpy.types.Object, frame: float) -> np.ndarray:
    return rigs.pose(ob, rigs.go_to(frame))


def assert_shown_as_if_new(
    ob: bpy.types.Object, frame: int | None = None, found: np.ndarray | None = None
) -> None:
    """Fail unless the pose, or a frame, is what it is to somebody who knows nothing yet."""
    found = rigs.pose(ob) if found is None else found
    live.memory.clear()
    rigs.tagged(ob)
    np.testing.assert_allclose(
        found, rigs.pose(ob) if frame is None else shown(ob, frame), atol=1e-5
    )


# Settings by which no chain is solved, or that report a change by themselves; then those that are
# constraints of a control; then those of a body: which bone is its root, what feet are planted on.
BOOKS = {"active_index", "active_joint_index", "filled_paths", "format", "is_control"}
BOOKS |= {"seen_bones", "stored_pose", "space", "pole_space", "root", "held_root", "floor"}
UNSEEN = ("rotation mode", "moved", "rename")


@pytest.mark.parametrize("change", BY_HAND)
def test_what_is_set_by_hand_is_seen_with_the_next_move(change: str) -> None:
    ob = make_posed()
    drag(ob, 5)
    unchanged = rigs.pose(ob)
    drag(ob, 2)
    CHANGES[change](ob)
    drag(ob, 5)
    assert np.abs(rigs.pose(ob) - unchanged).max() > 1e-6 or change in UNSEEN
    assert_shown_as_if_new(ob)


def test_blender_tells_settings_from_poses() -> None:
    """It says that the object has moved: on that rests what a dragged control has us read."""
    ob, told = make_posed(), []
    settings(ob).joints.add().bone = "Bone.1"

    def note(_scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph) -> None:
        listed = [each for each in depsgraph.updates if each.id.original == bpy.data.objects["Rig"]]
        told.append(bool(listed) and all(each.is_updated_transform for each in listed))

    rigs.updated()
    places = [each for each in settings_of("Rig", "chain_ik") if each.name not in BOOKS]
    assert len(places) > 60
    bpy.app.handlers.depsgraph_update_post.insert(0, note)
    for place in places:
        told.clear()
        place.set(place.get())
        rigs.updated()
        # Blender gives each group of settings a name, too, that nobody sees.
        assert told[:1] == [True] or place.name == "name", place
    told.clear()
    drag(ob, 7)
    assert told[:1] == [False]


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_script_sets_as_a_frame_begins_is_seen_at_that_frame(change: str) -> None:
    ob = make_posed()
    for bone, way in (("Target.0", (-0.8, 0.2, 0.3)), ("Pole.0", (1.5, 0.0, 0.4))):
        places = {frame: np.multiply(way, frame / FRAMES[1]) for frame in FRAMES}
        rigs.key(ob.pose.bones[bone], "location", places)
    for frame in (1, 2, 3):
        rigs.go_to(frame)
    before = shown(ob, 6)
    shown(ob, 5)

    def set_at(scene: bpy.types.Scene, _depsgraph: object = None) -> None:
        if scene.frame_current == 6:
            CHANGES[change](bpy.data.objects["Rig"])

    bpy.app.handlers.frame_change_pre.append(set_at)
    found = shown(ob, 6)
    bpy.app.handlers.frame_change_pre.remove(set_at)
    assert np.abs(found - before).max() > 1e-6 or change in UNSEEN
    after = shown(ob, 7)
    assert_shown_as_if_new(ob, 7, after)
    assert_shown_as_if_new(ob, 6, found)
