"""Chains of rigid bones: the quick path and the one bone by bone lead to the same pose."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np
import numpy.typing as npt
import pytest
from mathutils import Vector

from blender_ik_addon.core import FEW, Status, rotation
from blender_ik_addon.rig import limb as limb_module
from blender_ik_addon.rig import live
from blender_ik_addon.rig.channels import AXIS_ANGLE, MODE_NUMBERS, matrices_of
from tests.blender import rigid_rigs, rigs, warm_rigs
from tests.blender.rigid_goals import Kind
from tests.blender.rigid_rigs import Limb
from tests.core.chains import random_direction
from tests.helpers import make_rng

Array = npt.NDArray[np.float64]

# Radians, and shares of a chain's length.
SAME = 2e-6
# Float32 leaves targets no better known than by this share of a chain's length, and rest and parent
# matrices no squarer. What changes of that size make of a pose, the two paths may differ by, too.
LAST_DIGITS = 3e-7
NUDGES = 2
SPREAD = 10.0
# Of chains that close.
WIDELY_TURNED = np.array((1e-6, 0.0))
# Most chains are not as sensitive as that.
MOST = 0.9


@dataclass(frozen=True)
class Seen:
    """What a chain shows after a solve.

    Attributes:
        modes: Rotation modes of its bones.
        channels: What their rotation channels hold, shape (k, 4).
        joints: Heads and the last tail, world space, shape (k + 1, 3).
        status: How the solve ended.
        text: The status line, without its numbers.
        residual: In scene units.
    """

    modes: npt.NDArray[np.int32]
    channels: Array
    joints: Array
    status: Status
    text: str
    residual: float

    @property
    def length(self) -> float:
        """Of the bones, world space."""
        return float(np.linalg.norm(np.diff(self.joints, axis=0), axis=1).sum())


def seen(limbs: Sequence[Limb]) -> list[Seen]:
    """Return what chains show after one update."""
    depsgraph = rigs.updated()
    posed = {limb.rig: rigs.evaluated(limb.object, depsgraph) for limb in limbs}
    return [_seen(limb, posed[limb.rig]) for limb in limbs]


def _seen(limb: Limb, posed: bpy.types.Object) -> Seen:
    bones = [posed.pose.bones[name] for name in limb.bones]
    ends = [*(bone.head for bone in bones), bones[-1].tail]
    original = [limb.object.pose.bones[name] for name in limb.bones]
    channels = [(*getattr(bone, rigs.rotation_property(bone)), 0.0)[:4] for bone in original]
    outcome = live.memory.outcome(limb.key)
    assert not isinstance(outcome, str | None), outcome
    return Seen(
        modes=np.array([MODE_NUMBERS[bone.rotation_mode] for bone in original]),
        channels=np.array(channels),
        joints=np.array([posed.matrix_world @ end for end in ends]),
        status=outcome.status,
        text=re.sub(r"[\d.e+-]+ (um|mm|m|iterations?)\b", "#", limb.settings.status),
        residual=limb.settings.residual,
    )


def ways(limbs: Sequence[Limb]) -> tuple[dict[tuple[int, int], int], set[tuple[int, int]]]:
    """Return which chains are solved side by side, with how many, and which by themselves."""
    (graph,) = live.memory.graphs.values()
    (level,) = graph.levels
    beside = {
        (uid, limb.job.index): len(batch.limbs)
        for batch in level.batches
        for uid, limb in zip(batch.uids, batch.limbs, strict=True)
    }
    alone = {(lone.state.uid, lone.limb.job.index) for lone in level.lone}
    assert {limb.key for limb in limbs} == beside.keys() | alone
    return beside, alone


def assert_quick(limbs: Sequence[Limb], copies: int) -> None:
    """Check that chains take the quick path, so many side by side."""
    beside, alone = ways(limbs)
    assert not alone, [limb for limb in limbs if limb.key in alone]
    assert set(beside.values()) == {copies}


def bone_by_bone(limbs: Sequence[Limb], monkeypatch: pytest.MonkeyPatch) -> list[Seen]:
    """Return what chains show that are solved the long way."""
    with monkeypatch.context() as patch:
        patch.setattr(limb_module, "_rigid_bones", lambda *_: None)
        warm_rigs.forget()
        found = seen(limbs)
        assert not ways(limbs)[0]
    return found


def nudge(limb: Limb, rng: np.random.Generator) -> None:
    """Move a chain's target by last digits, and make its bones a bit askew."""
    bones = [limb.object.pose.bones[name] for name in limb.bones]
    length = sum(bone.length for bone in bones)
    limb.settings.target.location += Vector(LAST_DIGITS * length * random_direction(rng))
    for bone in bones:
        bone.scale *= Vector(1.0 + LAST_DIGITS * rng.uniform(-1.0, 1.0, 3))


