"""Chains below other chains: what they hang on is posed as Blender evaluates it."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.live import live
from blender_ik_addon.rig.reading.channels import Pose
from blender_ik_addon.rig.reading.update import Update
from tests.blender.controls import rolled
from tests.blender.rigid.rigid_trees import noted
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.setups.keyed_limbs import read_by
from tests.blender.setups.warm_rigs import JOINTS
from tests.helpers import make_rng

INHERIT = ("FULL", "FIX_SHEAR", "AVERAGE", "NONE", "NONE_LEGACY", "ALIGNED")
# What float32 leaves of a matrix, as a share of its largest number.
SAME = 1e-6


@rigs.at_rest()
def make_body(seed: int) -> tuple[bpy.types.Object, list[bpy.types.Object]]:
    """Return a rig whose arms hang by a shoulder each on a spine, and the targets of all three."""
    rng = make_rng(seed)
    ob = rigs.make_rig(rigs.zigzag(4, seed), f"Rig {seed}", prefix="Spine")
    for side in ("L", "R"):
        above = f"Spine.{rng.integers(1, 4)}"
        at = np.array(ob.data.bones[above].tail_local)
        (shoulder,) = rigs.add_bones(
            ob, [at, at + rng.uniform(-1, 1, 3)], prefix=f"Shoulder.{side}", parent=above
        )
        joints = at + rng.uniform(0.2, 1.0, 3) + np.cumsum(rng.uniform(-0.2, 0.8, (4, 3)), axis=0)
        rigs.add_bones(ob, joints, prefix=f"Arm.{side}", parent=shoulder)
    rigs.turn_bones(ob, seed=seed, angle=0.4)
    for bone in ob.pose.bones:
        bone.rotation_mode = str(rng.choice(rigs.ROTATION_MODES))
        if not bone.bone.use_connect:
            bone.location = rng.uniform(-0.3, 0.3, 3)
        if bone.name.startswith("Arm"):
            continue
        if rng.random() < 0.4:
            bone.scale = rng.uniform(0.6, 1.6, 3)
        if rng.random() < 0.3:
            bone.bone.inherit_scale = str(rng.choice(INHERIT))
        bone.bone.use_inherit_rotation = bool(rng.random() < 0.9)
        bone.bone.use_local_location = bool(rng.random() < 0.8)
    ob.location, ob.rotation_euler = rng.uniform(-2, 2, 3), rng.uniform(-3, 3, 3)
    targets = []
    for tip in ("Spine.3", "Arm.L.2", "Arm.R.2"):
        targets.append(rigs.make_empty(f"{tip} {seed}", rng.uniform(-2, 2, 3)))
        count = 4 if tip == "Spine.3" else 3
        rigs.add_chain(ob, tip, targets[-1], name=tip, chain_count=count)
    return ob, targets


def assert_stands(pose: Pose, shown: bpy.types.Object, bone: str, columns: slice) -> None:
    """Check where a bone is taken to stand against where Blender has it."""
    own = pose.matrices[shown.data.bones.find(bone)][:, columns]
    evaluated = np.array(shown.pose.bones[bone].matrix)[:, columns]
    assert np.abs(own - evaluated).max() <= SAME * max(1.0, np.abs(evaluated).max()), bone


@pytest.mark.parametrize("seed", range(2))
def test_parents_that_other_chains_move_stand_as_blender_evaluates_them_and_stay(seed, monkeypatch):
    bodies = [make_body(2 * seed + number) for number in range(2)]
    rigs.updated()
    calls, rng = noted(monkeypatch, Update, "evaluate_again"), make_rng(seed)
    for _, targets in bodies:
        for target in targets:
            target.location = rng.uniform(-2, 2, 3)
    depsgraph = rigs.updated()
    (graph,) = live.memory.graphs.values()
    for ob, _ in bodies:
        state, shown = graph.rigs[ob.session_uid], rigs.evaluated(ob, depsgraph)
        for root in (ob.data.bones["Arm.L.0"], ob.data.bones["Arm.R.0"]):
            assert_stands(state.pose, shown, root.name, slice(3, 4))
            for above in root.parent_recursive:
                assert_stands(state.pose, shown, above.name, slice(4))
    assert not calls
    before = [rigs.rotations(ob) for ob, _ in bodies]
    rigs.tagged(*(ob for ob, _ in bodies))
    assert [rigs.rotations(ob) for ob, _ in bodies] == before
    # A custom property no pose changes; where a driver may read a pose, Blender is asked.
    ob, targets = bodies[0]
    shoulder = ob.pose.bones["Shoulder.L.0"]
    shoulder["Switch"] = 0.1
    for path, is_asked in READ.items():
        read_by(shoulder, "location", ob, path, 0)
        rigs.updated()
        calls.clear()
        targets[0].location.x += 0.3
        shown = rigs.evaluated(ob, rigs.updated())
        assert bool(calls) == is_asked
        assert_stands(graph.rigs[ob.session_uid].pose, shown, shoulder.name, slice(4))


READ = {
    'pose.bones["Shoulder.L.0"]["Switch"]': False,
    'pose.bones["Spine.0"].rotation_quaternion[1]': True,
}
"""What drivers read, and whether it may be a pose."""


def test_arms_and_toes_of_a_human_with_foot_roll_need_no_second_evaluation(rigify, monkeypatch):
    ob = rolled.human(down=0.05)
    calls = noted(monkeypatch, Update, "evaluate_again")
    before = rigs.matrices(ob)
    ob.pose.bones["Spine Target"].location.z += 0.1
    rolled.turn(ob, rolled.ROLL, 20.0)
    depsgraph = rigs.updated()
    assert not calls
    after = rigs.matrices(ob)
    assert min(rolled.off(before, after, bone) for bone in ("upper_arm.L", "foot.L")) > 1e-3
    (graph,) = live.memory.graphs.values()
    state, shown = graph.rigs[ob.session_uid], rigs.evaluated(ob, depsgraph)
    for root in ("upper_arm.L", "toe.L", "toe.R"):
        for above in ob.data.bones[root].parent_recursive:
            assert_stands(state.pose, shown, above.name, slice(4))


ABOUT_THE_ROOT = {"rotation_quaternion": (0.9, 0.3, -0.2, 0.25)}
"""The limb begins where the bone above it does."""
ALONG = {"location": (0.2, -0.1, 0.15)}


@pytest.mark.parametrize("solver", ["NEWTON", "FABRIK"])
@pytest.mark.parametrize("limited", [False, True], ids=["free", "limited"])
def test_a_limb_of_uneven_bones_follows_as_anew_where_its_parent_turns_or_moves(solver, limited):
    ob = rigs.make_armature()
    rigs.add_bones(ob, ((0, 0, 0), (-0.5, 0, 0)), prefix="Above")
    rigs.add_bones(ob, JOINTS, parent="Above.0")
    ob.pose.bones["Bone.1"].scale = (1.2, 0.9, 1.1)
    ob.pose.bones["Bone.1"].use_ik_limit_x = limited
    rigs.turn_bones(ob)
    target, _ = rigs.follow(ob, "Bone.2", (0.6, 0.4, 0.9), chain_count=3, solver=solver)
    rigs.updated()
    for changes in (ABOUT_THE_ROOT, ALONG, ABOUT_THE_ROOT | ALONG):
        above = ob.pose.bones["Above.0"]
        former = {name: getattr(above, name).copy() for name in changes}
        for values in (changes, former):
            warm = rigs.pose(ob, rigs.change(above, **values))
            live.memory.clear()
            rigs.tagged(ob)
            np.testing.assert_allclose(rigs.pose(ob), warm, atol=1e-6)
            rigs.change(target.location, x=target.location.x + 0.03)


def test_a_chain_starts_from_the_slides_that_stand_there_though_its_bones_never_turn():
    """Two bones slide along one line: how they share the way hangs on where they were."""
    ob = rigs.make_rig([(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3)], is_connected=False)
    for name, home in (("Bone.1", 0.3), ("Bone.2", 0.1)):
        ob.pose.bones[name].location.y = home
    target, chain = rigs.follow(ob, "Bone.2", (0, 0, 3.4), chain_count=3, start_from="CURRENT")
    give(chain, "Bone.0", "FIXED")
    for name, most in (("Bone.1", 0.1), ("Bone.2", 0.5)):
        give(chain, name, "FIXED", use_slide=True, slide_min=-0.5, slide_max=most)
    rigs.updated()
    shares = []
    for up in (3.4, 3.7, 3.4):
        rigs.change(target.location, z=up)
        rigs.assert_reaches(ob, "Bone.2", target)
        shares.append([ob.pose.bones[name].location.y for name in ("Bone.1", "Bone.2")])
    # The first one has come to the end of its range, so the second one has gone farther.
    np.testing.assert_allclose(shares, [(0.3, 0.1), (0.4, 0.3), (0.25, 0.15)], atol=1e-4)
