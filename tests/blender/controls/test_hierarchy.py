"""Set Up Limbs hangs the controls of a body on each other: what carries them takes them along."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Vector

from tests.blender.body.human_bodies import farthest, make_character
from tests.blender.operators.test_characters import CONVENTIONS, RIGS, USUAL, make_limbs
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press, refusal, state

setup = bpy.ops.pose.chain_ik_setup
remove = bpy.ops.pose.chain_ik_remove

HIPS = {
    "human": "spine",
    "horse": "spine.001",
    "bird": "spine.003",
}


def places(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    """Return where bones are, world space, as a share of the size of the body."""
    owner = rigs.evaluated(ob)
    found = {bone.name: np.array(owner.matrix_world @ bone.matrix) for bone in owner.pose.bones}
    size = max(max(map(abs, bone.head_local)) for bone in ob.data.bones if bone.use_deform)
    return {name: matrix[:3, 3] / size for name, matrix in found.items()}


def missing(ob: bpy.types.Object) -> list[str]:
    """Return what the chains say that have not reached their targets."""
    return [
        f"{chain.name}: {chain.status}"
        for chain in ob.chain_ik.chains
        if not chain.status.startswith("Reached")
    ]


def spaces(ob: bpy.types.Object) -> dict[str, str]:
    return {chain.name: chain.space for chain in ob.chain_ik.chains}


def offered(ob: bpy.types.Object, chain: str) -> list[str]:
    control = ob.pose.bones[ob.chain_ik.chains[chain].subtarget]
    return [each.targets[0].subtarget for each in control.constraints]


def test_the_controls_of_a_human_go_along_with_what_carries_them(rigify):
    ob = make_character("human", kinds={"ARM", "LEG", "SPINE", "NECK", "FINGER"})
    found = spaces(ob)
    chest, head = "Spine Target", "Neck Target"
    assert (found["Spine"], found["Neck"]) == ("spine", chest)
    assert {found[name] for name in ("Arm.L", "Arm.R", "Leg.L", "Leg.R")} == {"Root"}
    assert (found["Thumb.L"], found["Pinky.R"]) == ("Arm Target.L", "Arm Target.R")
    assert set(offered(ob, "Arm.L")) == {"Root", "spine", chest, head}
    assert set(offered(ob, "Neck")) == {chest, "spine", "Root"}
    # The ring lies on the floor, under the hips, around both feet.
    root, foot = rigs.evaluated(ob).pose.bones["Root"], ob.pose.bones["heel.02.L"]
    assert root.head.z == pytest.approx(foot.head.z, abs=1e-4)
    np.testing.assert_allclose(root.head.xy, ob.pose.bones["spine"].head.xy, atol=1e-5)
    assert np.linalg.norm(ob.pose.bones["toe.L"].tail.xy - root.head.xy) < root.length
    assert not ob.data.bones["Root"].use_deform


def test_what_could_go_along_with_a_control_is_no_space_for_it_until_that_is_deleted(rigify):
    ob = opened(make_character, name="human")
    assert spaces(ob)["Arm.L"] == "Root"
    # A new pole goes along with what its target does.
    ob.chain_ik.active_index = list(spaces(ob)).index("Leg.L")
    press(bpy.ops.pose.chain_ik_pole_add, control="BONE")
    assert ob.chain_ik.chains["Leg.L"].pole_space == "Root"
    ob.chain_ik.active_index = list(spaces(ob)).index("Spine")
    switch = bpy.ops.pose.chain_ik_switch_space
    assert refusal(switch, space="Arm Target.L") == (
        "Space 'Arm Target.L' moves with 'Spine Target', or could by one of its constraints: choose"
        " another space, or delete that constraint."
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
    lowest = min(min(each.head.z, each.tail.z) for each in ob.pose.bones)
    way = Vector((0, 0, share * (lowest - bone.head.z)))
    bone.location = bone.bone.matrix_local.to_3x3().inverted() @ way
    rigs.updated()


def assert_root_takes_everything_along(ob: bpy.types.Object) -> None:
    """Move and turn the root once around."""
    root = ob.pose.bones["Root"]
    root.rotation_mode = "XYZ"
    start = _world(ob)
    for step in range(0, 9, 2):
        root.location = (0.4 * step, -0.1 * step, 0.05 * step)
        root.rotation_euler = (0.1 * step, -0.05 * step, step * np.pi / 4.0)
        rigs.updated()
        assert not missing(ob)
        world = _world(ob)
        moved = world["Root"] @ np.linalg.inv(start["Root"])
        for bone, matrix in start.items():
            np.testing.assert_allclose((moved @ matrix)[:3, 3], world[bone][:3, 3], atol=2e-4)


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
    # Toes hang on the foot that rolls.
    for chain, space in [each for each in spaces(ob).items() if "Toe" not in each[0]]:
        assert space
        assert (space == root) == ("Leg" in chain or "Arm" in chain), chain
    before = places(ob)
    ends = [end for limb, (*_, end) in RIGS[name].items() if "Leg" in limb]
    for share in (0.1, 0.3):
        lower(ob, share)
        assert not missing(ob)
    after = places(ob)
    for end in (f"{each}{side}" for each in ends for side in (".L", ".R")):
        np.testing.assert_allclose(after[end], before[end], atol=2e-5, err_msg=end)
    lower(ob, 0.0)
    assert farthest(before, places(ob)) <= 5e-5
    if control == "BONE":
        lower(ob, 0.2)
        assert_root_takes_everything_along(ob)


def _world(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    owner = rigs.evaluated(ob)
    return {bone.name: np.array(owner.matrix_world @ bone.matrix) for bone in owner.pose.bones}


def test_a_limb_alone_has_no_body_and_a_parent_takes_the_place_of_all_spaces(rigify):
    ob = make_limbs(CONVENTIONS["plain, dots"], ".L")
    rigs.delete_bones(ob, "thigh.L", "shin.L", "foot.L")
    press(setup)
    assert spaces(ob) == {"Arm.L": ""}
    assert ob.chain_ik.body.root == ""
    human = make_character("human", parent="spine")
    assert set(spaces(human).values()) == {""}
    assert "Root" not in human.data.bones
    assert human.data.bones["Arm Target.L"].parent.name == "spine"


def make_former(ob: bpy.types.Object) -> None:
    """Make a character as it was before there were bodies: chains, and controls without spaces."""
    for bone in ob.pose.bones:
        for constraint in list(bone.constraints):
            bone.constraints.remove(constraint)
    rigs.delete_bones(ob, "Root")
    ob.chain_ik.body.root = ""
    rigs.updated()


def test_a_character_that_has_chains_gets_what_is_missing_and_does_not_move(rigify, capfd):
    ob = opened(make_character, name="human")
    wanted = spaces(ob)
    make_former(ob)
    control = ob.pose.bones["Arm Target.L"]
    control.location = (0.0, -0.1, 0.05)
    ob.pose.bones["spine"].rotation_quaternion = (0.99, 0.1, 0.0, 0.1)
    rigs.updated()
    # What has keys stays in its own space, but for a root, which stands still.
    for name in ("Spine Target", "Arm Target.R"):
        ob.pose.bones[name].keyframe_insert("location", frame=1)
    before, count = places(ob), len(ob.chain_ik.chains)
    press(setup)
    assert "Controls that got spaces: 6" in capfd.readouterr().out
    assert len(ob.chain_ik.chains) == count
    assert farthest(before, places(ob)) <= 1e-6
    assert spaces(ob) == wanted | {"Spine": ""}
    assert set(offered(ob, "Spine")) == {"spine", "Root"}
    earlier = state()
    assert refusal(setup).startswith("Every limb that was found has a chain already")
    assert state() == earlier


def test_a_space_that_somebody_has_chosen_stays(rigify):
    ob = make_character("human", kinds={"ARM"})
    ob.chain_ik.chains["Arm.L"].space = ""
    press(setup, kinds=USUAL)
    assert spaces(ob)["Arm.L"] == ""
    assert spaces(ob)["Leg.L"] == "Root"
    assert [bone.name for bone in ob.data.bones if bone.name.startswith("Root")] == ["Root"]
