"""Rigid chains are posed as bone by bone; bones above chains are posed as by Blender."""

import re
from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
import pytest

from blender_ik_addon.core.solving.compiled_chains import MAX_CHAINS_IN_FLOATS
from blender_ik_addon.rig.live import live
from blender_ik_addon.rig.reading.channels import Pose
from blender_ik_addon.rig.reading.update import Update
from blender_ik_addon.rig.trees.driven import Driven
from tests.blender.controls import rolled
from tests.blender.setups import rigs, scaled_rigs, warm_rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.keyed_limbs import read_by
from tests.blender.setups.warm_rigs import JOINTS
from tests.core.chains import random_direction
from tests.helpers import make_rng, record_calls

# Largest difference of channels, and of residuals in scene units: float32, chains not straight.
MAX_DIFFERENCE = 2e-5
INHERIT = ("FULL", "FIX_SHEAR", "AVERAGE", "NONE", "NONE_LEGACY")
WORLDS = {
    "scaled": (1.6, 1.6, 1.6),
    "uneven": (0.7, 1.5, 1.1),
    "mirrored": (-0.8, 1.2, 1.5),
    "turned out": (-0.7, -0.7, -0.7),
    "twice mirrored": (-0.9, 1.3, -0.7),
    "sheared": (1.0, 1.0, 1.0),
}


def _turned(weight: float, **settings: object) -> dict[str, object]:
    return {"use_rotation": True, "orient_weight": weight, **settings}


Kind = tuple[str, int, dict[str, Any], tuple[str, ...]]
KINDS: tuple[Kind, ...] = (
    ("TWO_BONE", 2, {}, ("QUATERNION",)),
    ("TWO_BONE", 2, {"use_flip_bend": True, "pole_angle": 0.2}, ("XYZ",)),
    ("TWO_BONE", 2, _turned(1.0, use_tail=False), ("AXIS_ANGLE", "QUATERNION")),
    ("TWO_BONE", 3, _turned(1.0, pole_angle=0.1), ("QUATERNION",)),
    ("NEWTON", 1, {}, ("ZYX",)),
    ("NEWTON", 3, {"pole_angle": 0.7}, ("YXZ", "QUATERNION")),
    ("NEWTON", 4, {"use_flip_bend": True, "start_from": "REST"}, ("QUATERNION",)),
    ("NEWTON", 3, _turned(1.0, pole_angle=0.3), ("AXIS_ANGLE",)),
    ("NEWTON", 3, _turned(0.35, use_tail=False), ("XZY", "QUATERNION")),
    ("FABRIK", 4, {}, ("QUATERNION", "ZXY")),
    ("CCD", 3, {"start_from": "REST", "pole_angle": 0.4}, ("YZX",)),
)
"""Solver, number of bones, settings (a pole angle comes with a pole), rotation modes in turn."""


def make_limb(kind: Kind, world: str, seed: int) -> bpy.types.Object:
    """Return a chain of rigid bones under a scaled one, on an object with a random transform."""
    (solver, count, settings, modes), rng = kind, make_rng(seed)
    total = count + (not settings.get("use_tail", True))
    spread = 0.1 * (seed % 2)
    ob, names = scaled_rigs.random_rig(rng, total, above=1, spread=spread, name=f"Rig {seed}")
    for i, bone in enumerate(ob.pose.bones):
        bone.rotation_mode = modes[i % len(modes)]
        bone.scale, bone.location = [rng.uniform(0.7, 1.4)] * 3, rng.uniform(-0.2, 0.2, 3)
        bone.bone.use_local_location = rng.random() < 0.5
    root = ob.data.bones[names[0]]
    root.inherit_scale, root.use_inherit_rotation = str(rng.choice(INHERIT)), rng.random() < 0.7
    ob.location, ob.rotation_euler = rng.uniform(-0.5, 0.5, 3), rng.uniform(-3.0, 3.0, 3)
    ob.scale = WORLDS[world]
    if world == "sheared":
        turn = scaled_rigs.random_quaternion(rng, 3.0)
        ob.parent = scaled_rigs.sheared_parent((0.7, 1.5, 1.1), turn, f"{ob.name} Shear")
    rigs.turn_bones(ob, seed, 0.6)
    posed = rigs.evaluated(ob)
    bones = [posed.pose.bones[name] for name in names[:count]]
    ends = np.array([*(bone.head for bone in bones), bones[-1].tail])
    reach = np.linalg.norm(np.diff(ends, axis=0), axis=1).sum()
    along, aside = random_direction(rng), random_direction(rng)
    to_world = posed.matrix_world
    target = rigs.make_empty("Target", to_world @ rigs.Vector(ends[0] + 0.65 * reach * along))
    target.rotation_euler, target.scale = rng.uniform(-3.0, 3.0, 3), rng.uniform(0.5, 2.0, 3)
    chain = rigs.add_chain(ob, names[-1], target, chain_count=count, solver=solver, **settings)
    if "pole_angle" in settings:
        aside = along + 2.0 * (aside - along * (along @ aside))
        place = to_world @ rigs.Vector(ends[0] + reach * aside)
        chain.pole_target = rigs.make_empty("Pole", place)
    if to_world.determinant() < 0.0:
        # A mirrored object whose chain keeps its bend is not solved in the space of its root.
        chain.negative_scale = "MIRROR"
    return ob


