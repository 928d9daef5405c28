"""Changed settings, joints, lists, undo, files and copies: no chain is solved with an old plan."""

from math import radians

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, warm_rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.selecting import select_objects
from tests.blender.setups.warm_rigs import (
    OTHER,
    RIG,
    assert_followed,
    assert_fresh,
    chain,
    follow,
    named,
)

# Many short tests: too slow together for the quick ones.
pytestmark = pytest.mark.slow


def make_pole():
    return rigs.make_empty("Pole", (0.9, -1.1, 0.4))


def get_handle():
    ob = named("Handle") if "Handle" in bpy.data.objects else rigs.make_armature("Handle")
    if not ob.data.bones:
        rigs.add_bones(ob, ((0.5, 0.4, 0.8), (0.5, 0.4, 1.0), (0.3, 0.5, 1.2)), prefix="Handle")
    return ob


# New value, other settings without which it has no effect, and whether the target is still reached.
SETTINGS = {
    "mute": (True, {}, False),
    "influence": (0.3, {}, False),
    "bone": ("Bone.1", {}, False),
    "chain_count": (2, {}, True),
    "solver": ("CCD", {}, True),
    "target": (lambda: rigs.make_empty("New", (-0.5, 0.3, 1.1)), {}, False),
    "subtarget": ("Handle.1", {"target": get_handle, "subtarget": "Handle.0"}, False),
    "pole_target": (make_pole, {}, True),
    "pole_subtarget": ("Handle.1", {"pole_target": get_handle, "pole_subtarget": "Handle.0"}, True),
    "pole_angle": (radians(70.0), {"pole_target": make_pole}, True),
    "use_flip_bend": (True, {}, True),
    "negative_scale": ("KEEP", {}, True),
    "use_tail": (False, {}, False),
    "use_rotation": (True, {}, True),
    "orient_weight": (0.4, {"use_rotation": True}, True),
    "iterations": (1, {"solver": "CCD"}, False),
    "tolerance": (0.2, {"solver": "CCD"}, False),
    "start_from": ("REST", {}, True),
}
BALL = {"kind": "BALL", "x": (-20, 20), "y": (-20, 20), "z": (-20, 20)}
# Settings of a joint of Bone.1: new value, and the joint before.
JOINTS = {
    "bone": ("Bone.2", {"kind": "FIXED"}),
    "kind": ("HINGE_X", BALL),
    "relative_to": ("PARENT", BALL),
    "use_limit_x": (False, BALL),
    "min_x": (radians(15.0), BALL),
    "max_x": (radians(-15.0), BALL),
    "use_limit_y": (False, {"kind": "BALL", "y": (20, 40)}),
    "min_y": (radians(30.0), {"kind": "BALL", "y": (20, 40)}),
    "max_y": (radians(-35.0), {"kind": "BALL", "y": (-40, -20)}),
    "use_limit_z": (False, BALL),
    "min_z": (radians(15.0), BALL),
    "max_z": (radians(-15.0), BALL),
    "cone_angle": (radians(10.0), {"kind": "CONE", "cone": 30.0}),
    "stiffness_x": (0.8, {"kind": "HINGE_X"}),
    "stiffness_y": (0.8, {"kind": "ELBOW_X"}),
    "stiffness_z": (0.8, {"kind": "HINGE_Z"}),
}


def set_chain(**settings: object) -> None:
    for name, value in settings.items():
        setattr(chain(), name, value() if callable(value) else value)


def assert_used(get_owner, name: str, value: object) -> None:
    """Check that a new value takes effect at once, and that the original one restores all poses."""
    before, original = warm_rigs.shown(), getattr(get_owner(), name)
    setattr(get_owner(), name, value() if callable(value) else value)
    after = warm_rigs.shown()
    assert np.abs(after["Rig"] - before["Rig"]).max() > 1e-3, "nothing changes on this rig"
    np.testing.assert_array_equal(after["Other"], before["Other"])
    warm_rigs.forget()
    warm_rigs.assert_shown(warm_rigs.shown(), after)
    setattr(get_owner(), name, original)
    warm_rigs.assert_shown(warm_rigs.shown(), before)


