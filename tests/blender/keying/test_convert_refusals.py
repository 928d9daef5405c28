"""Chains and constraints without a counterpart are refused with a sentence and do not change."""

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest

from tests.blender.kept.test_overrides import make_override, overridden, write_library
from tests.blender.keying.converted_rigs import (
    CONSTRAINT,
    Limb,
    constrain,
    convert,
    ik_constraints,
    settings_and_animation,
    to_chains,
    to_constraints,
    two_limbs,
)
from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.keyed_limbs import assign_action
from tests.blender.setups.selecting import refusal, select_bones


def grouped_mesh() -> bpy.types.Object:
    mesh = bpy.data.meshes.new("Mesh")
    mesh.from_pydata([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [], [(0, 1, 2)])
    ob = rigs.link(bpy.data.objects.new("Mesh", mesh))
    ob.vertex_groups.new(name="Group").add([0], 1.0, "REPLACE")
    return ob


def follow(limb: Limb, target: bpy.types.Object, subtarget: str) -> None:
    limb.constraint.target, limb.constraint.subtarget = target, subtarget


def take_length(limb: Limb) -> None:
    limb.ob.pose.bones["Bone.0"].scale = (0.0, 0.0, 0.0)


NO_LENGTH = (
    "Bone 'Bone.0' has a length of zero, so it cannot be turned: check its scale and location,"
    " or leave it out of the chain."
)


def set_up(**settings: object) -> Callable[[Limb], object]:
    """Return a function that changes settings of the chain, or of the constraint without one."""
    return lambda limb: rigs.change(
        limb.chain if limb.ob.chain_ik.chains else limb.constraint, **settings
    )


def key(limb: Limb, **values: object) -> None:
    for name, value in values.items():
        rigs.key(limb.ob, f"{CONSTRAINT}.{name}", {1: value})


def animate_padlock(limb: Limb) -> None:
    rigs.key(limb.ob, 'pose.bones["Bone.0"].lock_rotation', {1: (True, True, True)})


def modify_eye(limb: Limb) -> None:
    key(limb, enabled=True)
    rigs.curves_of(limb.ob)[0].modifiers.new("NOISE")


def share_action(limb: Limb) -> None:
    key(limb, influence=0.5)
    other = Limb(4, name="Other")
    other.constrain()
    assign_action(other.ob, limb.ob.animation_data.action)


CONSTRAINTS: dict[str, tuple[Callable[[Limb], object], str]] = {
    "solver": (
        lambda limb: setattr(limb.ob.pose, "ik_solver", "ITASC"),
        "This armature's IK Solver is iTaSC, which chains do not support: set it to Standard in"
        " the armature's properties first.",
    ),
    "distance": (
        set_up(ik_type="DISTANCE"),
        "Chains have no Distance mode: set IK Type to Copy Pose first.",
    ),
    "position": (
        set_up(use_location=False, use_rotation=True),
        "Chains need a position: switch Position on first.",
    ),
    "iterations": (
        set_up(iterations=0),
        "Its Iterations are 0, so it moves nothing: enter a higher number first.",
    ),
    "space": (
        set_up(target_space="LOCAL"),
        "Chains follow their targets in world space: set its Target Space to World Space first.",
    ),
    "vertex group": (
        lambda limb: follow(limb, grouped_mesh(), "Group"),
        "Chains cannot follow the vertex group 'Group' of 'Mesh': follow an empty with a vertex"
        " parent instead.",
    ),
    "armature without bone": (
        lambda limb: setattr(limb.constraint, "target", rigs.make_rig(name="Other")),
        "No bone of 'Other' is set: choose the bone to follow.",
    ),
    "no target": (
        set_up(target=None),
        "No target is set: choose an object for the chain to follow.",
    ),
    "no length": (take_length, NO_LENGTH),
    "own bone": (
        lambda limb: follow(limb, limb.ob, "Bone.1"),
        "This chain moves its own target bone 'Bone.1': choose a bone outside the chain.",
    ),
    "animated padlocks": (
        animate_padlock,
        "The rotation locks of bone 'Bone.0' are animated, and chains obey them: delete their keys"
        " or drivers first.",
    ),
    "keys of what is lost": (
        lambda limb: key(limb, use_stretch=True),
        "Its setting 'Stretch' is animated, but this animation cannot be converted: delete its"
        " keys or driver first.",
    ),
    "keys of mute and eye": (
        lambda limb: key(limb, mute=False, enabled=True),
        "There are already keys or drivers for 'chain_ik.chains[0].mute': delete them first.",
    ),
    "modifiers of the eye": (
        modify_eye,
        "The F-curve of its setting 'Enabled' has modifiers that cannot be inverted: delete"
        " these modifiers first.",
    ),
    "shared action": (
        share_action,
        "The action 'RigAction' also animates 'Other', so its keys cannot follow the chains of"
        " only one of them: give each its own action first.",
    ),
}


def assert_refused(limb: Limb, sentence: str, atol: float = 0.0, **settings: object) -> None:
    select_bones(limb.ob, ["Bone.1"])
    before, joints = settings_and_animation(limb.ob), limb.joints()
    assert refusal(convert, **settings) == sentence
    rigs.updated()
    assert settings_and_animation(limb.ob) == before
    np.testing.assert_allclose(limb.joints(), joints, rtol=0.0, atol=atol)


@pytest.mark.parametrize(("breaks", "sentence"), CONSTRAINTS.values(), ids=CONSTRAINTS.keys())
def test_a_constraint_without_counterpart_stays_and_says_why(breaks, sentence):
    limb = Limb(3)
    limb.constrain()
    breaks(limb)
    rigs.go_to(1)
    of_constraint = "" if sentence.startswith("This armature") else "Constraint 'IK' of 'Bone.1': "
    assert_refused(limb, of_constraint + sentence)


def test_of_several_constraints_of_a_bone_none_is_converted_until_one_counts(capfd):
    limb = Limb(3)
    limb.constrain()
    constrain(limb.ob, "Bone.1", limb.target, name="Second", chain_count=2)
    rigs.updated()
    before = settings_and_animation(limb.ob)
    select_bones(limb.ob, ["Bone.1"])
    with pytest.raises(RuntimeError, match="Blender uses only the first IK constraint"):
        convert("EXEC_DEFAULT", True)
    assert settings_and_animation(limb.ob) == before
    limb.ob.pose.bones["Bone.1"].constraints["Second"].mute = True
    to_chains(limb.ob, "Bone.1")
    assert [chain.mute for chain in limb.ob.chain_ik.chains] == [False, True]


def switch_limits_off(limb: Limb) -> None:
    limb.ob.pose.bones["Bone.1"].lock_ik_y = True
    limb.chain.use_limits = False


def end_away_from_parent(limb: Limb) -> None:
    rigs.add_bones(limb.ob, [(0, 0, 4), (0, 0, 5)], prefix="Off", parent="Bone.2")
    limb.chain.bone, limb.chain.use_tail = "Off.0", False


CHAINS_ALONE: dict[str, tuple[Callable[[Limb], object], str]] = {
    "force": (
        set_up(solver="FORCE"),
        "IK constraints do not have the solvers Force and Follow: choose another solver first.",
    ),
    "joints": (
        lambda limb: add_joint(limb.chain, "Bone.1", "HINGE_X"),
        "IK constraints cannot use the joints of a chain: remove these joints first.",
    ),
    "limits off": (
        switch_limits_off,
        "IK constraints always use the limits of bones: switch Limits on first.",
    ),
    "with body": (
        set_up(pole_mode="FOLLOW"),
        "IK constraints cannot bend with the body: press Add Pole first.",
    ),
    "flip": (
        set_up(pole_target=None, use_flip_bend=True),
        "IK constraints have no Flip Bend: add a pole, or switch it off.",
    ),
    "hand": (
        set_up(bone="Bone.2", use_tail=False, use_rotation=True),
        "IK constraints cannot turn bone 'Bone.2' with the target: switch Rotation off, and give"
        " that bone a Copy Rotation constraint.",
    ),
    "weight": (
        set_up(weight=0.0),
        "IK constraints need a weight of at least 0.01: enter a higher weight first.",
    ),
    "off its parent": (
        end_away_from_parent,
        "Without Use Tail, IK constraints need a bone whose head is at the tail of its parent:"
        " switch Use Tail on.",
    ),
    "no length": (take_length, NO_LENGTH),
    "another": (
        lambda limb: constrain(limb.ob, "Bone.2", limb.target, name="Other", chain_count=1),
        "Bone 'Bone.2' already has an IK constraint: delete it first.",
    ),
    "no target": (
        set_up(target=None),
        "No target is set: choose an object for the chain to follow.",
    ),
}


@pytest.mark.parametrize(("breaks", "sentence"), CHAINS_ALONE.values(), ids=CHAINS_ALONE.keys())
def test_a_chain_without_counterpart_stays_and_says_why(breaks, sentence):
    limb = Limb(3, 3)
    limb.add_chain(name="Arm")
    breaks(limb)
    rigs.updated()
    assert_refused(limb, f"Chain 'Arm': {sentence}", 3e-6, direction="TO_CONSTRAINTS")


def test_no_constraint_drives_more_bones_than_blender_counts():
    limb = Limb(1, 256, use_pole=False, turn=0.01)
    limb.add_chain(name="Rope", chain_count=256)
    select_bones(limb.ob, [limb.bones[-1]])
    assert refusal(convert, direction="TO_CONSTRAINTS") == (
        "Chain 'Rope': IK constraints move at most 255 bones: shorten the chain."
    )


def test_a_refused_constraint_does_not_stop_others(capfd):
    ob = two_limbs()
    ob.pose.bones["Left.1"].constraints["Left"].iterations = 0
    to_chains(ob)
    assert ob.chain_ik.chains.keys() == ["Right"]
    assert [item.name for item in ik_constraints(ob)] == ["Left"]
    output = capfd.readouterr().out
    assert "Warning: Constraint 'Left' of 'Left.1': Its Iterations are 0" in output
    assert "Info: Converted 1 constraint to a chain" in output


def test_with_nothing_to_convert_it_says_what_to_select():
    ob = rigs.make_rig()
    select_bones(ob, ["Bone.0"])
    assert refusal(convert).startswith("No selected bone has an IK constraint")
    assert refusal(convert, use_all=True) == "No bone of this armature has an IK constraint."
    text = refusal(convert, direction="TO_CONSTRAINTS")
    assert text == "No selected bone belongs to a chain: select a bone of a chain in pose mode."


def test_in_an_override_what_the_library_gives_stays_and_what_was_added_here_goes(tmp_path):
    library = tmp_path / "library.blend"
    write_library(library, "Left")
    bpy.ops.wm.open_mainfile(filepath=str(library))
    constrain(bpy.data.objects["Rig"], "Right.2", bpy.data.objects["Left Target"], name="Given")
    bpy.ops.wm.save_mainfile()
    ob = make_override(library)
    target = rigs.make_empty("Here", (4.6, 0.5, 1.2))
    constrain(ob, "Tail.2", target, name="Added", chain_count=3)
    rigs.updated()
    select_bones(ob, ["Right.2"])
    assert refusal(convert) == (
        "Constraint 'Given' of 'Right.2': This constraint comes from a library: convert it there"
        " first, and then here again to move the keys of this file."
    )
    select_bones(ob, ["Left.1"])
    assert refusal(convert, direction="TO_CONSTRAINTS") == (
        "Chain 'Left': This chain comes from a library: convert it there."
    )
    to_chains(ob, "Tail.2")
    assert ob.chain_ik.chains.keys() == ["Left", "Added"]
    assert scaled_rigs.miss(ob, [f"Tail.{i}" for i in range(3)], target) < 1e-3
    to_constraints(ob, use_all=False)
    assert [item.name for item in ik_constraints(ob)] == ["Given", "Added"]
    assert ob.chain_ik.chains.keys() == ["Left"]


def test_in_an_override_locked_bones_are_unlocked_if_blender_saves_that(tmp_path):
    library = tmp_path / "library.blend"
    write_library(library)
    bpy.ops.wm.open_mainfile(filepath=str(library))
    bpy.data.objects["Rig"].pose.bones["Tail.1"].lock_rotation = (True, True, True)
    bpy.ops.wm.save_mainfile()
    ob = make_override(library)
    constrain(ob, "Tail.2", rigs.make_empty("Here", (4.6, 0.5, 1.2)), chain_count=3)
    rigs.updated()
    select_bones(ob, ["Tail.2"])
    if not ob.pose.bones["Tail.1"].is_property_overridable_library("lock_rotation"):
        assert refusal(convert) == (
            "Constraint 'IK' of 'Tail.2': The rotation of bone 'Tail.1' is locked in the library,"
            " and chains cannot turn it: unlock it there first."
        )
        return
    to_chains(ob, "Tail.2")
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    assert not any(overridden().pose.bones["Tail.1"].lock_rotation)


@pytest.mark.parametrize("name", ["IK", "Leg"])
def test_after_the_library_is_converted_a_shot_moves_its_keys_to_the_chains(tmp_path, name, capfd):
    library, shot = str(tmp_path / "library.blend"), str(tmp_path / "shot.blend")
    write_library(Path(library))
    bpy.ops.wm.open_mainfile(filepath=library)
    ob = bpy.data.objects["Rig"]
    goal = rigs.make_empty("Goal", (2.6, 0.5, 1.2))
    # Keys must not go to the chain of the parent.
    for count in (2, 3):
        constrain(ob, f"Right.{count - 1}", goal, name=name, chain_count=count, mute=count == 2)
    bpy.ops.wm.save_mainfile()
    ob = make_override(Path(library))
    constraint = f'pose.bones["Right.2"].constraints["{name}"]'
    rigs.key(ob, f"{constraint}.influence", {1: 0.0, 11: 1.0})
    rigs.key(ob, f"{constraint}.enabled", {1: True, 20: False})
    rigs.key(ob, f"{constraint}.pole_angle", {1: 0.5})
    select_bones(ob, ["Right.2"])
    assert "convert it there first, and then here again" in refusal(convert)
    bpy.ops.wm.save_as_mainfile(filepath=shot)
    bpy.ops.wm.open_mainfile(filepath=library)
    to_chains(bpy.data.objects["Rig"])
    bpy.ops.wm.save_mainfile()
    bpy.ops.wm.open_mainfile(filepath=shot)
    ob = overridden()
    to_chains(ob, "Right.2")
    chain = ob.chain_ik.chains[1]
    moved = f"Keys of constraints that the library has replaced now animate '{chain.name}'"
    assert moved in capfd.readouterr().out
    path = "chain_ik.chains[1]"
    paths = [path + ".influence", path + ".mute", constraint + ".pole_angle"]
    assert [curve.data_path for curve in rigs.curves_of(ob)] == paths
    played = []
    for _ in rigs.each_frame((6, 11, 20)):
        played.append((chain.influence, chain.mute))
    assert played == [(0.5, False), (1.0, False), (1.0, True)]