def key(ob: bpy.types.Object, rng: np.random.Generator) -> None:
    rigs.key_bones(ob, int(rng.integers(100)), (1, 16))


def blend(ob: bpy.types.Object, rng: np.random.Generator) -> None:
    ob.chain_ik.chains[0].influence = rng.choice((0.1, 0.5, 1.0))
    for bone in ob.pose.bones:
        bone.lock_rotation = (rng.random(3) < 0.3).tolist()
        bone.lock_rotation_w, bone.lock_rotations_4d = (rng.random(2) < (0.3, 0.5)).tolist()


def limit(ob: bpy.types.Object, _rng: np.random.Generator) -> None:
    rigs.limit_bones(ob, x=(-1.9, 2.0), z=(-2.1, 1.8))
    rigs.set_each(ob.pose.bones, ik_stiffness_y=0.5)


def pull(ob: bpy.types.Object, rng: np.random.Generator) -> None:
    chain = ob.chain_ik.chains[0]
    chain.solver = "FORCE"
    chain.force.stiffness_root, chain.force.stiffness_tip = rng.uniform(0.5, 4.0, 2)
    chain.force.gravity = rng.uniform(0.5, 3.0)


def on_quick_path() -> dict[str, bool]:
    (graph,) = live.memory.graphs.values()
    (level,) = graph.levels
    names = {ob.session_uid: ob.name for ob in bpy.data.objects}
    return {names[uid]: batch.is_even for batch in level.batches for uid in batch.uids}


def read_states(obs: Sequence[bpy.types.Object]) -> list[tuple[np.ndarray, float, str]]:
    """Return the present channels, residuals, and statuses without numbers."""
    states = []
    for ob in obs:
        channels = np.array([(*values, 0.0)[:4] for values in rigs.rotations(ob).values()])
        chain = ob.chain_ik.chains[0]
        text = re.sub(r" ?\(.*\)|[\d.]+ \w?m", "", chain.status)
        states.append((channels, chain.residual, text))
    return states


def assert_same(actual: Sequence[tuple], expected: Sequence[tuple]) -> None:
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_allclose(one[0], other[0], atol=MAX_DIFFERENCE)
        assert one[1] == pytest.approx(other[1], abs=MAX_DIFFERENCE)
        assert one[2] == other[2]


CHANGES = {
    "scaled": None,
    "sheared": None,
    "uneven": key,
    "mirrored": blend,
    "turned out": limit,
    "twice mirrored": pull,
}


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize("world", CHANGES)
def test_rigid_chains_move_as_bone_by_bone(world, monkeypatch):
    change, rng = CHANGES[world], make_rng(1)
    with rigs.live_off():
        # Few alike chains are solved in floats, many in arrays.
        kinds = KINDS[::4] * (MAX_CHAINS_IN_FLOATS + 1) if world == "sheared" else KINDS
        obs = [make_limb(kind, world, seed) for seed, kind in enumerate(kinds)]
        if change in (limit, pull):
            # If a limit and a rotation conflict, the last digits choose between poses.
            obs = [ob for ob in obs if not ob.chain_ik.chains[0].use_rotation]
        for ob in obs if change else ():
            change(ob, rng)
        starts = [rigs.pose(ob) for ob in obs]
    rigs.go_to(5.25)
    assert all(on_quick_path()[ob.name] for ob in obs)
    rigid = read_states(obs)
    moves = [np.abs(rigs.pose(ob) - start).max() for ob, start in zip(obs, starts, strict=True)]
    assert np.median(moves) > 0.1
    monkeypatch.setattr(Driven, "keeps_shape", False)
    warm_rigs.forget()
    rigs.go_to(5.25)
    assert not any(on_quick_path().values())
    assert_same(rigid, read_states(obs))


# Changes that take a chain off the quick path: path of the owner, property, value.
SLOW = [
    ('pose.bones["Bone.0"]', "scale", (1.0, 1.3, 1.0)),
    ('pose.bones["Above.0"]', "scale", (1.0, 1.5, 1.0)),
    ('data.bones["Bone.1"]', "inherit_scale", "NONE"),
    ('data.bones["Bone.2"]', "use_inherit_rotation", False),
    ("", "scale", (-1.0, 1.0, 1.0)),
]


