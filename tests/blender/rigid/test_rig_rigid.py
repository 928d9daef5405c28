"""Chains of rigid bones: the quick path and the one bone by bone lead to the same pose."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.core import Status
from blender_ik_addon.core.solving.compiled_chains import MAX_CHAINS_IN_FLOATS
from tests.blender.rigid import rigid_rigs
from tests.blender.rigid.rigid_goals import Kind
from tests.blender.rigid.rigid_paths import (
    SAME,
    assert_moves_as_bone_by_bone,
    assert_quick,
    assert_same,
    bone_by_bone,
    differences,
    seen,
    ways,
)
from tests.blender.rigid.rigid_rigs import Limb
from tests.blender.setups import rigs, warm_rigs
from tests.helpers import make_rng

# Many short tests: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow

# Endings of chains with limits, influence or soft distance, and of trees.
OF_OTHERS = {Status.BLENDED, Status.LIMITED, Status.SOFTENED, Status.OUTWEIGHED}
# What last digits make of turns, and of joints, in chains that close.
WIDELY_TURNED = np.array((1e-6, 0.0))


@pytest.mark.parametrize(
    ("copies", "share"), [(1, 0.6), (MAX_CHAINS_IN_FLOATS, 0.12), (MAX_CHAINS_IN_FLOATS + 3, 0.07)]
)
def test_any_rigid_chain_moves_as_bone_by_bone(copies, share, monkeypatch):
    limbs = rigid_rigs.build(rigid_rigs.kinds(copies, share), copies, seed=copies)
    assert_moves_as_bone_by_bone(limbs, copies, monkeypatch)
    reached = {seen_of.status for seen_of in seen(limbs)}
    assert reached == {*Status} - OF_OTHERS


@pytest.mark.parametrize(("copies", "share"), [(1, 0.5), (MAX_CHAINS_IN_FLOATS + 3, 0.15)])
def test_soft_chains_move_as_bone_by_bone(copies, share, monkeypatch):
    # Without sweeps: on their way to targets near full reach they go by last digits.
    kinds = [
        kind
        for kind in rigid_rigs.kinds(80 + copies, share)
        if kind.solver in ("TWO_BONE", "NEWTON")
    ]
    limbs = rigid_rigs.build(kinds, copies, seed=80 + copies)
    for limb in limbs:
        limb.settings.soft_distance = 1.0
    assert_moves_as_bone_by_bone(limbs, copies, monkeypatch)
    assert Status.SOFTENED in {seen_of.status for seen_of in seen(limbs)}


def test_many_soft_limbs_of_two_bones_move_as_bone_by_bone(monkeypatch):
    limbs_only = [
        kind for kind in rigid_rigs.kinds(71) if (kind.solver, kind.count) == ("TWO_BONE", 2)
    ]
    kinds = [kind for kind in limbs_only if kind.weight is None]
    copies = MAX_CHAINS_IN_FLOATS + 3
    limbs = rigid_rigs.build(kinds, copies, seed=71)
    for limb in limbs:
        limb.settings.soft_distance = 0.2
    assert_moves_as_bone_by_bone(limbs, copies, monkeypatch)


def test_any_of_many_limbs_of_two_bones_moves_as_bone_by_bone(monkeypatch):
    limbs_only = [
        kind for kind in rigid_rigs.kinds(70) if (kind.solver, kind.count) == ("TWO_BONE", 2)
    ]
    copies = MAX_CHAINS_IN_FLOATS + 3
    kinds = [kind for kind in limbs_only if kind.weight is None]
    assert_moves_as_bone_by_bone(rigid_rigs.build(kinds, copies, seed=70), copies, monkeypatch)


@pytest.mark.parametrize("copies", [1, MAX_CHAINS_IN_FLOATS + 3])
def test_chains_in_planes_move_as_bone_by_bone(copies, monkeypatch):
    kinds = [
        kind
        for kind in rigid_rigs.kinds(90 + copies, 0.5 if copies == 1 else 0.15)
        if kind.solver == "NEWTON" and kind.count > 2 and kind.weight != 1.0
    ]
    limbs = rigid_rigs.build(kinds, copies, seed=90, is_planar=True)
    assert_moves_as_bone_by_bone(limbs, copies, monkeypatch)


@pytest.mark.parametrize("copies", [1, MAX_CHAINS_IN_FLOATS + 1])
def test_keyed_chains_move_as_bone_by_bone(copies, monkeypatch):
    limbs = rigid_rigs.build(rigid_rigs.kinds(50, 0.09), copies, seed=50, is_keyed=True)
    rigs.go_to(5.25)
    assert_moves_as_bone_by_bone(limbs, copies, monkeypatch)


def test_only_chains_that_start_from_keys_follow_them():
    limbs = rigid_rigs.build(rigid_rigs.kinds(51, 0.2), 1, seed=51, is_keyed=True)
    by_frame = []
    for frame in (5.25, 13.0):
        rigs.go_to(frame)
        by_frame.append(seen(limbs))
    moved: dict[str, list[float]] = {"KEYED": [], "REST": []}
    for limb, *shown in zip(limbs, *by_frame, strict=True):
        if limb.object.data.bones[limb.bones[0]].parent is None and limb.kind.use_tail:
            moved[limb.settings.start_from].append(float(differences(*shown)[0]))
    assert min(moved["KEYED"]) > 0.01
    assert max(moved["REST"]) < SAME


def test_chains_that_move_alone_move_as_with_all_others():
    copies = MAX_CHAINS_IN_FLOATS + 3
    limbs = rigid_rigs.build(rigid_rigs.kinds(60, 0.12), copies, seed=60)
    home = seen(limbs)
    assert_quick(limbs, copies)
    movers = [limb for i, limb in enumerate(limbs) if i % 3 == 0]
    for step in (0.1, -0.1):
        for limb in movers:
            limb.settings.target.location.z += step
        few = seen(limbs)
    for one, other in zip(home, few, strict=True):
        assert_same(one, other)


def on_its_root(kind: Kind, number: int) -> Limb:
    """Return a chain whose target is on its root, by numbers that nothing rounds."""
    rng = make_rng(number)
    joints = rigs.zigzag(kind.count, number) * rng.uniform(0.5, 1.5) + (0.5, -0.25, 1.0)
    joints[1:] += rng.uniform(-0.3, 0.3, (kind.count, 3))
    joints[0] = (0.5, -0.25, 1.0)
    ob = rigs.make_rig(joints, f"Rig {number}")
    ob.location, ob.scale = (1.0, 0.5, -2.0), (2.0, 2.0, 2.0)
    rigs.turn_bones(ob, seed=number, angle=0.5)
    pole = rigs.make_empty("Pole", rng.uniform(-3.0, 3.0, 3)) if kind.has_pole else None
    settings = {"solver": kind.solver, "pole_target": pole, "use_flip_bend": number % 2 == 1}
    target = rigs.make_empty("Target", (2.0, 0.0, 0.0))
    rigs.add_chain(ob, f"Bone.{kind.count - 1}", target, iterations=12, **settings)
    return Limb(ob.name, tuple(bone.name for bone in ob.pose.bones), kind, 0)


@pytest.mark.parametrize(
    ("copies", "solvers"),
    [
        (1, rigid_rigs.COUNTS),
        (MAX_CHAINS_IN_FLOATS + 1, ["NEWTON", "CCD"]),
        (MAX_CHAINS_IN_FLOATS + 3, ["TWO_BONE"]),
    ],
)
def test_chains_whose_target_is_on_their_root_move_as_bone_by_bone(copies, solvers, monkeypatch):
    kinds = [
        Kind(solver, count, has_pole)
        for solver in solvers
        for count in rigid_rigs.COUNTS[solver]
        for has_pole in (False, True)
        if copies == 1 or count < 4
    ]
    bpy.context.scene.chain_ik.use_live = False
    limbs = [on_its_root(kind, i) for i, kind in enumerate(copies * kinds)]
    bpy.context.scene.chain_ik.use_live = True
    quick = seen(limbs)
    assert_quick(limbs, copies)
    for each in zip(quick, bone_by_bone(limbs, monkeypatch), strict=True):
        assert_same(*each, unsure=WIDELY_TURNED)


# What takes a chain off the quick path: where, which property, and its value.
SLOW = [
    ('pose.bones["Bone.0"]', "scale", (1.0, 1.3, 1.0)),
    ('pose.bones["Above.0"]', "scale", (1.0, 1.5, 1.0)),
    ('data.bones["Bone.1"]', "inherit_scale", "NONE"),
    ('data.bones["Bone.2"]', "use_inherit_rotation", False),
    ("", "scale", (-1.0, 1.0, 1.0)),
]


@pytest.mark.parametrize(("where", "name", "value"), SLOW)
def test_what_is_not_rigid_or_needs_more_goes_bone_by_bone_and_back(where, name, value):
    for limb in (warm_rigs.RIG, warm_rigs.OTHER):
        warm_rigs.make_limb(limb[0], seed=len(limb[0]))
        warm_rigs.follow(limb, use_rotation=True, negative_scale="KEEP")
    bones = ("Bone.0", "Bone.1", "Bone.2")
    limbs = [Limb(rig, bones, Kind("NEWTON", 3), 0) for rig in ("Rig", "Other")]
    before = seen(limbs)
    assert_quick(limbs, 2)
    owner = limbs[0].object.path_resolve(where) if where else limbs[0].object
    former = getattr(owner, name)
    former = former if isinstance(former, str | float | bool) else tuple(former)
    setattr(owner, name, value)
    off = seen(limbs)
    assert ways(limbs) == ({limbs[1].key: 1}, {limbs[0].key})
    assert_same(off[1], before[1])
    setattr(owner, name, former)
    after = seen(limbs)
    assert_quick(limbs, 2)
    for each in zip(after, before, strict=True):
        assert_same(*each)


@pytest.mark.parametrize("degrees", [1.0, 4.0, 7.0, 10.0, 20.0])
def test_legs_under_hips_that_point_up_take_the_quick_path(degrees):
    ob = rigs.make_rig(((0, 0, 1), (0, 0, 1.2)), "Rig", prefix="Hips")
    limbs = []
    for i, around in enumerate(np.linspace(0.0, 2.0 * np.pi, 6, endpoint=False)):
        out = np.sin(np.radians(degrees)) * np.array([np.cos(around), np.sin(around), 0.0])
        knee = np.array([0.1, 0.0, 1.0]) + 0.45 * (out - (0, 0, np.cos(np.radians(degrees))))
        joints = ((0.1, 0.0, 1.0), knee, knee - (0.0, -0.02, 0.42))
        names = rigs.add_bones(ob, joints, prefix=f"Leg {i}", parent="Hips.0")
        target = rigs.make_empty(f"Target {i}", (0.1, -0.2, 0.4))
        rigs.add_chain(ob, names[-1], target, solver="TWO_BONE", chain_count=2)
        limbs.append(Limb("Rig", tuple(names), Kind("TWO_BONE", 2), i))
    seen(limbs)
    assert_quick(limbs, 6)
    for limb in limbs:
        rigs.assert_reaches(ob, limb.bones[-1], limb.settings.target)


@pytest.mark.parametrize("degrees", [1.0, 4.0, 10.0])
def test_bones_that_lie_folded_at_rest_bring_the_effector_to_the_target(degrees):
    turns = np.radians(180.0 - degrees) * np.arange(5)
    steps = np.column_stack((0.1 * np.sin(3.0 * turns), np.sin(turns), np.cos(turns)))
    ob = rigs.make_rig(np.vstack((np.zeros(3), np.cumsum(steps, axis=0))))
    for solver, at in (("NEWTON", (1.4, -0.8, 1.0)), ("FABRIK", (-0.5, 2.0, -0.7))):
        ob.chain_ik.chains.clear()
        target = rigs.make_empty("Target", at)
        rigs.add_chain(ob, "Bone.4", target, solver=solver, tolerance=1e-6)
        rigs.updated()
        rigs.assert_reaches(ob, "Bone.4", target)