def test_each_setting_changed_or_unset_is_used_from_the_next_update_on():
    free = warm_rigs.make_pair()
    named("Rig Target").rotation_euler = (0.4, 0.5, 0.6)
    freed = {"mute": free, "bone": ["Bone.2"], "chain_count": ["Bone.0"], "use_tail": ["Bone.2"]}
    for name, (value, needed, is_reached) in SETTINGS.items():
        named("Rig").scale.x = -1.0 if name == "negative_scale" else 1.0
        set_chain(**needed)
        warm_rigs.warm_up()
        with warm_rigs.report_step(name):
            assert_used(chain, name, value)
            set_chain(**{name: value})
            assert_followed([RIG, OTHER] if is_reached else [OTHER])
            if name in freed:
                warm_rigs.assert_restored(free, *freed[name])
            # ``property_unset`` calls no update callback and tags nothing: a script must tag.
            chain().property_unset(name)
            named("Rig").update_tag()
            is_reached = name not in {"bone", "target", "subtarget"} and "solver" not in needed
            assert_followed([RIG, OTHER] if is_reached else [OTHER])
        for setting in needed:
            chain().property_unset(setting)
        set_chain(bone="Bone.2", target=named("Rig Target"), chain_count=3)


def test_each_value_of_a_joint_is_used_from_the_next_update_on():
    warm_rigs.make_pair()
    for name, (value, settings) in JOINTS.items():
        chain().joints.clear()
        add_joint(chain(), "Bone.1", **settings)
        warm_rigs.warm_up()
        with warm_rigs.report_step(name):
            assert_used(lambda: chain().joints[0], name, value)


def test_keyed_settings_are_those_of_the_frame_whatever_was_shown_before():
    warm_rigs.make_pair()
    named("Rig Target").rotation_euler = (0.4, 0.5, 0.6)
    set_chain(pole_target=make_pole, use_rotation=True)
    for name, last in (("influence", 1.0), ("pole_angle", 2.0), ("orient_weight", 1.0)):
        rigs.key(named("Rig"), f"chain_ik.chains[0].{name}", {1: 0.0, 9: last})
    warm_rigs.assert_fresh_at(5, 8, 2, 4, limbs=[OTHER])
    rigs.key(named("Other Target"), "location", {1: (1.4, 0.8, 0.9), 9: (1.0, 1.0, 1.1)})
    warm_rigs.assert_fresh_at(5, 2, limbs=[OTHER])


def test_keys_edited_muted_and_removed_are_new_from_the_next_frame_on():
    warm_rigs.make_pair()
    rigs.key(named("Rig"), "chain_ik.chains[0].influence", {1: 0.2, 9: 0.6})
    warm_rigs.assert_fresh_at(5, 7, limbs=[OTHER])
    curve = rigs.curves_of(named("Rig"))[0]
    curve.keyframe_points[1].co.y = 1.0
    curve.update()
    warm_rigs.assert_fresh_at(7, 9, limbs=[OTHER])
    assert_fresh()
    curve.mute = True
    warm_rigs.assert_fresh_at(4, limbs=[OTHER])
    rigs.curves_of(named("Rig"))[0].mute = False
    named("Rig").animation_data.action = None
    warm_rigs.assert_fresh_at(3, limbs=[OTHER])
    chain().influence = 1.0
    assert_fresh()


ARM = ("Rig", "Arm.1", "Arm Target")
ALL_TARGETS = ("Rig Target", "Arm Target", "Other Target")


def make_pair_with_arm(**settings: object) -> None:
    """Make warm rigs; the first one has a second limb, whose chain is the last in the list."""
    warm_rigs.make_pair(**settings)
    rigs.add_bones(named("Rig"), np.add(rigs.ARM, (0.6, 0.4, 0.0)), prefix="Arm")
    rigs.make_empty("Arm Target", (0.9, 0.2, 1.1))
    follow(ARM, chain_count=2)
    nudge_target("Arm Target")