@pytest.mark.parametrize(("where", "name", "value"), SLOW)
def test_a_chain_that_is_not_rigid_is_posed_bone_by_bone_until_it_is(where, name, value):
    for limb in (warm_rigs.RIG, warm_rigs.OTHER):
        warm_rigs.make_limb(limb[0], seed=len(limb[0]))
        warm_rigs.follow(limb, use_rotation=True, negative_scale="KEEP")
    obs = [bpy.data.objects[rig] for rig in ("Rig", "Other")]
    rigs.updated()
    assert on_quick_path() == {"Rig": True, "Other": True}
    before = read_states(obs)
    owner = obs[0].path_resolve(where) if where else obs[0]
    with rigs.changed(owner, **{name: value}):
        assert on_quick_path() == {"Rig": False, "Other": True}
        assert_same(read_states(obs)[1:], before[1:])
    assert on_quick_path() == {"Rig": True, "Other": True}
    assert_same(read_states(obs), before)


@pytest.mark.parametrize("degrees", [1.0, 7.0])
def test_legs_under_hips_that_point_up_take_the_quick_path(degrees):
    ob = rigs.make_rig(((0, 0, 1), (0, 0, 1.2)), "Rig", prefix="Hips")
    for i, around in enumerate(np.linspace(0.0, 2.0 * np.pi, 6, endpoint=False)):
        out = np.sin(np.radians(degrees)) * np.array([np.cos(around), np.sin(around), 0.0])
        knee = np.array([0.1, 0.0, 1.0]) + 0.45 * (out - (0, 0, np.cos(np.radians(degrees))))
        joints = ((0.1, 0.0, 1.0), knee, knee - (0.0, -0.02, 0.42))
        names = rigs.add_bones(ob, joints, prefix=f"Leg {i}", parent="Hips.0")
        target = rigs.make_empty(f"Target {i}", (0.1, -0.2, 0.4))
        rigs.add_chain(ob, names[-1], target, solver="TWO_BONE", chain_count=2)
    rigs.updated()
    ((batch,),) = (level.batches for graph in live.memory.graphs.values() for level in graph.levels)
    assert (batch.is_even, len(batch.uids)) == (True, 6)
    for chain in ob.chain_ik.chains:
        rigs.assert_reaches(ob, chain.bone, chain.target)


def test_bones_that_lie_folded_at_rest_bring_the_effector_to_the_target():
    turns = np.radians(179.0) * np.arange(5)
    steps = np.column_stack((0.1 * np.sin(3.0 * turns), np.sin(turns), np.cos(turns)))
    ob = rigs.make_rig(np.vstack((np.zeros(3), np.cumsum(steps, axis=0))))
    target, chain = rigs.follow(ob, "Bone.4", (1.4, -0.8, 1.0), tolerance=1e-6)
    for solver, place in (("NEWTON", target.location), ("FABRIK", (-0.5, 2.0, -0.7))):
        chain.solver, target.location = solver, place
        rigs.updated()
        rigs.assert_reaches(ob, "Bone.4", target)


INHERITED = ("FULL", "FIX_SHEAR", "AVERAGE", "NONE", "NONE_LEGACY", "ALIGNED")
# Largest error of a matrix in float32, as a share of its largest entry.
MAX_ERROR = 1e-6


@rigs.live_off()
def make_body(seed: int) -> tuple[bpy.types.Object, list[bpy.types.Object]]:
    """Return a rig with a spine and two arms under shoulders, and the targets of all three."""
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
            bone.bone.inherit_scale = str(rng.choice(INHERITED))
        bone.bone.use_inherit_rotation = bool(rng.random() < 0.9)
        bone.bone.use_local_location = bool(rng.random() < 0.8)
    ob.location, ob.rotation_euler = rng.uniform(-2, 2, 3), rng.uniform(-3, 3, 3)
    targets = []
    for tip in ("Spine.3", "Arm.L.2", "Arm.R.2"):
        targets.append(rigs.make_empty(f"{tip} {seed}", rng.uniform(-2, 2, 3)))
        count = 4 if tip == "Spine.3" else 3
        rigs.add_chain(ob, tip, targets[-1], name=tip, chain_count=count)
    return ob, targets


def assert_posed(pose: Pose, shown: bpy.types.Object, bone: str, columns: slice) -> None:
    """Check columns of a bone's matrix in a pose against the evaluated matrix."""
    ours = pose.matrices[shown.data.bones.find(bone)][:, columns]
    evaluated = np.array(shown.pose.bones[bone].matrix)[:, columns]
    assert np.abs(ours - evaluated).max() <= MAX_ERROR * max(1.0, np.abs(evaluated).max()), bone


