"""Poses, bones, and ties between rigs, changed while the plans of their chains are cached."""

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Vector

from tests.blender.setups import rigs, ties, warm_rigs
from tests.blender.setups.keyed_limbs import strip_of

# Many short tests: too slow together for the quick ones.
pytestmark = pytest.mark.slow

# Object, bone ("/": of the armature, otherwise of the pose), property and value.
VALUES = (
    ("Rig", "Above.0", "rotation_quaternion", (0.9, 0.2, -0.2, 0.1)),
    ("Rig", "Above.0", "location", (0.1, 0.05, -0.1)),
    ("Rig", "Above.0", "scale", (1.2, 1.2, 1.2)),
    ("Rig", "Above.0", "scale", (1.2, 0.9, 1.1)),
    ("Rig", "Bone.0", "location", (0.1, 0.1, -0.1)),
    ("Rig", "Bone.1", "scale", (1.2, 1.1, 0.9)),
    ("Rig", "Bone.2", "scale", (-1.0, 1.1, 1.0)),
    ("Rig", "Bone.0", "rotation_mode", "XYZ"),
    ("Rig", "Bone.1", "rotation_mode", "QUATERNION"),
    ("Rig", "Bone.2", "rotation_mode", "AXIS_ANGLE"),
    ("Rig", "Leaf.0", "scale", (2.0, 2.0, 2.0)),
    ("Rig", "/Bone.0", "use_inherit_rotation", False),
    ("Rig", "/Bone.1", "inherit_scale", "NONE"),
    ("Rig", "/Bone.0", "use_local_location", False),
    ("Rig", "", "scale", (-1.0, 1.0, 1.0)),
    ("Rig", "", "scale", (1.2, 0.9, -1.1)),
    ("Rig", "", "rotation_euler", (0.2, -0.3, 0.4)),
    ("Rig", "", "delta_location", (0.1, -0.2, 0.1)),
    ("Rig Target", "", "scale", (-2.0, 1.0, 1.0)),
)


def set_value(ob: str, bone: str, name: str, value: object) -> object:
    owner = warm_rigs.named(ob)
    if bone:
        owner = owner.data.bones[bone[1:]] if bone[0] == "/" else owner.pose.bones[bone]
    original = getattr(owner, name)
    original = original if isinstance(original, str | bool) else tuple(original)
    setattr(owner, name, value)
    return original


def test_whatever_a_pose_depends_on_is_used_from_the_next_update_on():
    warm_rigs.make_pair()
    # With these channels every flag of a bone has an effect.
    warm_rigs.pose_bone("Above.0").scale = (1.1, 1.1, 1.1)
    warm_rigs.pose_bone("Bone.0").location = (0.05, 0.02, 0.03)
    warm_rigs.warm_up()
    for *what, value in VALUES:
        with warm_rigs.report_step((what, value)):
            before = warm_rigs.shown()["Other"]
            original = set_value(*what, value)
            np.testing.assert_array_equal(warm_rigs.shown()["Other"], before)
            warm_rigs.assert_followed()
            set_value(*what, original)
            warm_rigs.assert_followed(movers=["Rig Target"])
    for name in ("location", "scale"):
        values = np.array(
            [getattr(bone, name) for bone in warm_rigs.named("Rig").pose.bones], np.float32
        )
        values[1:3] += 0.07
        warm_rigs.named("Rig").pose.bones.foreach_set(name, values.ravel())
        warm_rigs.named("Rig").update_tag(refresh={"DATA"})  # In 4.2 foreach_set notifies nobody.
        warm_rigs.assert_followed()


# Bone, property, and value or parent.
EDITS = (
    ("Bone.0", "tail", (0.4, -0.3, 0.5)),
    ("Bone.1", "roll", 1.3),
    ("Bone.0", "parent", None),
    ("Bone.0", "parent", "Early.0"),
    ("Bone.1", "head", (0.3, 0.1, 0.7)),
    ("Bone.1", "use_connect", True),
)


def add_bone_above_all(bones):
    above = bones.new("A")
    above.head, above.tail = (0, 0, -1), (0.1, 0, -0.5)
    bones["Above.0"].parent = above


def transform_armature():
    data = warm_rigs.named("Rig").data
    data.transform(Matrix.Rotation(0.6, 4, "X") @ Matrix.Scale(1.2, 4))
    data.update_tag()  # Otherwise Blender would evaluate the old bones.