def nudge_target(name: str) -> None:
    """Move a target a little: Blender notices only this."""
    rigs.shift(named(name), x=0.05)


def add_first(chains):
    chains.add()
    chains.move(2, 0)


def replace_first(chains):
    chains.remove(0)
    follow(("Rig", "Bone.2", "Arm Target"))


CHANGES = (
    (lambda chains: chains.remove(0), [ARM], {"Arm.0", "Arm.1"}),
    (lambda chains: chains.move(0, 1), [RIG, ARM], None),
    (lambda chains: chains.clear(), [], set()),
    (lambda chains: setattr(chains[0], "bone", "Missing"), [ARM], None),
    (add_first, [RIG, ARM], None),
    (replace_first, [("Rig", "Bone.2", "Arm Target"), ARM], None),
)


@pytest.mark.parametrize("nudged", ["Rig Target", "Other Target"])
@pytest.mark.parametrize(("change", "limbs", "driven"), CHANGES)
def test_lists_changed_by_script_are_used_as_soon_as_anything_moves(change, limbs, driven, nudged):
    make_pair_with_arm()
    change(named("Rig").chain_ik.chains)
    before = rigs.rotations(named("Rig"))
    nudge_target(nudged)
    assert_followed([*limbs, OTHER], ALL_TARGETS)
    after = rigs.rotations(named("Rig"))
    moved = {name for name in after if after[name] != before[name]}
    assert driven is None or moved <= driven
    assert change is not add_first or "No tip bone" in chain().status


def test_of_two_chains_on_the_same_bones_the_first_one_in_the_list_drives_them():
    # With other solvers the two chains would form a tree.
    make_pair_with_arm(solver="CCD")
    follow(("Rig", "Bone.2", "Arm Target"), name="Second", solver="CCD")
    nudge_target("Arm Target")
    assert "already belongs" in chain("Rig", 2).status
    named("Rig").chain_ik.chains.move(2, 0)
    nudge_target("Rig Target")
    named("Arm Target").location = (0.4, 0.2, 0.9)
    assert_followed([("Rig", "Bone.2", "Arm Target"), OTHER], ("Rig Target", "Arm Target"))
    assert "already belongs" in chain("Rig", 1).status


def swap(one, other, name):
    first, second = getattr(one, name), getattr(other, name)
    setattr(one, name, second)
    setattr(other, name, first)


def pose_bones():
    warm_rigs.pose_bone("Above.0").rotation_quaternion = (0.9, 0.2, -0.2, 0.1)
    warm_rigs.pose_bone("Bone.0").location = (0.1, 0.1, 0.0)


def move_both_targets():
    for name in warm_rigs.TARGETS:
        named(name).location += warm_rigs.SHIFT


def remove_a_chain():
    named("Rig").chain_ik.chains.remove(0)
    named("Rig").update_tag()


def swap_targets():
    swap(chain(), chain("Other"), "target")


def add_a_joint():
    add_joint(chain(), "Bone.1", "CONE", cone=12, y=(20, 40), relative_to="PARENT", stiffness_z=0.5)


def change_bones(bones):
    bones["Bone.0"].tail.z += 0.2
    bones.remove(bones["Early.0"])
    bones["Bone.2"].name = "Hand"


STEPS = {
    "influence": lambda: set_chain(influence=0.4, chain_count=2),
    "solver": lambda: set_chain(solver="FABRIK", use_flip_bend=True),
    "mute": lambda: set_chain(mute=True),
    "pose": pose_bones,
    "move": move_both_targets,
    "chain": lambda: warm_rigs.follow(("Rig", "Early.0", "Other Target"), chain_count=1),
    "targets": swap_targets,
    "joint": add_a_joint,
    "bones": lambda: warm_rigs.edit_bones(change_bones),
    "data": lambda: swap(named("Rig"), named("Other"), "data"),
    "delete": lambda: bpy.data.objects.remove(named("Rig Target")),
    "remove": remove_a_chain,
}


