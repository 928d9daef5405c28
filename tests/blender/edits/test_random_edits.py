"""Random edits of a file: chains go on or say why they cannot, and nothing else moves."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.edits import random_checks as checks
from tests.blender.edits import random_feet, random_run, random_saving
from tests.blender.edits.kinds.random_round_trips import round_trip
from tests.blender.edits.random_edits import RandomEdits
from tests.blender.edits.random_run import Job, find, run
from tests.blender.edits.random_scene import make_legs
from tests.blender.edits.random_truth import is_measurable, untrue
from tests.blender.setups import rigs

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

STEPS = 50
"""Of a file: about three seconds."""
FEW, MANY = range(4), range(4, 40)
BODIES = ("body", "move_target", "mute_chain", "set_frame", "add_chain", "undo", "rename_bone")
"""Edits of whole bodies, and what moves and changes these."""
UNDONE = ("undo", "key", "aim_at_own_bone", "move_target", "mute", "set_number")
"""Edits after which Blender may go down: keys and own targets, and much that is taken back."""


@pytest.fixture(autouse=True)
def without_handlers_of_rigify() -> None:
    """Rigify of Blender 5.2 leaves a handler behind when it is disabled, which fails on each load.

    What files print is searched for faults here, and other tests have used Rigify before.
    """
    handlers = bpy.app.handlers.load_post
    for handler in list(handlers):
        if handler.__module__.startswith("rigify"):
            handlers.remove(handler)


@pytest.mark.parametrize("seed", FEW)
def test_random_edits(seed):
    """What does not hold is told with its step; ``random_run`` makes it shorter."""
    finding = find(seed, Job((seed,), STEPS))
    assert finding is None, str(finding)


def test_random_edits_of_bodies():
    finding = find(0, Job((0,), STEPS, kinds=BODIES))
    assert finding is None, str(finding)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", MANY)
def test_many_random_edits(seed):
    finding = find(seed, Job((seed,), STEPS))
    assert finding is None, str(finding)


def test_blender_stays_up_when_much_is_undone():
    """In a process of its own, so that one that goes down is told as all else is."""
    found, count = run(Job((1, 2), 40, kinds=UNDONE))
    assert not found, "\n".join(map(str, found))
    assert count == 80


def test_a_process_that_goes_down_is_a_finding_and_the_next_file_goes_on():
    found, count = run(Job((1, 2), 3, kinds=("_go_down",)))
    assert [(each.seed, each.step) for each in found] == [(1, 1), (2, 1)]
    assert count == 2


def test_a_step_that_hangs_is_a_finding(monkeypatch):
    monkeypatch.setattr(random_run, "SECONDS", 0.2)
    monkeypatch.setattr(random_run, "POLL", 0.1)
    found, _ = run(Job((1,), 3))
    assert [(each.seed, each.text) for each in found] == [(1, "hung for 0.2 s")]


@pytest.mark.parametrize("ending", ["mute", "influence"])
def test_what_gives_a_refused_chain_its_stored_pose_back_is_no_finding(ending):
    """It keeps its pose until then, and nothing solves it from there."""
    machine = RandomEdits(1)
    machine.make_rigs()
    try:
        ob = bpy.data.objects["Other"]
        shown, (chain,) = checks.poses()["Other"], ob.chain_ik.chains
        chain.weight = float("nan")
        if ending == "mute":
            machine.mute_and_unmute(i=0, update=True)
        else:
            machine.influence_to_zero_and_back(i=0, update=True)
        assert checks.not_stable({"Other": shown}, checks.poses(), set())
        assert not chain.stored_pose
    finally:
        machine.close()


@pytest.mark.parametrize("is_keyed", [False, True])
def test_what_a_library_animates_is_no_finding_where_it_moves(is_keyed, tmp_path):
    empty = rigs.make_empty("Empty")
    if is_keyed:
        rigs.key(empty, "location", {1: (1.0, 0.0, 0.0)})
    path = str(tmp_path / "library.blend")
    bpy.data.libraries.write(path, {empty})
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = ["Empty"]
    name = wanted.objects[0].name_full
    moved = checks.moved_objects({name: np.zeros(3)}, {name: np.ones(3)})
    assert bool(moved) is not is_keyed


def test_an_override_with_another_rotation_mode_need_not_keep_its_last_digit(tmp_path):
    path = str(tmp_path / "library.blend")
    bpy.data.libraries.write(path, {rigs.make_rig()})
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    override = rigs.link(wanted.objects[0].override_create(remap_local_usages=False))
    assert random_saving.with_other_modes() == set()
    override.pose.bones["Bone.1"].rotation_mode = "YZX"
    assert random_saving.with_other_modes() == {override.name_full}


@pytest.mark.parametrize("what", ["a driver", "the armature"])
def test_blender_saves_overrides_in_part(what, tmp_path):
    """It loses, without any chain, what the checks of loaded files leave out."""
    rig = rigs.make_rig(rigs.zigzag(3))
    rigs.key(rig, "location", {1: (1.0, 0.0, 0.0)})
    bpy.data.libraries.write(str(tmp_path / "library.blend"), {rig})
    bpy.data.objects.remove(rig)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, wanted):
        wanted.objects = ["Rig"]
    override = rigs.link(wanted.objects[0].override_create(remap_local_usages=False))
    if what == "a driver":
        override.driver_add('pose.bones["Bone.2"].scale', 0).driver.expression = "frame"
    else:
        shorter = rigs.make_rig(rigs.zigzag(2), "Shorter")
        for bone in reversed(list(shorter.data.bones)):
            bone.name = f"Bone.{int(bone.name[-1]) + 1}"
        override.data = shorter.data
        override.pose.bones["Bone.2"].scale.x = 2.0
    rigs.go_to(2)
    assert override.pose.bones["Bone.2"].scale.x == 2.0
    assert random_saving.with_unsaved() == {override.name_full}
    path = str(tmp_path / "there.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    rigs.go_to(3)
    override = next(ob for ob in bpy.data.objects if ob.override_library)
    assert override.pose.bones["Bone.2"].scale.x == (2.0 if what == "a driver" else 1.0)


@pytest.mark.parametrize("is_linked", [True, False])
def test_blender_saves_nothing_that_only_a_constraint_uses(is_linked, tmp_path):
    """What hangs on it is left out of the checks of loaded files, and nothing else."""
    rig, mover = rigs.make_rig(), rigs.make_empty("Mover", (1, 2, 3))
    rig.constraints.new("COPY_LOCATION").target = mover
    if not is_linked:
        bpy.context.scene.collection.objects.unlink(mover)
    assert random_saving.with_unsaved() == (set() if is_linked else {"Rig"})
    path = str(tmp_path / "there.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    assert (bpy.data.objects["Rig"].constraints[0].target is not None) == is_linked


def test_a_chain_from_current_with_locked_rotations_may_move_once_more():
    ob, _ = rigs.make_arm((0.6, 0.5, 1.2), start_from="CURRENT")
    assert checks.with_locks() == set()
    ob.pose.bones["Bone.1"].lock_rotation = (True, False, False)
    assert checks.with_locks() == {"Rig"}
    ob.chain_ik.chains[0].start_from = "KEYED"
    assert checks.with_locks() == set()


def test_a_bone_stored_in_another_rotation_mode_need_not_keep_its_last_digit():
    ob, _ = rigs.make_arm((0.6, 0.5, 1.2))
    assert checks.with_converted() == set()
    ob.pose.bones["Bone.1"].rotation_mode = "YZX"
    assert checks.with_converted() == {ob.name_full}


@pytest.mark.parametrize("is_shared", [False, True])
def test_a_constraint_on_the_bones_of_another_chain_of_its_tree_excuses_a_chain(is_shared):
    """Below a chain that it shares no bones with it has to reach all the same."""
    ob, _ = rigs.make_arm((0.6, 0.5, 1.2))
    rigs.add_bones(ob, [(0, 0, 2), (0, 0.2, 2.8)], prefix="Hand", parent="Bone.1")
    ob.pose.bones["Bone.0"].constraints.new("CHILD_OF").target = rigs.make_empty("Mover", (1, 0, 0))
    if is_shared:
        ob.chain_ik.chains[0].bone = "Hand.0"
    rigs.add_chain(ob, "Hand.0", rigs.make_empty("Side", (1.9, 0.5, 1.4)), chain_count=1)
    rigs.updated()
    first, second = ob.chain_ik.chains
    assert not is_measurable(ob, first)
    assert is_measurable(ob, second) is not is_shared
    assert not untrue(bpy.context.scene)


def test_a_solved_chain_that_does_not_come_back_from_mute_is_a_finding():
    machine = RandomEdits(0)
    machine.make_rigs()
    try:
        with pytest.raises(AssertionError, match="moved by mute"), round_trip("mute", True):
            bpy.data.objects["Other"].chain_ik.chains[0].mute = True
    finally:
        machine.close()


@pytest.mark.parametrize(
    ("channel", "is_keyed"), [("location", False), ("location", True), ("roll", False)]
)
def test_a_button_that_moves_keys_or_rolls_what_only_a_foots_control_moves_is_a_finding(
    channel, is_keyed
):
    ob = make_legs(1, 1)
    rigs.updated()
    before = random_feet.mechanisms()
    assert not random_feet.touched(before)
    if is_keyed:
        ob.pose.bones["Leg Ankle.L"].keyframe_insert(channel)
    elif channel == "roll":
        ob.pose.bones["Leg Target.L"]["Foot Roll"] = 0.1
    else:
        ob.pose.bones["Leg Ankle.L"].location.x = 0.1
    assert len(random_feet.touched(before)) == 1


def test_a_chain_that_leaves_what_it_drove_of_a_foot_is_no_finding():
    ob = make_legs(1, 1)
    rigs.add_chain(ob, "Leg Heel.L", None)
    ob.pose.bones["Leg Heel.L"].constraints.new("CHILD_OF")
    rigs.updated()
    before = random_feet.mechanisms()
    ob.chain_ik.chains.remove(len(ob.chain_ik.chains) - 1)
    rigs.updated()
    assert not random_feet.touched(before)
    before = random_feet.mechanisms()
    ob.pose.bones["Leg Heel.L"].constraints.new("CHILD_OF")
    assert len(random_feet.touched(before)) == 1


def test_a_rig_whose_feet_are_driven_by_its_own_properties_is_looked_at_as_all_others():
    make_legs(1, 2)
    rigs.updated()
    assert checks.without_rest() == set()
