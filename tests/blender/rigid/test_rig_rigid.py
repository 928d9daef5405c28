"""Chains of rigid bones: the quick path and the one bone by bone lead to the same pose."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core.solving.compiled_chains import MAX_CHAINS_IN_FLOATS
from tests.blender.rigid.rigid_limbs import (
    KINDS,
    Kind,
    Limb,
    assert_quick,
    bone_by_bone,
    build,
    channels,
    pose,
    ways,
)
from tests.blender.setups import rigs, warm_rigs
from tests.helpers import make_rng

# Of channels, and of residuals in scene units: what float32 leaves of chains that are not straight.
SAME = 2e-5
MANY = MAX_CHAINS_IN_FLOATS + 1
FREE = [kind for kind in KINDS if not kind.settings.get("use_rotation")]
# What takes a part of a rotation creeps from its own last pose, update by update.
WHOLE = [kind for kind in KINDS if kind.settings.get("orient_weight", 1.0) == 1.0]
# Where limits or full reach hold back, last digits choose between poses.
NEAR = [replace(kind, distance=0.6) for kind in FREE]
PULLED = [replace(kind, solver="FORCE") for kind in NEAR if kind.solver == "NEWTON"]
Change = Callable[[Limb, np.random.Generator], object]


def key(limb: Limb, rng: np.random.Generator) -> None:
    for frame in (1, 16):
        for bone in limb.pose_bones:
            name = rigs.rotation_property(bone)
            values = np.array(getattr(bone, name))
            setattr(bone, name, values + rng.uniform(-0.3, 0.3, len(values)))
            bone.keyframe_insert(name, frame=frame)


def blend(limb: Limb, rng: np.random.Generator) -> None:
    limb.settings.influence = rng.choice((0.1, 0.5, 1.0))
    for bone in limb.pose_bones:
        bone.lock_rotation = (rng.random(3) < 0.3).tolist()
        bone.lock_rotation_w, bone.lock_rotations_4d = (rng.random(2) < (0.3, 0.5)).tolist()


def start_from_current(limb: Limb, rng: np.random.Generator) -> None:
    limb.settings.start_from = "CURRENT"


def limit(limb: Limb, rng: np.random.Generator) -> None:
    for bone in limb.pose_bones:
        bone.use_ik_limit_x = bone.use_ik_limit_z = True
        bone.ik_min_x, bone.ik_max_x, bone.ik_min_z, bone.ik_max_z = -1.9, 2.0, -2.1, 1.8
        bone.ik_stiffness_y = 0.5


def pull(limb: Limb, rng: np.random.Generator) -> None:
    force = limb.settings.force
    force.stiffness_root, force.stiffness_tip = rng.uniform(0.5, 4.0, 2)
    force.gravity = rng.uniform(0.5, 3.0)


CASES: dict[str, tuple[Sequence[Kind], Change]] = {
    "plain": (KINDS, lambda *_: None),
    "keyed": (KINDS, key),
    "influence and locks": (KINDS, blend),
    "current": (WHOLE, start_from_current),
    "limited": (NEAR, limit),
    "pulled": (PULLED, pull),
}
BESIDE = ("influence and locks",)


def seen(limbs: Sequence[Limb]) -> list[tuple[np.ndarray, float, str]]:
    """Return channels, residuals, and statuses without numbers, as they stand."""
    texts = (re.sub(r" ?\(.*\)|[\d.]+ \w?m", "", limb.settings.status) for limb in limbs)
    shown = zip(limbs, texts, strict=True)
    return [(channels(limb), limb.settings.residual, text) for limb, text in shown]


def assert_same(found: Sequence[tuple], expected: Sequence[tuple]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one[0], other[0], atol=SAME)
        assert one[1] == pytest.approx(other[1], abs=SAME)
        assert one[2] == other[2]


@pytest.mark.slow
@pytest.mark.every_case
@pytest.mark.parametrize(
    ("case", "copies"), [*((each, 1) for each in CASES), *((each, MANY) for each in BESIDE)]
)
def test_rigid_chains_move_as_bone_by_bone(case, copies, monkeypatch):
    kinds, change = CASES[case]
    limbs = build(kinds if copies == 1 else kinds[::2], copies, seed=copies)
    rng = make_rng(copies)
    with rigs.at_rest():
        for limb in limbs:
            change(limb, rng)
    starts = [channels(limb) for limb in limbs]
    rigs.go_to(5.25)
    assert_quick(limbs, copies)
    quick = seen(limbs)
    moves = [np.abs(one[0] - start).max() for one, start in zip(quick, starts, strict=True)]
    assert np.median(moves) > 0.1
    with rigs.at_rest():
        for limb, start in zip(limbs, starts, strict=True):
            pose(limb, start)
    bone_by_bone(limbs, monkeypatch)
    slow = seen(limbs)
    if case == "limited":
        pairs = [pair for pair in zip(quick, slow, strict=True) if pair[1][2] == "Reached"]
        assert len(pairs) > len(limbs) // 2
        quick, slow = zip(*pairs, strict=True)
    assert_same(quick, slow)


# What takes a chain off the quick path: where, which property, and its value.
SLOW = [
    ('pose.bones["Bone.0"]', "scale", (1.0, 1.3, 1.0)),
    ('pose.bones["Above.0"]', "scale", (1.0, 1.5, 1.0)),
    ('data.bones["Bone.1"]', "inherit_scale", "NONE"),
    ('data.bones["Bone.2"]', "use_inherit_rotation", False),
    ("", "scale", (-1.0, 1.0, 1.0)),
]


@pytest.mark.parametrize(("where", "name", "value"), SLOW)
def test_what_is_not_rigid_goes_bone_by_bone_and_back(where, name, value):
    for limb in (warm_rigs.RIG, warm_rigs.OTHER):
        warm_rigs.make_limb(limb[0], seed=len(limb[0]))
        warm_rigs.follow(limb, use_rotation=True, negative_scale="KEEP").name = limb[0]
    bones = ("Bone.0", "Bone.1", "Bone.2")
    limbs = [Limb(rig, bones, Kind("NEWTON", 3), 0) for rig in ("Rig", "Other")]
    rigs.updated()
    assert_quick(limbs, 2)
    before = seen(limbs)
    owner = limbs[0].object.path_resolve(where) if where else limbs[0].object
    former = getattr(owner, name)
    former = former if isinstance(former, str | float | bool) else tuple(former)
    setattr(owner, name, value)
    rigs.updated()
    assert ways(limbs) == ({"Other": 1}, {"Rig"})
    assert_same(seen(limbs)[1:], before[1:])
    setattr(owner, name, former)
    rigs.updated()
    assert_quick(limbs, 2)
    assert_same(seen(limbs), before)


@pytest.mark.parametrize("degrees", [1.0, 7.0])
def test_legs_under_hips_that_point_up_take_the_quick_path(degrees):
    ob = rigs.make_rig(((0, 0, 1), (0, 0, 1.2)), "Rig", prefix="Hips")
    limbs = []
    for i, around in enumerate(np.linspace(0.0, 2.0 * np.pi, 6, endpoint=False)):
        out = np.sin(np.radians(degrees)) * np.array([np.cos(around), np.sin(around), 0.0])
        knee = np.array([0.1, 0.0, 1.0]) + 0.45 * (out - (0, 0, np.cos(np.radians(degrees))))
        joints = ((0.1, 0.0, 1.0), knee, knee - (0.0, -0.02, 0.42))
        names = rigs.add_bones(ob, joints, prefix=f"Leg {i}", parent="Hips.0")
        target = rigs.make_empty(f"Target {i}", (0.1, -0.2, 0.4))
        rigs.add_chain(ob, names[-1], target, solver="TWO_BONE", chain_count=2, name=f"Leg {i}")
        limbs.append(Limb("Rig", tuple(names), Kind("TWO_BONE", 2), i))
    rigs.updated()
    assert_quick(limbs, 6)
    for limb in limbs:
        rigs.assert_reaches(ob, limb.bones[-1], limb.settings.target)


def test_bones_that_lie_folded_at_rest_bring_the_effector_to_the_target():
    turns = np.radians(179.0) * np.arange(5)
    steps = np.column_stack((0.1 * np.sin(3.0 * turns), np.sin(turns), np.cos(turns)))
    ob = rigs.make_rig(np.vstack((np.zeros(3), np.cumsum(steps, axis=0))))
    target = rigs.make_empty(location=(1.4, -0.8, 1.0))
    chain = rigs.add_chain(ob, "Bone.4", target, tolerance=1e-6)
    for solver, place in (("NEWTON", target.location), ("FABRIK", (-0.5, 2.0, -0.7))):
        chain.solver, target.location = solver, place
        rigs.updated()
        rigs.assert_reaches(ob, "Bone.4", target)