def read_shown() -> warm_rigs.Shown:
    """Return what is shown, without another update: undo and loading must have solved already."""
    return warm_rigs.shown(bpy.context.view_layer.depsgraph)


def test_undo_and_redo_of_anything_show_the_poses_of_before_and_go_on_from_them():
    warm_rigs.make_pair()
    bpy.ops.ed.undo_push(message="made")
    states = [warm_rigs.shown()]
    for name, step in STEPS.items():
        step()
        bpy.context.view_layer.update()
        bpy.ops.ed.undo_push(message=name)
        states.append(warm_rigs.shown())
    undos = [("undo", number) for number in reversed(range(len(STEPS)))]
    redos = [("redo", number) for number in range(1, len(STEPS) + 1)]
    for way, number in (*undos, *redos, *undos):
        getattr(bpy.ops.ed, way)()
        with warm_rigs.report_step(f"{way} to {number} of {[*STEPS]}"):
            warm_rigs.assert_shown(read_shown(), states[number])
            if number == len(STEPS):
                assert_followed([], ["Other Target"])
    assert_fresh()


def save(path: str) -> str:
    bpy.ops.wm.save_as_mainfile(filepath=path)
    return path


def lengthen(bones):
    for bone in bones:
        bone.length *= 1.3


def test_files_opened_in_turn_show_their_own_rigs_of_the_same_names(tmp_path):
    warm_rigs.make_pair()
    first, before = save(str(tmp_path / "first.blend")), warm_rigs.shown()
    warm_rigs.edit_bones(lengthen)
    set_chain(solver="FABRIK", use_flip_bend=True)
    swap_targets()
    add_a_joint()
    bpy.context.view_layer.update()
    bpy.ops.wm.revert_mainfile()
    warm_rigs.assert_shown(read_shown(), before)
    warm_rigs.edit_bones(lengthen)
    set_chain(solver="FABRIK", use_flip_bend=True)
    swap_targets()
    crossed = [("Rig", "Bone.2", "Other Target"), ("Other", "Bone.2", "Rig Target")]
    files = {first: ((RIG, OTHER), before)}
    files[str(tmp_path / "second.blend")] = crossed, warm_rigs.shown()
    save(str(tmp_path / "second.blend"))
    for path in [*files, *files]:
        bpy.ops.wm.open_mainfile(filepath=path)
        limbs, expected = files[path]
        warm_rigs.assert_shown(read_shown(), expected)
        assert_followed(limbs)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    warm_rigs.make_pair()
    assert_fresh()


def test_a_linked_duplicate_of_a_warm_rig_has_separate_plans_and_outlives_the_first():
    warm_rigs.make_pair()
    add_a_joint()
    select_objects(active=named("Rig"))
    bpy.ops.object.duplicate(linked=True)
    bpy.context.active_object.name = "Copy"
    for name, is_same in (("", True), ("Copy", False), ("Rig", True)):
        if name:
            chain(name).joints.clear()
            named(name).update_tag()
        shown = warm_rigs.shown()
        assert np.allclose(shown["Copy"], shown["Rig"], atol=warm_rigs.NOISE) is is_same, name
    named("Copy").location = (0.2, -0.3, 0.1)
    assert_followed([RIG, OTHER, ("Copy", "Bone.2", "Rig Target")])
    rigs.make_empty("Copy Target", (0.5, 0.3, 1.1))
    chain("Copy").target = named("Copy Target")
    limb, movers = ("Copy", "Bone.2", "Copy Target"), (*warm_rigs.TARGETS, "Copy Target")
    assert_followed([RIG, OTHER, limb], movers)
    warm_rigs.edit_bones(lengthen, "Copy")
    assert_followed([RIG, OTHER, limb], movers)
    bpy.data.objects.remove(named("Rig"))
    assert_followed([OTHER, limb], movers)
