"""Controls of a body: their spaces, their sizes, and that they do not overlap."""

import itertools

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix, Vector

from tests.blender.body.human_bodies import farthest, make_character
from tests.blender.controls.rolled import all_reached, control_of, press_for
from tests.blender.operators import test_characters as characters
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press, refusal

setup = bpy.ops.pose.chain_ik_setup

HIPS = {"human": "spine", "horse": "spine.001", "bird": "spine.003"}


def _world(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    owner = rigs.evaluated(ob)
    return {bone.name: np.array(owner.matrix_world @ bone.matrix) for bone in owner.pose.bones}


def places(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    """Return the heads of all bones, world space, as shares of the size of the body."""
    size = max(max(map(abs, bone.head_local)) for bone in ob.data.bones if bone.use_deform)
    return {name: matrix[:3, 3] / size for name, matrix in _world(ob).items()}


def spaces(ob: bpy.types.Object) -> dict[str, str]:
    return {chain.name: chain.space for chain in ob.chain_ik.chains}


def space_bones(ob: bpy.types.Object, chain: str) -> list[str]:
    control = ob.pose.bones[ob.chain_ik.chains[chain].subtarget]
    return [constraint.targets[0].subtarget for constraint in control.constraints]


def test_the_controls_of_a_human_go_along_with_what_carries_them(rigify):
    ob = make_character("human", kinds={"ARM", "LEG", "SPINE", "NECK", "FINGER"})
    used = spaces(ob)
    chest, head = "Spine Target", "Neck Target"
    assert (used["Spine"], used["Neck"]) == ("spine", chest)
    assert {used[name] for name in ("Arm.L", "Arm.R", "Leg.L", "Leg.R")} == {"Root"}
    assert (used["Thumb.L"], used["Pinky.R"]) == ("Arm Target.L", "Arm Target.R")
    assert set(space_bones(ob, "Arm.L")) == {"Root", "spine", chest, head}
    assert set(space_bones(ob, "Neck")) == {chest, "spine", "Root"}
    # The ring lies on the floor, under the hips, around both feet.
    root, foot = rigs.evaluated(ob).pose.bones["Root"], ob.pose.bones["heel.02.L"]
    assert root.head.z == pytest.approx(foot.head.z, abs=1e-4)
    np.testing.assert_allclose(root.head.xy, ob.pose.bones["spine"].head.xy, atol=1e-5)
    assert np.linalg.norm(ob.pose.bones["toe.L"].tail.xy - root.head.xy) < root.length
    assert not ob.data.bones["Root"].use_deform


def test_hips_that_are_scaled_leave_controls_that_hang_on_other_controls_where_they_are(rigify):
    """The chest's control gets the hips as its space, and so their scale."""
    ob = characters.add_rig("human")
    rigs.change(ob.pose.bones[HIPS["human"]], scale=(1.2, 0.9, 1.1))
    rigs.updated()
    before = places(ob)
    press(setup, control="BONE")
    assert farthest(before, places(ob)) <= 1e-5


def test_a_space_that_could_move_with_the_control_is_refused_until_its_constraint_is_gone(rigify):
    ob = opened(make_character, name="human")
    assert spaces(ob)["Arm.L"] == "Root"
    # A new pole has the space of its target.
    ob.chain_ik.active_index = list(spaces(ob)).index("Leg.L")
    press(bpy.ops.pose.chain_ik_pole_add, control="BONE")
    assert ob.chain_ik.chains["Leg.L"].pole_space == "Root"
    ob.chain_ik.active_index = list(spaces(ob)).index("Spine")
    switch = bpy.ops.pose.chain_ik_switch_space
    assert refusal(switch, space="Arm Target.L") == (
        "Space 'Arm Target.L' moves with 'Spine Target', or could do so through one of its"
        " constraints: choose another space, or delete that constraint."
    )
    hand = ob.pose.bones["Arm Target.L"]
    for constraint in list(hand.constraints):
        if constraint.targets[0].subtarget in ("Spine Target", "Neck Target"):
            hand.constraints.remove(constraint)
    press(switch, space="Arm Target.L")
    assert spaces(ob)["Spine"] == "Arm Target.L"


def lower(ob: bpy.types.Object, share: float) -> None:
    """Move the torso down, by a share of the height of the hips above the floor."""
    bone = ob.pose.bones[ob.chain_ik.body.root]
    lowest = min(min(end.head.z, end.tail.z) for end in ob.pose.bones)
    offset = Vector((0, 0, share * (lowest - bone.head.z)))
    rigs.change(bone, location=bone.bone.matrix_local.to_3x3().inverted() @ offset)


@pytest.mark.parametrize(
    ("name", "control"),
    [("human", "BONE"), ("horse", "BONE"), ("bird", "BONE"), ("human", "EMPTY")],
)
def test_hips_pulled_down_are_a_crouch_and_the_root_takes_everything_along(rigify, name, control):
    ob = opened(make_character, name=name, control=control)
    assert ob.chain_ik.body.root == HIPS[name]
    assert ob.data.bones[HIPS[name]].parent is None
    assert ob.pose.bones[HIPS[name]].custom_shape is not None
    assert (control == "BONE") == ("Root" in ob.data.bones)
    root = "Root" if control == "BONE" else ob.name
    # Toes are children of the foot that rolls.
    for chain, space in [item for item in spaces(ob).items() if "Toe" not in item[0]]:
        assert space
        assert (space == root) == ("Leg" in chain or "Arm" in chain), chain
    before = places(ob)
    ends = [end for limb, (*_, end) in characters.LIMBS[name].items() if "Leg" in limb]
    for share in (0.1, 0.3):
        lower(ob, share)
        assert all_reached(ob)
    after = places(ob)
    for end in ends:
        np.testing.assert_allclose(after[end], before[end], atol=2e-5, err_msg=end)
    lower(ob, 0.0)
    assert farthest(before, places(ob)) <= 5e-5
    if control == "EMPTY":
        return
    lower(ob, 0.2)
    bone, start = ob.pose.bones["Root"], _world(ob)
    bone.rotation_mode = "XYZ"
    for step in range(0, 9, 2):
        bone.location = (0.4 * step, -0.1 * step, 0.05 * step)
        rigs.change(bone, rotation_euler=(0.1 * step, -0.05 * step, step * np.pi / 4.0))
        assert all_reached(ob)
        world = _world(ob)
        moved = world["Root"] @ np.linalg.inv(start["Root"])
        for name, matrix in start.items():
            np.testing.assert_allclose((moved @ matrix)[:3, 3], world[name][:3, 3], atol=2e-4)


def test_a_limb_alone_has_no_body_and_a_parent_takes_the_place_of_all_spaces(rigify):
    ob = characters.make_limbs(characters.CONVENTIONS["plain, dots"], ".L")
    rigs.delete_bones(ob, "thigh.L", "shin.L", "foot.L")
    press(setup)
    assert spaces(ob) == {"Arm.L": ""}
    assert ob.chain_ik.body.root == ""
    human = make_character("human", parent="spine")
    assert set(spaces(human).values()) == {""}
    assert "Root" not in human.data.bones
    assert human.data.bones["Arm Target.L"].parent.name == "spine"


def test_a_character_that_has_chains_gets_what_is_missing_and_does_not_move(rigify, capfd):
    ob = opened(make_character, name="human")
    expected = spaces(ob)
    # As older versions made it: chains without a body, and controls without spaces.
    for bone in ob.pose.bones:
        for constraint in list(bone.constraints):
            bone.constraints.remove(constraint)
    rigs.delete_bones(ob, "Root")
    ob.chain_ik.body.root = ""
    ob.pose.bones["Arm Target.L"].location = (0.0, -0.1, 0.05)
    rigs.change(ob.pose.bones["spine"], rotation_quaternion=(0.99, 0.1, 0.0, 0.1))
    # A control with keys gets no active space but the root, which does not move.
    for name in ("Spine Target", "Arm Target.R"):
        ob.pose.bones[name].keyframe_insert("location", frame=1)
    before, count = places(ob), len(ob.chain_ik.chains)
    press(setup)
    assert "Controls that got spaces: 6" in capfd.readouterr().out
    assert len(ob.chain_ik.chains) == count
    assert farthest(before, places(ob)) <= 1e-6
    assert spaces(ob) == expected | {"Spine": ""}
    assert set(space_bones(ob, "Spine")) == {"spine", "Root"}
    assert refusal(setup).startswith("Every limb that was found already has a chain")


def test_a_space_that_the_user_has_chosen_stays(rigify):
    ob = make_character("human", kinds={"ARM"})
    ob.chain_ik.chains["Arm.L"].space = ""
    press(setup, kinds=characters.MAIN_LIMBS)
    assert spaces(ob)["Arm.L"] == ""
    assert spaces(ob)["Leg.L"] == "Root"
    assert [bone.name for bone in ob.data.bones if bone.name.startswith("Root")] == ["Root"]


Box = tuple[np.ndarray, np.ndarray]


def outline(ob: bpy.types.Object, name: str) -> np.ndarray:
    bone = rigs.evaluated(ob).pose.bones[name]
    size = bone.bone.length if bone.use_custom_shape_bone_size else 1.0
    place = Matrix.LocRotScale(
        Vector(bone.custom_shape_translation),
        Euler(bone.custom_shape_rotation_euler),
        size * Vector(bone.custom_shape_scale_xyz),
    )
    matrix = np.array(ob.matrix_world @ bone.matrix @ place)
    points = np.array([vertex.co for vertex in bone.custom_shape.data.vertices])
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def boxes(ob: bpy.types.Object) -> dict[str, Box]:
    """Return the lowest and highest corners of the controls of all chains and of the torso."""
    shapes = {chain.name: outline(ob, control_of(ob, chain.name)) for chain in ob.chain_ik.chains}
    shapes["Torso"] = outline(ob, ob.chain_ik.body.root)
    return {name: (points.min(axis=0), points.max(axis=0)) for name, points in shapes.items()}


def do_overlap(first: Box, second: Box, axes: str) -> bool:
    along = ["XYZ".index(axis) for axis in axes]
    low, high = np.maximum(first[0], second[0]), np.minimum(first[1], second[1])
    return bool((high > low)[along].all())


@pytest.mark.parametrize("name", ["human", "cat", "horse", "bird", "mixamo_names"])
def test_no_control_covers_another_one_and_feet_lie_flat_around_foot_and_toes(rigify, name):
    ob = opened(make_character, name=name)
    box_of = boxes(ob)
    sides = {limb: limb[-2:] if limb[-2:] in (".L", ".R") else "" for limb in box_of}
    for one, other in itertools.combinations(box_of, 2):
        assert not do_overlap(box_of[one], box_of[other], "XYZ"), (one, other)
        # From the side left and right overlap as the limbs do, from the front four legs do.
        on_two_legs = name in ("human", *characters.MOCAP)
        if on_two_legs:
            assert not do_overlap(box_of[one], box_of[other], "XZ"), (one, other)
        if sides[one] == sides[other]:
            assert not do_overlap(box_of[one], box_of[other], "YZ"), (one, other)
    for chain in [limb for limb in ob.chain_ik.chains if "Leg" in limb.name]:
        points = outline(ob, control_of(ob, chain.name))
        low, high = points.min(axis=0), points.max(axis=0)
        foot = next(child for child in ob.pose.bones[chain.bone].children if child.bone.use_deform)
        ends = [
            ob.matrix_world @ end
            for bone in (foot, *foot.children_recursive)
            for end in (bone.head, bone.tail)
            if "MCH" not in bone.name
        ]
        size = np.ptp(np.array(ends), axis=0)
        # The lowest four corners are at the height of the lowest bone.
        level = np.sort(points[:, 2])[:4]
        np.testing.assert_allclose(level, min(end.z for end in ends), atol=1e-5 * max(size))
        assert high[2] - low[2] <= 0.2 * max(size[:2])
        assert max(size[:2]) <= max((high - low)[:2]) <= 1.5 * max(size[:2])


def test_controls_of_feet_beside_each_other_do_not_overlap(rigify):
    ob = characters.add_rig("human")
    for side, turn in (("L", 0.05), ("R", -0.05)):
        thigh = ob.pose.bones[f"thigh.{side}"]
        thigh.rotation_mode, thigh.rotation_euler.z = "XYZ", turn
    press(setup, control="BONE")
    assert not do_overlap(boxes(ob)["Leg.L"], boxes(ob)["Leg.R"], "X")


def test_controls_of_feet_extend_past_heels_and_toes_in_any_pose(rigify):
    ob = characters.add_rig("human")
    ob.rotation_euler, ob.scale = (0.0, 0.0, 0.7), (2.0, 2.0, 2.0)
    rigs.change(ob.pose.bones["thigh.L"], rotation_mode="XYZ", rotation_euler=(-0.5, 0.4, 0.3))
    press(setup, control="BONE")
    points = outline(ob, "Leg Target.L")
    assert len(np.unique(points[:, 2].round(4))) == 2
    toe = np.array(ob.matrix_world @ ob.pose.bones["toe.L"].tail)
    foot = np.array(ob.matrix_world @ ob.pose.bones["foot.L"].head)
    forward = (toe - foot) * (1, 1, 0) / np.linalg.norm((toe - foot)[:2])
    assert (points @ forward).max() > toe @ forward
    heel = np.array(ob.matrix_world @ ob.pose.bones["heel.02.L"].head)
    assert (points @ forward).min() < heel @ forward


def test_boxes_contain_all_bones_of_hands_and_heads(rigify):
    ob = opened(make_character, name="human")
    for limb, bone in (("Arm.L", "hand.L"), ("Arm.R", "hand.R"), ("Neck", "spine.006")):
        control = ob.pose.bones[ob.chain_ik.chains[limb].subtarget]
        to_control = control.matrix.inverted()
        frame = np.array(to_control @ ob.matrix_world.inverted())
        box = outline(ob, control.name) @ frame[:3, :3].T + frame[:3, 3]
        top = ob.pose.bones[bone]
        for inner in (top, *top.children_recursive):
            for end in (inner.head, inner.tail):
                place = np.array(to_control @ end)
                assert (place > box.min(axis=0)).all()
                assert (place < box.max(axis=0)).all()


def test_controls_that_are_mirrored_are_drawn_as_the_other_ones(rigify):
    ob = opened(make_character, name="human")
    for limb in ("Arm", "Leg"):
        expected = outline(ob, f"{limb} Target.R")
        press_for(ob, f"{limb}.R", bpy.ops.pose.chain_ik_remove, delete_controls=True)
        press_for(ob, f"{limb}.L", bpy.ops.pose.chain_ik_mirror)
        for point in outline(ob, f"{limb} Target.R"):
            assert np.abs(expected - point).max(axis=1).min() < 1e-5