def assert_same(quick: Seen, slow: Seen, unsure: Array | None = None) -> None:
    """Check that a chain shows the same on both paths.

    Args:
        quick: On the one.
        slow: On the other.
        unsure: What last digits make of turns (radians) and joints (share of the length).
    """
    assert (quick.status, quick.text) == (slow.status, slow.text)
    allowed = SAME + SPREAD * (np.zeros(2) if unsure is None else unsure)
    assert np.all(differences(quick, slow) <= allowed), (differences(quick, slow), allowed)
    assert abs(quick.residual - slow.residual) <= SAME * quick.length
    # The same rotations are said by the same numbers, without whole turns or other signs.
    is_no_turn = (quick.modes == AXIS_ANGLE) & (np.abs(slow.channels[:, 0]) < 1e-4)
    assert np.abs(quick.channels - slow.channels)[~is_no_turn].max(initial=0.0) <= 0.05


def differences(one: Seen, other: Seen) -> Array:
    """Return the largest turn in radians, and the largest way of a joint as share of the length."""
    wxyz = [rotation.quaternion_from_matrix(matrices_of(s.channels, s.modes)) for s in (one, other)]
    apart = [np.linalg.norm(wxyz[0] + sign * wxyz[1], axis=1) for sign in (1.0, -1.0)]
    ways_of_joints = np.linalg.norm(one.joints - other.joints, axis=1)
    return np.array([2.0 * np.minimum(*apart).max(), ways_of_joints.max() / one.length])


def compare(limbs: Sequence[Limb], copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that chains take the quick path and show what they do bone by bone."""
    quick = seen(limbs)
    assert_quick(limbs, copies)
    slow = bone_by_bone(limbs, monkeypatch)
    unsure = np.zeros((len(limbs), 2))
    for seed in range(NUDGES):
        for i, limb in enumerate(limbs):
            nudge(limb, make_rng(1000 * seed + i))
        nudged = bone_by_bone(limbs, monkeypatch)
        unsure = np.maximum(unsure, [differences(*each) for each in zip(slow, nudged, strict=True)])
    for each in zip(quick, slow, unsure, strict=True):
        assert_same(*each)
    found = np.array([differences(*each) for each in zip(quick, slow, strict=True)])
    assert np.mean(found <= SAME) >= MOST


@pytest.mark.parametrize(("copies", "share"), [(1, 0.6), (FEW, 0.15), (FEW + 3, 0.1)])
def test_any_rigid_chain_moves_as_bone_by_bone(copies, share, monkeypatch):
    limbs = rigid_rigs.build(rigid_rigs.kinds(copies, share), copies, seed=copies)
    compare(limbs, copies, monkeypatch)
    reached = {seen_of.status for seen_of in seen(limbs)}
    assert reached == {*Status} - {Status.BLENDED}


@pytest.mark.parametrize("copies", [1, FEW + 1])
def test_keyed_chains_move_as_bone_by_bone(copies, monkeypatch):
    limbs = rigid_rigs.build(rigid_rigs.kinds(50, 0.12), copies, seed=50, is_keyed=True)
    rigs.go_to(5.25)
    compare(limbs, copies, monkeypatch)


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
    copies = FEW + 3
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


def test_chains_whose_target_is_on_their_root_move_as_bone_by_bone(monkeypatch):
    kinds = {
        Kind(kind.solver, kind.count, kind.has_pole)
        for kind in rigid_rigs.kinds(0)
        if kind.use_tail and kind.weight is None
    }
    bpy.context.scene.chain_ik.use_live = False
    limbs = [on_its_root(kind, i) for i, kind in enumerate(sorted(kinds, key=str))]
    bpy.context.scene.chain_ik.use_live = True
    quick = seen(limbs)
    assert_quick(limbs, 1)
    for each in zip(quick, bone_by_bone(limbs, monkeypatch), strict=True):
        assert_same(*each, unsure=WIDELY_TURNED)


# What takes a chain off the quick path: where, which property, and its value.
SLOW = [
    ('pose.bones["Bone.0"]', "scale", (1.0, 1.3, 1.0)),
    ('pose.bones["Bone.1"]', "lock_rotation", (True, False, False)),
    ('pose.bones["Above.0"]', "scale", (1.0, 1.5, 1.0)),
    ('data.bones["Bone.1"]', "inherit_scale", "NONE"),
    ('data.bones["Bone.2"]', "use_inherit_rotation", False),
    ("chain_ik.chains[0]", "influence", 0.5),
    ("chain_ik.chains[0]", "orient_weight", 0.5),
    ("chain_ik.chains[0]", "start_from", "CURRENT"),
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
        limb = Limb("Rig", tuple(f"Bone.{i}" for i in range(5)), Kind(solver, 5), 0)
        seen([limb])
        assert_quick([limb], 1)
        rigs.assert_reaches(ob, "Bone.4", target)
