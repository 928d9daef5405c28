"""Promises 6 and 7: statuses tell what is wrong with a rig; only finite numbers are written."""

import math
from collections.abc import Callable

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, scaled_rigs, selecting, spoiling
from tests.blender.setups.spoiling import assert_is_advice


def spoil(name: str, path: str, value: float = math.nan) -> Callable[[], None]:
    def apply() -> None:
        holder, _, prop = path.rpartition(".")
        owner = bpy.data.objects[name]
        getattr(owner.path_resolve(holder) if holder else owner, prop)[0] = value

    return apply


SPOILED = {
    "armature": spoil("Bad", "location"),
    "armature scaled": spoil("Bad", "scale"),
    "armature scaled to nothing": spoil("Bad", "scale", 0.0),
    "parent": spoil("Above", "location"),
    "parent scaled to nothing": spoil("Above", "scale", 0.0),
    "target": spoil("Bad Target", "location"),
    "parent of the target": spoil("Target Parent", "scale"),
    "parent of the target scaled to nothing": spoil("Target Parent", "scale", 0.0),
    "bone": spoil("Bad", 'pose.bones["Bone.1"].location'),
    "rotation of a bone": spoil("Bad", 'pose.bones["Bone.1"].rotation_quaternion'),
    "bone above": spoil("Bad", 'pose.bones["Above.0"].location'),
    "bone to follow": spoil("Bad", 'pose.bones["Other.1"].location'),
}
OPERATORS = {
    "add with an empty": ({"chain_count": 2, "control": "EMPTY"}, "chain_ik_add", ()),
    "add with a pole": ({"use_pole": True, "control": "EMPTY"}, "chain_ik_add", ()),
    "add with an object": ({}, "chain_ik_add", ("Free",)),
    "add with a bone": ({}, "chain_ik_add", ("Other.1",)),
    "add with a rotation": ({"use_rotation": True}, "chain_ik_add", ("Free",)),
    "solve": ({}, "chain_ik_solve", ("Bad Target",)),
    "follow once": ({"solver": "FOLLOW"}, "chain_ik_solve", ("Bad Target",)),
    "store": ({}, "chain_ik_store", ()),
    "restore": ({"use_all": True}, "chain_ik_restore", ()),
    "remove": ({}, "chain_ik_remove", ()),
    "bake": ({"frame_start": 1, "frame_end": 3}, "chain_ik_bake", ()),
    "copy joints": ({}, "chain_ik_joints_copy", ()),
    "load creature": ({"creature": "SNAKE"}, "chain_ik_creature_load", ()),
}


def make_scene() -> bpy.types.Object:
    spoiling.make_scene("Newton")
    parent = rigs.make_empty("Target Parent")
    parent.location = (0.0, 0.0, 0.0)
    bpy.data.objects["Bad Target"].parent = parent
    rigs.change(rigs.make_empty("Free"), parent=parent)
    return bpy.data.objects["Bad"]


# Every spoiled part with two operators, every operator with one or two spoiled parts.
PAIRS = [
    (spoiled, list(OPERATORS)[(i + 5 * step) % len(OPERATORS)])
    for i, spoiled in enumerate(SPOILED)
    for step in range(2)
]


@pytest.mark.every_case
@pytest.mark.parametrize(("spoiled", "operator"), PAIRS)
def test_no_operator_writes_numbers_that_are_not_finite(spoiled, operator, capfd):
    owner = make_scene()
    options, name, names = OPERATORS[operator]
    if name in ("chain_ik_add", "chain_ik_solve"):
        # Bones of live chains are refused anyway.
        owner.chain_ik.chains.clear()
    SPOILED[spoiled]()
    bpy.context.view_layer.update()
    before = spoiling.not_finite()
    bones = [bone for bone in names if bone in owner.pose.bones]
    objects = [bpy.data.objects[key] for key in names if key in bpy.data.objects]
    selecting.select_bones(owner, [*bones, "Bone.3"], *objects)
    report = ""
    try:
        getattr(bpy.ops.pose, name)(**options)
    except RuntimeError as error:
        report = str(error)
    bpy.context.view_layer.update()
    assert spoiling.not_finite() <= before
    assert "Traceback" not in report + capfd.readouterr().err


BROKEN = ("{", "[]", '["Bone.0"]', "[" * 20_000, "9" * 5_000)
NUMBERS = ("NaN", "1e999", '"1"')


@pytest.mark.parametrize(
    ("text", "number"),
    [*((text, "") for text in BROKEN), *(("", number) for number in NUMBERS)],
    ids=[value[:12] for value in (*BROKEN, *NUMBERS)],
)
def test_a_stored_pose_that_is_broken_or_edited_is_reported_and_stored_again(text, number, capfd):
    owner = make_scene()
    chain = owner.chain_ik.chains["Bad"]
    first = chain.stored_pose.split("[", 3)[3].partition(",")[0]
    chain.stored_pose = text or chain.stored_pose.replace(first, number, 1)
    rigs.tagged(owner)
    solved = rigs.rotations(owner)
    assert chain.status.startswith("The stored pose of this chain cannot be read: ")
    bpy.context.view_layer.objects.active = owner
    for operator in (bpy.ops.pose.chain_ik_restore, bpy.ops.pose.chain_ik_remove):
        assert "cannot be read" in selecting.refusal(operator)
    assert rigs.rotations(owner) == solved
    assert not spoiling.not_finite()
    rigs.change(chain, mute=True)
    assert "press Store Pose" in chain.status
    assert owner.chain_ik.chains["Other"].status.startswith("Reached")
    chain.mute = False
    bpy.ops.pose.chain_ik_store()
    bpy.context.view_layer.update()
    assert owner.chain_ik.chains["Bad"].status.startswith("Reached")
    assert "Traceback" not in capfd.readouterr().err