def apply_pose_as_rest():
    rigs.enter(warm_rigs.named("Rig"), "POSE")
    bpy.ops.pose.armature_apply()
    bpy.ops.object.mode_set(mode="OBJECT")


def test_bones_edited_are_solved_as_they_are_now():
    warm_rigs.make_pair()
    for name in ("Bone.0", "Bone.1"):
        warm_rigs.pose_bone(name).location = (0.05, 0.02, -0.03)
    for bone, name, value in EDITS:

        def edit(bones, bone=bone, name=name, value=value):
            setattr(bones[bone], name, bones[value] if isinstance(value, str) else value)

        warm_rigs.edit_bones(edit)
        with warm_rigs.report_step((bone, name, value)):
            warm_rigs.assert_followed()
    for change in (
        lambda: warm_rigs.edit_bones(add_bone_above_all),
        lambda: warm_rigs.edit_bones(lambda bones: bones.remove(bones["Early.0"])),
        transform_armature,
        apply_pose_as_rest,
    ):
        change()
        with warm_rigs.report_step(change):
            warm_rigs.assert_followed()


def skip_middle_bone(bones):
    bones["Bone.2"].parent = bones["Bone.0"]


def insert_bone(bones):
    between = bones.new("A")
    between.head, between.tail = bones["Bone.1"].head, (0.3, 0.1, 0.9)
    between.parent, bones["Bone.1"].parent = bones["Bone.0"], between


# A chain stores the pose of a bone before it first writes the bone. Solves start from this pose, so
# the same frame gives the same pose; muting restores it.
@pytest.mark.parametrize(("edit", "joined"), [(skip_middle_bone, "Above.0"), (insert_bone, "A")])
def test_a_bone_that_joins_a_chain_is_driven_and_no_other_and_its_pose_is_given_back(edit, joined):
    free = warm_rigs.make_pair()
    warm_rigs.edit_bones(edit)
    warm_rigs.assert_fresh()
    before = rigs.rotations(warm_rigs.named("Rig"))
    warm_rigs.named("Rig Target").location += warm_rigs.SHIFT
    bpy.context.view_layer.update()
    after = rigs.rotations(warm_rigs.named("Rig"))
    tip = warm_rigs.named("Rig").data.bones["Bone.2"]
    moved = {name for name in after if after[name] != before[name]}
    assert {joined} <= moved <= {bone.name for bone in (tip, *tip.parent_recursive[:2])}
    rigs.change(warm_rigs.chain(), mute=True)
    warm_rigs.assert_restored({joined: free.get(joined, (1.0, 0.0, 0.0, 0.0))})


def test_a_lock_is_respected_until_it_is_removed():
    free = warm_rigs.make_pair()
    warm_rigs.pose_bone("Bone.1").lock_rotation[1] = True
    warm_rigs.assert_fresh([warm_rigs.OTHER])
    assert warm_rigs.pose_bone("Bone.1").rotation_euler[1] == pytest.approx(free["Bone.1"][1])
    tip = warm_rigs.pose_bone("Bone.2")
    tip.lock_rotation, tip.lock_rotation_w = (True, True, True), True
    warm_rigs.assert_fresh([warm_rigs.OTHER])
    warm_rigs.assert_restored(free, "Bone.2")
    tip.lock_rotations_4d = False
    warm_rigs.assert_fresh([warm_rigs.OTHER])
    for bone in warm_rigs.named("Rig").pose.bones:
        bone.lock_rotation, bone.lock_rotation_w = (False, False, False), False
    warm_rigs.assert_fresh()


def key_all() -> None:
    for rig, seed in (("Rig", 3), ("Other", 4)):
        rigs.key_bones(warm_rigs.named(rig), seed=seed, frames=(1, 9))
    start = warm_rigs.named("Rig Target").location.copy()
    rigs.key(warm_rigs.named("Rig Target"), "location", {1: start, 9: start + warm_rigs.SHIFT})


