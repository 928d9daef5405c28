"""Targets and poles moved to a point: they are there, or are refused and stay."""

from itertools import product
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from tests.blender.setups import rigs, ties
from tests.blender.setups.saved_rigs import linked
from tests.blender.setups.selecting import press, refusal
from tests.helpers import make_rng

POINT = (0.5, -0.4, 1.1)
# Largest distance to the point, scene units: float32 under parents of any scale.
MAX_GAP = 5e-6
PARENTS = {
    "none": ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
    "scaled": ((2.0, 2.0, 2.0), (0.5, 0.5, 0.5)),
    "mirrored": ((-1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
    "sheared": ((0.4, 1.5, -2.0), (1.0, 3.0, 0.7)),
}


def place(ob: bpy.types.Object, bone: str = "") -> np.ndarray:
    return rigs.head(ob, bone) if bone else rigs.position(ob)


def make_arm(**settings: object) -> bpy.types.Object:
    ob, _ = rigs.make_arm(**settings)
    rigs.enter(ob, "POSE")
    return ob


def add_parents(ob: bpy.types.Object, kind: str) -> None:
    above = None
    for i, scale in enumerate(PARENTS[kind]):
        parent = rigs.make_empty(f"Parent {i}", (0.2 * i, 0.3, -0.1), parent=above)
        parent.rotation_euler, parent.scale = make_rng(i).uniform(-2, 2, 3), scale
        above = parent
    ob.parent = above
    rows = (1, 0, 0, 0.3), (0, 0, -1, 0), (0, 1, 0, 0.1), (0, 0, 0, 1)
    # As a matrix: Blender takes nested rows for columns.
    rigs.change(ob, matrix_parent_inverse=Matrix(rows))


def add_control(ob: bpy.types.Object, parent: str, seed: int = 0) -> str:
    rng = make_rng(seed)
    start = rng.uniform(-0.5, 0.5, 3)
    (name,) = rigs.add_bones(
        ob, (start, start + rng.uniform(0.1, 0.4, 3)), prefix="Control", parent=parent
    )
    return name


move_target = bpy.ops.pose.chain_ik_move_target
move_pole = bpy.ops.pose.chain_ik_move_pole


def channels(moved: bpy.types.Object | bpy.types.PoseBone) -> tuple[float, ...]:
    return (
        *moved.rotation_quaternion,
        *moved.rotation_euler,
        *moved.rotation_axis_angle,
        *moved.scale,
    )


@pytest.mark.parametrize(
    ("kind", "word", "hidden"),
    [("scaled", "target", "eye"), ("mirrored", "pole", "viewport"), ("sheared", "target", "layer")],
)
def test_an_object_goes_to_the_point_under_any_parents_also_while_it_is_hidden(kind, word, hidden):
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    chain.pole_target = rigs.make_empty("Pole", (0.0, -2.0, 1.0))
    moved = chain.target if word == "target" else chain.pole_target
    moved.rotation_euler, moved.scale, moved.delta_location = (0.3, 0.2, 0.1), (1, -2, 1), (0, 1, 2)
    if hidden == "layer":
        collection = rigs.make_collection("Own")
        bpy.context.scene.collection.objects.unlink(moved)
        rigs.link(moved, collection)
        bpy.context.view_layer.layer_collection.children["Own"].exclude = True
    moved.hide_set(hidden == "eye")
    moved.hide_viewport = hidden == "viewport"
    add_parents(moved, kind)
    before = channels(moved)
    press(move_target if word == "target" else move_pole, location=POINT)
    np.testing.assert_allclose(place(moved), POINT, atol=MAX_GAP)
    assert channels(moved) == before
    if word == "target":
        np.testing.assert_allclose(rigs.tail(ob, "Bone.1"), POINT, atol=2e-5)


@pytest.mark.parametrize(
    ("kind", "mode"), [("mirrored", "FULL"), *product(["sheared"], rigs.INHERITED)]
)
def test_a_bone_goes_to_the_point_however_it_inherits_from_its_parent(kind, mode):
    ob = make_arm()
    names = rigs.add_bones(ob, rigs.zigzag(2, seed=3), prefix="Above")
    name = add_control(ob, names[-1])
    rigs.turn_bones(ob, seed=5, angle=1.0)
    for above, scale in zip(names, PARENTS[kind], strict=True):
        ob.pose.bones[above].scale = scale
    add_parents(ob, kind)
    rigs.enter(ob, "POSE")
    chain = ob.chain_ik.chains[0]
    chain.mute, chain.target, chain.subtarget = True, ob, name
    bone = ob.data.bones[name]
    bone.inherit_scale = mode
    for turns, is_local in product((True, False), (True, False)):
        bone.use_inherit_rotation, bone.use_local_location = turns, is_local
        rigs.change(ob.pose.bones[name], location=(0.3, 0.2, 0.1))
        before = channels(ob.pose.bones[name])
        press(move_target, location=POINT)
        np.testing.assert_allclose(place(ob, name), POINT, atol=2e-5)
        assert channels(ob.pose.bones[name]) == before


def test_a_bone_without_parent_one_of_another_rig_and_an_object_under_a_bone_go_to_the_point():
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    name = add_control(ob, "", seed=8)
    add_parents(ob, "mirrored")
    rigs.enter(ob, "POSE")
    chain.target, chain.subtarget = ob, name
    for is_local in (True, False):
        ob.data.bones[name].use_local_location = is_local
        rigs.change(ob.pose.bones[name], location=(0.0, 0.0, 0.0))
        press(move_target, location=POINT)
        np.testing.assert_allclose(place(ob, name), POINT, atol=MAX_GAP)
    other = rigs.make_rig(rigs.zigzag(2), name="Other", is_connected=False)
    other.location, other.rotation_euler = (1.0, 2.0, 0.5), (0.3, 0.4, 0.5)
    chain.target, chain.subtarget = other, "Bone.1"
    chain.pole_target = rigs.make_empty("Pole", parent=other, parent_bone="Bone.0")
    rigs.turn_bones(other)
    rigs.enter(ob, "POSE")
    press(move_target, location=POINT)
    press(move_pole, location=(0.0, -2.0, 0.5))
    np.testing.assert_allclose(place(other, "Bone.1"), POINT, atol=MAX_GAP)
    np.testing.assert_allclose(place(chain.pole_target), (0.0, -2.0, 0.5), atol=MAX_GAP)


def test_locked_and_driven_axes_stay_and_the_others_go_to_the_nearest_place():
    ob = make_arm()
    moved = ob.chain_ik.chains[0].target
    add_parents(moved, "none")
    moved.lock_location = (True, False, False)
    rigs.change(moved.driver_add("location", 1).driver, expression="0.25")
    before, start = tuple(moved.location), rigs.position(moved)
    press(move_target, location=POINT)
    assert moved.location[:2] == before[:2]
    move, gap = rigs.position(moved) - start, np.array(POINT) - rigs.position(moved)
    assert np.linalg.norm(move) > 0.01
    # The gap is perpendicular to the only axis that may move.
    assert abs(move @ gap) < 1e-5 * np.linalg.norm(move)


@pytest.mark.parametrize(
    ("is_on", "only_available", "expected"),
    [
        (False, False, {0: [1.0], 1: [], 2: [1.0]}),
        (True, False, {0: [1.0, 7.0], 1: [7.0], 2: [1.0, 7.0]}),
        (True, True, {0: [1.0, 7.0], 1: [], 2: [1.0, 7.0]}),
    ],
)
def test_auto_keying_keys_the_location_and_nothing_else(is_on, only_available, expected):
    ob = make_arm()
    target = ob.chain_ik.chains[0].target
    for axis in (0, 2):
        target.keyframe_insert("location", index=axis, frame=1)
    bpy.context.scene.frame_set(7)
    edit, tools = bpy.context.preferences.edit, bpy.context.scene.tool_settings
    before = edit.use_keyframe_insert_available
    edit.use_keyframe_insert_available, tools.use_keyframe_insert_auto = only_available, is_on
    press(move_target, location=POINT)
    edit.use_keyframe_insert_available = before
    keyed = {axis: list[float]() for axis in range(3)}
    for curve in rigs.curves_of(target):
        assert curve.data_path == "location"
        keyed[curve.array_index] = [point.co.x for point in curve.keyframe_points]
        if is_on:
            value = curve.keyframe_points[-1].co.y
            assert value == pytest.approx(target.location[curve.array_index])
    assert keyed == expected


def test_targets_that_cannot_be_moved_are_refused_with_advice():
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    target = chain.target
    assert "no pole" in refusal(move_pole, location=POINT)
    target.lock_location = (True, True, True)
    text = refusal(move_target, location=POINT)
    assert "The location of the target 'Rig Target' is locked or has drivers: unlock" in text
    target.lock_location = (False, False, False)
    other = rigs.make_rig(rigs.zigzag(2), name="Other")
    chain.target, chain.subtarget = other, "Bone.1"
    rigs.enter(ob, "POSE")
    text = refusal(move_target, location=POINT)
    assert "Connected is on for bone 'Bone.1', so it cannot be moved" in text
    chain.subtarget = "Gone"
    assert "no longer exists" in refusal(move_target, location=POINT)


@pytest.mark.parametrize("is_bone", [False, True])
def test_a_target_that_is_not_finite_is_refused_and_no_point_makes_one_so(is_bone):
    _, moved = make_followed(is_bone=is_bone)
    before = tuple(moved.location)
    for point in ((np.nan, 0.0, 0.0), (0.0, np.inf, 0.0), (3.4e38, 3.4e38, 3.4e38)):
        press(move_target, location=point)
        assert np.isfinite(moved.location).all()
        rigs.change(moved, location=before)
    rigs.change(moved.scale, x=np.nan)
    assert "not finite" in refusal(move_target, location=POINT)
    assert tuple(moved.location) == before


def test_a_linked_target_is_refused_and_an_override_of_it_moves(tmp_path: Path):
    rigs.make_empty("Far", (1.0, 1.0, 1.0))
    (far,) = linked(tmp_path / "library.blend", "Far")
    ob = make_arm()
    rigs.change(ob.chain_ik.chains[0], target=far)
    assert "The target 'Far' is linked" in refusal(move_target, location=POINT)
    override = far.override_create(remap_local_usages=True)
    rigs.change(ob.chain_ik.chains[0], target=override)
    press(move_target, location=POINT)
    np.testing.assert_allclose(rigs.position(override), POINT, atol=MAX_GAP)
    override.override_library.is_system_override = True
    text = refusal(move_target, location=(0.0, 0.0, 1.0))
    assert "The library override of the target 'Far' cannot be edited" in text
    np.testing.assert_allclose(rigs.position(override), POINT, atol=MAX_GAP)


def make_followed(*, is_bone: bool) -> tuple[bpy.types.Object, object]:
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    if not is_bone:
        return ob, chain.target
    chain.subtarget = add_control(ob, "", seed=2)
    chain.target = ob
    rigs.enter(ob, "POSE")
    return ob, ob.pose.bones[chain.subtarget]


@pytest.mark.parametrize("is_bone", [False, True])
def test_a_target_that_a_constraint_carries_goes_to_the_point_and_a_held_one_is_refused(is_bone):
    ob, moved = make_followed(is_bone=is_bone)
    chain, prop = ob.chain_ik.chains[0], rigs.make_empty("Prop", (0.3, 0.1, 0.4))

    def assert_at(point: object) -> None:
        np.testing.assert_allclose(place(chain.target, chain.subtarget), point, atol=MAX_GAP)

    prop.rotation_euler, prop.scale = (1.0, 0.4, 2.0), (2.0, 2.0, 2.0)
    carried = ties.constrain(moved, "CHILD_OF", target=prop)
    rigs.updated()
    # The constraint carries the target away from its place.
    rigs.change(prop, rotation_euler=(0.2, 2.0, 0.7), location=(1.0, 0.0, 0.0), scale=(1, 1, 1))
    press(move_target, location=POINT)
    assert_at(POINT)
    moved.constraints.remove(carried)
    goal = rigs.make_empty("Holder", (1.0, 1.0, 1.0))
    holder = ties.constrain(moved, "COPY_LOCATION", target=goal)
    for holder.influence in (1.0, 0.5):
        rigs.updated()
        before, start = tuple(moved.location), place(chain.target, chain.subtarget)
        text = refusal(move_target, location=POINT)
        assert f"constraint, stops the target '{moved.name}' from moving there: mute" in text
        assert tuple(moved.location) == before
        np.testing.assert_array_equal(place(chain.target, chain.subtarget), start)
    holder.mute = True
    # A limit refuses only points beyond it.
    ties.constrain(moved, "LIMIT_LOCATION", use_max_z=True, max_z=0.9, owner_space="WORLD")
    press(move_target, location=(0.3, -0.2, 0.7))
    assert "from moving there" in refusal(move_target, location=(0.3, -0.2, 1.2))
    assert_at((0.3, -0.2, 0.7))