def test_keys_that_are_not_finite_are_not_restored():
    owner = make_scene()
    owner.keyframe_insert('pose.bones["Bone.1"].rotation_quaternion', frame=1)
    for curve in rigs.curves_of(owner):
        curve.keyframe_points[0].co[1] = math.nan
    rigs.updated()
    assert not spoiling.not_finite()
    bpy.context.view_layer.objects.active = owner
    selecting.press(bpy.ops.pose.chain_ik_restore)
    # Values that the animation writes are not ours.
    assert spoiling.not_finite() <= {"Bad.Bone.1.rotation_quaternion"}
    assert all(np.isfinite(owner.pose.bones[f"Bone.{i}"].rotation_quaternion).all() for i in (0, 2))


@pytest.mark.parametrize("value", [math.nan, 3.4e38])
def test_a_chain_from_the_present_pose_starts_from_the_stored_one_if_that_is_not_finite(value):
    """Once it was refused until a chain with a shared bone, otherwise refused, had moved it."""
    ob, _ = rigs.make_arm()
    chain = ob.chain_ik.chains[0]
    chain.solver, chain.start_from = "CCD", "CURRENT"
    rigs.add_bones(ob, [(0, 0, 1), (0, 0.2, 1.8)], prefix="Side", parent="Bone.0")
    rigs.add_chain(ob, "Side.0", rigs.make_empty("Side", (0.3, 0.5, 1.4)))
    rigs.updated()
    ob.pose.bones["Bone.0"].rotation_quaternion[0] = value
    rigs.updated()
    assert chain.status.startswith("Reached")
    rigs.assert_stays(ob)


@pytest.mark.parametrize("word", ["target", "pole"])
def test_a_body_does_not_follow_a_target_or_pole_at_the_limit_of_float32(word):
    ob, target = rigs.make_arm()
    chain = ob.chain_ik.chains[0]
    chain.pole_target = rigs.make_empty("Pole", (0.0, -2.0, 1.0))
    ob.chain_ik.body.root, ob.chain_ik.body.use_body = "Bone.0", True
    before = rigs.rotations(ob)
    rigs.change(target if word == "target" else chain.pole_target, location=(3.4e38,) * 3)
    assert chain.status.startswith(f"The transform of the {word} "), chain.status
    assert not spoiling.not_finite()
    assert rigs.rotations(ob) == before


def add_everything(ob: bpy.types.Object, target: bpy.types.Object) -> bpy.types.PropertyGroup:
    """Add a chain, and change every setting that has an effect at once."""
    chain = rigs.add_chain(ob, "Bone.1", target, pole_target=target, use_stretch=True)
    chain.joints.add().bone = "Bone.0"
    chain.use_stretch = False
    chain.chain_count = 1
    chain.mute = True
    chain.mute = False
    chain.target.hide_viewport = True
    chain.target = target
    return chain


@pytest.mark.parametrize("way", ["plain", "everything", "everything, not linked"])
def test_a_chain_can_be_set_before_its_object_has_a_pose_and_works_from_the_first_update(
    way, capfd
):
    target, ob = rigs.make_empty(), bpy.data.objects.new("New", rigs.make_rig(name="Known").data)
    if "not linked" not in way:
        rigs.link(ob)
    is_plain = way == "plain"
    chain = rigs.add_chain(ob, "Bone.1", target) if is_plain else add_everything(ob, target)
    assert chain.status
    assert chain.residual == -1.0
    rigs.updated()
    if is_plain:
        rigs.assert_reaches(ob, "Bone.1", target)
        assert chain.status.startswith("Reached")
    assert "Error" not in capfd.readouterr().err


@pytest.mark.parametrize("data", ["mesh", "empty"])
def test_a_chain_on_an_object_that_is_not_an_armature_says_so_and_prints_nothing(data, capfd):
    ob = bpy.data.objects.new("Thing", bpy.data.meshes.new("M") if data == "mesh" else None)
    rigs.link(ob)
    chain = add_everything(ob, rigs.make_empty())
    rigs.updated()
    bpy.context.scene.frame_set(3)
    assert chain.status == "Not solved: this object is not an armature, so remove the chain"
    assert chain.residual == -1.0
    bpy.context.view_layer.objects.active = ob
    assert "Error" not in capfd.readouterr().err


def test_a_bone_whose_child_starts_at_its_own_head_has_no_length_to_turn():
    ob = rigs.make_armature()
    heads = [(0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 0, 2)]
    rigs.add_bones(ob, heads, tails=[(0, 0, 1), (0, 0, 1), (0, 0, 2)])
    chain, _ = scaled_rigs.follow(ob, ["Bone.0", "Bone.1", "Bone.2"], np.array([0.7, 0.4, 1.2]))
    assert_is_advice(chain.status, "'Bone.0'")
    rigs.change(chain, chain_count=2)
    assert ob.chain_ik.chains[0].status.startswith("Reached"), ob.chain_ik.chains[0].status