def test_keyed_chain_bones_start_from_their_frame_also_those_of_the_nla():
    warm_rigs.make_pair()
    key_all()
    warm_rigs.assert_fresh_at(5, 1, 9, 5, 4)
    warm_rigs.assert_fresh(movers=["Other Target"])
    strip = strip_of(warm_rigs.named("Rig"))
    warm_rigs.assert_fresh_at(5, 7)
    strip.influence = 0.5
    warm_rigs.assert_fresh_at(7, 3)
    rigs.key_bones(warm_rigs.named("Rig"), seed=9, frames=(1, 9))
    warm_rigs.assert_fresh_at(7, 3)
    warm_rigs.named("Rig").animation_data.use_nla = False
    warm_rigs.assert_fresh_at(3)
    warm_rigs.named("Rig").animation_data.use_nla = True
    warm_rigs.named("Rig").animation_data.nla_tracks[0].mute = True
    warm_rigs.assert_fresh_at(6)
    warm_rigs.named("Rig").animation_data_clear()
    warm_rigs.assert_fresh_at(4)


def test_a_key_of_a_chain_bone_edited_is_used_from_the_next_move_of_a_target_on():
    warm_rigs.make_pair(influence=0.5)
    rigs.key_bones(warm_rigs.named("Rig"), frames=(1, 9))
    rigs.go_to(1)
    for curve in rigs.curves_of(warm_rigs.named("Rig")):
        curve.keyframe_points[0].co.y = 0.5
        curve.update()
    warm_rigs.named("Other Target").location.x += 0.05
    warm_rigs.assert_fresh([warm_rigs.OTHER])
    warm_rigs.named("Rig").animation_data.action = None
    warm_rigs.named("Rig Target").location.x += 0.05
    warm_rigs.assert_fresh([warm_rigs.OTHER])


def tie_by_parent(owner, rig):
    owner.parent, owner.parent_type, owner.parent_bone = rig, "BONE", "Bone.1"
    return None, lambda: setattr(owner, "parent", None)


def tie_by_grandparent(owner, rig):
    owner.parent = rigs.make_empty("Between", (0, 0, 0))
    owner.parent_type = "OBJECT"
    tie_by_parent(owner.parent, rig)
    return None, lambda: bpy.data.objects.remove(warm_rigs.named("Between"))


def tie_by_moving_object(owner, _rig):
    owner.parent = rigs.make_empty("Carrier", (0.1, 0.2, -0.1))
    owner.parent_type = "OBJECT"
    owner.parent.rotation_euler, owner.parent.scale = (0.3, 0.2, -0.4), (1.1, 0.9, -1.1)
    return None, lambda: setattr(owner, "parent", None)


def tie_by_constraint(owner, rig):
    constraint = ties.constrain(owner, "CHILD_OF", target=rig, subtarget="Bone.1")
    return constraint, lambda: owner.constraints.remove(owner.constraints[0])


def tie_by_armature_constraint(owner, rig):
    constraint = owner.constraints.new("ARMATURE")
    target = constraint.targets.new()
    target.target, target.subtarget = rig, "Bone.1"
    return constraint, lambda: owner.constraints.remove(owner.constraints[0])


def tie_by_driver(owner, rig):
    curve = ties.drive(owner, "location", rig, "LOC_Z", bone="Bone.1", index=2, space="WORLD_SPACE")
    return curve, lambda: owner.driver_remove("location", 2)


TIES = (
    *(tie_by_parent, tie_by_grandparent, tie_by_moving_object),
    *(tie_by_constraint, tie_by_armature_constraint, tie_by_driver),
)


def move_to(owner: bpy.types.Object, location: np.ndarray) -> None:
    """Move an object without local rotation to a place in world space, under its present ties."""
    world = rigs.world_matrix(owner, rigs.updated())
    owner.location += Vector(np.linalg.solve(world[:3, :3], location - world[:3, 3]))


@pytest.mark.parametrize("tied", ["Rig Target", "Other"])
def test_what_is_tied_to_a_bone_of_another_chain_is_solved_after_it_until_it_is_untied(tied):
    warm_rigs.make_pair()
    owner, home = warm_rigs.named(tied), rigs.position(warm_rigs.named(tied))
    carrier = "Other" if tied.startswith("Rig") else "Rig"
    movers = [f"{carrier} Target", f"{tied.split()[0]} Target"]

    def assert_right_in_place(what):
        move_to(owner, home)
        with warm_rigs.report_step(what):
            carriers = [ob.name for ob in bpy.data.objects if ob.name == "Carrier"]
            warm_rigs.assert_followed(movers=[*carriers, *movers])

    for tie in TIES:
        muted, untie = tie(owner, warm_rigs.named(carrier))
        assert_right_in_place(tie)
        if muted is not None:
            muted.mute = True
            assert_right_in_place(f"{tie.__name__}, muted")
            # The plans that are made now do not contain the muted tie.
            warm_rigs.forget()
            rigs.updated()
            warm_rigs.warm_up()
            muted.mute = False
            assert_right_in_place(f"{tie.__name__}, unmuted")
        untie()
        assert_right_in_place(f"{tie.__name__}, untied")


