"""Promise 7: no operator and no solve writes a number that is not finite."""

from __future__ import annotations

import math
from collections.abc import Callable

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, selecting, spoiling


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
    rigs.make_empty("Free").parent = parent
    bpy.context.view_layer.update()
    return bpy.data.objects["Bad"]


def operate(name: str, names: tuple[str, ...], options: dict[str, object]) -> str:
    """Run an operator with bone "Bone.3" active; return its sentence if it could not."""
    owner = bpy.data.objects["Bad"]
    bones = [each for each in names if each in owner.pose.bones]
    objects = [bpy.data.objects[each] for each in names if each in bpy.data.objects]
    selecting.select_bones(owner, [*bones, "Bone.3"], *objects)
    try:
        getattr(bpy.ops.pose, name)(**options)
    except RuntimeError as error:
        return str(error)
    return ""


# Each that is spoiled with two operators, each operator with one or two that are.
PAIRS = [
    (spoiled, list(OPERATORS)[(i + 5 * step) % len(OPERATORS)])
    for i, spoiled in enumerate(SPOILED)
    for step in range(2)
]


@pytest.mark.every_case
@pytest.mark.parametrize(("spoiled", "operator"), PAIRS)
def test_no_operator_writes_what_is_not_finite(spoiled, operator, capfd):
    owner = make_scene()
    options, name, names = OPERATORS[operator]
    if name in ("chain_ik_add", "chain_ik_solve"):
        # Bones of live chains are refused anyway.
        owner.chain_ik.chains.clear()
    SPOILED[spoiled]()
    bpy.context.view_layer.update()
    before = spoiling.not_finite()
    said = operate(name, names, options)
    bpy.context.view_layer.update()
    assert spoiling.not_finite() <= before
    assert "Traceback" not in said + capfd.readouterr().err


TORN = ("{", "[]", '["Bone.0"]', "[" * 20_000, "9" * 5_000)
NUMBERS = ("NaN", "1e999", '"1"')


@pytest.mark.parametrize(
    ("text", "number"),
    [*((text, "") for text in TORN), *(("", number) for number in NUMBERS)],
    ids=[each[:12] for each in (*TORN, *NUMBERS)],
)
def test_a_stored_pose_that_is_torn_or_tampered_with_is_told_and_stored_anew(text, number, capfd):
    owner = make_scene()
    chain = owner.chain_ik.chains["Bad"]
    first = chain.stored_pose.split("[", 3)[3].partition(",")[0]
    chain.stored_pose = text or chain.stored_pose.replace(first, number, 1)
    owner.update_tag()
    bpy.context.view_layer.update()
    solved = rigs.rotations(owner)
    assert chain.status.startswith("The stored pose of this chain cannot be read: ")
    bpy.context.view_layer.objects.active = owner
    for operator in (bpy.ops.pose.chain_ik_restore, bpy.ops.pose.chain_ik_remove):
        assert "cannot be read" in selecting.refusal(operator)
    assert rigs.rotations(owner) == solved
    assert not spoiling.not_finite()
    chain.mute = True
    bpy.context.view_layer.update()
    assert "press Store Pose" in chain.status
    assert owner.chain_ik.chains["Other"].status.startswith("Reached")
    chain.mute = False
    bpy.ops.pose.chain_ik_store()
    bpy.context.view_layer.update()
    assert owner.chain_ik.chains["Bad"].status.startswith("Reached")
    assert "Traceback" not in capfd.readouterr().err


def test_keys_that_are_not_finite_are_not_given_back():
    owner = make_scene()
    owner.keyframe_insert('pose.bones["Bone.1"].rotation_quaternion', frame=1)
    for curve in rigs.curves_of(owner):
        curve.keyframe_points[0].co[1] = math.nan
    rigs.updated()
    assert not spoiling.not_finite()
    bpy.context.view_layer.objects.active = owner
    selecting.press(bpy.ops.pose.chain_ik_restore)
    # What animation puts there is not ours.
    assert spoiling.not_finite() <= {"Bad.Bone.1.rotation_quaternion"}
    assert all(np.isfinite(owner.pose.bones[f"Bone.{i}"].rotation_quaternion).all() for i in (0, 2))