@pytest.mark.parametrize("seed", range(2))
def test_parents_that_other_chains_move_have_the_evaluated_pose_and_stay(seed, monkeypatch):
    bodies = [make_body(2 * seed + number) for number in range(2)]
    rigs.updated()
    calls, rng = record_calls(monkeypatch, Update, "evaluate_again"), make_rng(seed)
    for _, targets in bodies:
        for target in targets:
            target.location = rng.uniform(-2, 2, 3)
    depsgraph = rigs.updated()
    (graph,) = live.memory.graphs.values()
    for ob, _ in bodies:
        state, shown = graph.rigs[ob.session_uid], rigs.evaluated(ob, depsgraph)
        for root in (ob.data.bones["Arm.L.0"], ob.data.bones["Arm.R.0"]):
            assert_posed(state.pose, shown, root.name, slice(3, 4))
            for above in root.parent_recursive:
                assert_posed(state.pose, shown, above.name, slice(4))
    assert not calls
    before = [rigs.rotations(ob) for ob, _ in bodies]
    rigs.tagged(*(ob for ob, _ in bodies))
    assert [rigs.rotations(ob) for ob, _ in bodies] == before
    # No pose changes a custom property. If a driver may read a pose, Blender evaluates again.
    ob, targets = bodies[0]
    shoulder = ob.pose.bones["Shoulder.L.0"]
    shoulder["Switch"] = 0.1
    for path, is_pose in READ.items():
        read_by(shoulder, "location", ob, path, 0)
        rigs.updated()
        calls.clear()
        targets[0].location.x += 0.3
        shown = rigs.evaluated(ob, rigs.updated())
        assert bool(calls) == is_pose
        assert_posed(graph.rigs[ob.session_uid].pose, shown, shoulder.name, slice(4))


READ = {
    'pose.bones["Shoulder.L.0"]["Switch"]': False,
    'pose.bones["Spine.0"].rotation_quaternion[1]': True,
}
"""Paths that drivers read, and whether the value may be one of a pose."""


def test_arms_and_toes_of_a_human_with_foot_roll_need_no_second_evaluation(rigify, monkeypatch):
    ob = rolled.human(down=0.05)
    calls = record_calls(monkeypatch, Update, "evaluate_again")
    before = rigs.matrices(ob)
    ob.pose.bones["Spine Target"].location.z += 0.1
    rolled.turn(ob, rolled.ROLL, 20.0)
    depsgraph = rigs.updated()
    assert not calls
    after = rigs.matrices(ob)
    assert min(rolled.moved_by(before, after, bone) for bone in ("upper_arm.L", "foot.L")) > 1e-3
    (graph,) = live.memory.graphs.values()
    state, shown = graph.rigs[ob.session_uid], rigs.evaluated(ob, depsgraph)
    for root in ("upper_arm.L", "toe.L", "toe.R"):
        for above in ob.data.bones[root].parent_recursive:
            assert_posed(state.pose, shown, above.name, slice(4))


ABOUT_THE_ROOT = {"rotation_quaternion": (0.9, 0.3, -0.2, 0.25)}
"""The bone above turns about its head, where the limb begins."""
ALONG = {"location": (0.2, -0.1, 0.15)}


@pytest.mark.parametrize("solver", ["NEWTON", "FABRIK"])
@pytest.mark.parametrize("limited", [False, True], ids=["free", "limited"])
def test_a_limb_of_uneven_bones_follows_its_parent_as_after_a_new_start(solver, limited):
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


def test_a_chain_starts_from_its_present_slides_though_its_bones_never_turn():
    """Two bones slide along one line: their shares depend on where they were."""
    ob = rigs.make_rig([(0, 0, 0), (0, 0, 1), (0, 0, 2), (0, 0, 3)], is_connected=False)
    for name, home in (("Bone.1", 0.3), ("Bone.2", 0.1)):
        ob.pose.bones[name].location.y = home
    target, chain = rigs.follow(ob, "Bone.2", (0, 0, 3.4), chain_count=3, start_from="CURRENT")
    add_joint(chain, "Bone.0", "FIXED")
    for name, maximum in (("Bone.1", 0.1), ("Bone.2", 0.5)):
        add_joint(chain, name, "FIXED", use_slide=True, slide_min=-0.5, slide_max=maximum)
    rigs.updated()
    shares = []
    for up in (3.4, 3.7, 3.4):
        rigs.change(target.location, z=up)
        rigs.assert_reaches(ob, "Bone.2", target)
        shares.append([ob.pose.bones[name].location.y for name in ("Bone.1", "Bone.2")])
    # The first bone is at the end of its range, so the second one has moved farther.
    np.testing.assert_allclose(shares, [(0.3, 0.1), (0.4, 0.3), (0.25, 0.15)], atol=1e-4)