def test_a_constraint_above_a_chain_is_seen_with_each_of_its_changes():
    warm_rigs.make_pair()
    bone, empty = warm_rigs.pose_bone("Above.0"), rigs.make_empty("Holder", (0.2, -0.1, -0.4))
    empty.rotation_euler = (0.3, 0.4, -0.2)
    constraint = bone.constraints.new("COPY_ROTATION")
    for target, subtarget in (("Holder", ""), ("Other", "Bone.1"), ("Other", "Early.0")):
        constraint.target, constraint.subtarget = warm_rigs.named(target), subtarget
        for constraint.mute, constraint.influence in ((False, 1.0), (True, 1.0), (False, 0.4)):
            with warm_rigs.report_step((target, subtarget, constraint.mute, constraint.influence)):
                warm_rigs.assert_followed(movers=("Holder", *warm_rigs.TARGETS))
    bone.constraints.remove(constraint)
    warm_rigs.assert_followed()


def test_a_chain_hung_under_bones_of_another_and_back_is_solved_in_order():
    warm_rigs.make_pair()
    rigs.add_bones(warm_rigs.named("Rig"), np.add(rigs.ARM, (0.3, 0.1, 1.5)), prefix="Arm")
    rigs.make_empty("Arm Target", (0.9, 0.4, 1.6))
    arm = ("Rig", "Arm.1", "Arm Target")
    warm_rigs.follow(arm, chain_count=2)
    warm_rigs.named("Rig").chain_ik.chains.move(1, 0)
    for parent in ("Bone.1", "", "Early.0", "Bone.2"):

        def hang(bones, parent=parent):
            bones["Arm.0"].parent = bones[parent] if parent else None

        warm_rigs.edit_bones(hang)
        with warm_rigs.report_step(parent):
            warm_rigs.assert_followed(
                [warm_rigs.RIG, arm, warm_rigs.OTHER], ("Rig Target", "Arm Target")
            )


def assert_follows_handle(bone: str = "Handle.1") -> None:
    warm_rigs.assert_followed([warm_rigs.OTHER], ["Other Target", "Handle"])
    tail = rigs.tail(warm_rigs.named("Rig"), "Bone.2", rigs.updated())
    expected = rigs.head(warm_rigs.named("Handle"), bone, bpy.context.view_layer.depsgraph)
    np.testing.assert_allclose(tail, expected, atol=rigs.TARGET_GAP)


def test_a_target_bone_is_followed_as_it_is_also_as_part_of_a_live_chain():
    warm_rigs.make_pair()
    handle = rigs.make_armature("Handle")
    rigs.add_bones(handle, ((0.5, 0.4, 0.8), (0.5, 0.4, 1.0), (0.3, 0.5, 1.2)), prefix="Handle")
    warm_rigs.chain().target, warm_rigs.chain().subtarget = handle, "Handle.1"
    assert_follows_handle()
    handle.pose.bones["Handle.0"].rotation_quaternion = (0.9, 0.3, 0.1, 0.0)
    assert_follows_handle()
    warm_rigs.edit_bones(lambda bones: bones["Handle.0"].translate(Vector((0, 0, 0.1))), "Handle")
    assert_follows_handle()
    warm_rigs.named("Handle").data.bones["Handle.1"].name = "New"
    assert_follows_handle("New")
    rigs.make_empty("Handle Target", (0.6, 0.2, 1.0))
    limb = ("Handle", "New", "Handle Target")
    warm_rigs.follow(limb, chain_count=2)
    warm_rigs.assert_followed([warm_rigs.OTHER, limb], ["Other Target", "Handle Target"])
    assert_follows_handle("New")
    warm_rigs.named("Handle").chain_ik.chains.clear()
    assert_follows_handle("New")
    warm_rigs.chain().subtarget, warm_rigs.chain().target = "", warm_rigs.named("Rig Target")
    warm_rigs.assert_followed()
