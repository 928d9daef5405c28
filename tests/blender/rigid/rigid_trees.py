"""Random trees of rigid bones in numbers, under all kinds of parents, in the spaces they go in.

Trees of one seed are alike, and solved side by side where there are several.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import bpy
import numpy as np
import numpy.typing as npt
import pytest
from mathutils import Matrix, Quaternion

from blender_ik_addon.core import Status
from blender_ik_addon.rig.batches.chain_batch import ChainBatch
from blender_ik_addon.rig.frames import bases
from blender_ik_addon.rig.live import live
from tests.blender.rigid import rigid_rigs
from tests.blender.rigid.rigid_goals import Kind
from tests.blender.rigid.rigid_paths import NUDGES, Seen, assert_same, differences, nudge, seen
from tests.blender.rigid.rigid_rigs import Limb
from tests.blender.setups import jointed_rigs, rigs, warm_rigs
from tests.core.chains import random_direction
from tests.helpers import make_rng

Array = npt.NDArray[np.float64]

FAR = 1.6
"""How far targets out of reach are, as a share of where they could be reached."""
# What last digits make of poses that are sure: radians, and shares of the length; and how many are.
SURE, MOST_SURE = 1e-4, 0.6
# Which of the two it is hangs on the last digits of a limb's length.
STRAIGHT_OR_NOT = {Status.EXTENDED, Status.OUTWEIGHED}
# Radians that every limit lets bones turn.
LEAST_LIMIT = 0.4


@dataclass(frozen=True)
class Branch:
    """A limb of a tree, and its chain.

    Attributes:
        name: Of its bones, before a number.
        above: The bone of the trunk that it hangs on; the last one where it is the trunk's own end.
        bones: Their number; none where the chain ends with the trunk.
        count: The chain's bones up to its root, without a tip beyond the effector.
        kind: The chain's settings.
    """

    name: str
    above: int
    bones: int
    count: int
    kind: Kind


@dataclass(frozen=True)
class TreeKind:
    """What trees have in common that are solved side by side.

    Attributes:
        trunk: Number of its bones.
        branches: What hangs on it.
        mode: Rotation mode of all bones; empty for one in turn.
        is_limited: Whether the bones have joints.
    """

    trunk: int
    branches: tuple[Branch, ...]
    mode: str
    is_limited: bool


def tree_kind(seed: int, *, is_limited: bool, solver: str = "NEWTON") -> TreeKind:
    """Return a random kind of trees: with poles, or with tips that are solved with the tree.

    Both together can rarely be met, and where they cannot last digits decide between them.
    """
    rng = make_rng(seed)
    trunk, has_poles = int(rng.integers(2, 4)), bool(rng.random() < 0.5)
    found = []
    for i in range(int(rng.integers(2, 4))):
        # Head or chest of a body: its chain ends where others go on.
        ends_trunk = i == 0 and rng.random() < 0.4
        above = trunk - 1 if ends_trunk else int(rng.integers(trunk))
        use_tail = bool(rng.random() < 0.6)
        own = 0 if ends_trunk else int(rng.integers(1, 4))
        bones = 0 if ends_trunk else own + (not use_tail)
        is_whole = i < 2 or rng.random() < 0.6
        count = own + (above + 1 if is_whole else int(rng.integers(1, above + 2)))
        count -= ends_trunk and not use_tail
        weight = [None, 1.0, 1.0, 0.0][rng.integers(4)]
        if has_poles and weight == 1.0 and (use_tail or ends_trunk):
            weight = None
        kind = Kind(solver, own, has_poles and own > 1, use_tail, weight)
        found.append(Branch(f"Limb{i}", above, bones, count, kind))
    mode = str(rng.choice(("QUATERNION", "QUATERNION", "XYZ", "AXIS_ANGLE", "")))
    return TreeKind(trunk, tuple(found), mode, is_limited)


def build(
    of_kind: TreeKind, copies: int, seed: int, *, is_keyed: bool = False, is_apart: bool = False
) -> list[Limb]:
    """Return the chains of so many trees alike, one an armature object; not solved yet.

    Args:
        of_kind: What to build.
        copies: How often.
        seed: Of everything in which copies differ.
        is_keyed: Whether the bones' rotations are keyed.
        is_apart: Whether one target of each is out of reach.
    """
    bpy.context.scene.chain_ik.use_live = False
    limbs = []
    for number in range(copies):
        rng = make_rng(1000 * seed + number)
        ob = rigs.make_armature(f"Rig {seed}.{number}")
        _add_bones(ob, of_kind, rng)
        rigid_rigs.place(ob, rigid_rigs.WORLDS[(number + seed) % len(rigid_rigs.WORLDS)], rng)
        if of_kind.is_limited:
            _limit(ob, seed, rng)
        _turn_within(ob, rng)
        goals = [_goal(ob, of_kind, branch) for branch in of_kind.branches]
        rigs.turn_bones(ob, seed=3000 * seed + number, angle=0.4)
        if is_keyed:
            rigs.key_bones(ob, seed=number)
        for i, (branch, goal) in enumerate(zip(of_kind.branches, goals, strict=True)):
            far = FAR if is_apart and i == 0 else 1.0
            limbs.append(_follow(ob, of_kind, branch, rng, goal, far))
        if of_kind.is_limited:
            first = ob.chain_ik.chains[0]
            jointed_rigs.give(first, "Trunk.1", "CONE", cone=70, relative_to="PARENT")
    bpy.context.scene.chain_ik.use_live = True
    return limbs


def _names(of_kind: TreeKind, branch: Branch) -> list[str]:
    """Return the bones from the trunk's root to the end of a branch."""
    trunk = [f"Trunk.{i}" for i in range(branch.above + 1)]
    return [*trunk, *(f"{branch.name}.{i}" for i in range(branch.bones))]


def _add_bones(ob: bpy.types.Object, of_kind: TreeKind, rng: np.random.Generator) -> None:
    rigs.enter(ob, "EDIT")
    for name in rigid_rigs.PARENTS[1:]:
        ob.data.edit_bones.new(name).tail = (0.1, 0.2, 0.5)
    above = str(rng.choice(rigid_rigs.PARENTS))
    root = _add_line(ob, "Trunk", of_kind.trunk, above, (0.0, 0.0, 1.0), rng)
    if above:
        # The finished columns of an aligned bone are scaled, which no base can show.
        inherit = rigid_rigs.INHERIT[:-1] if above == "Scaled" else rigid_rigs.INHERIT
        root.inherit_scale = str(rng.choice(inherit))
        root.use_inherit_rotation = bool(rng.random() < 0.7)
    for i, branch in enumerate(of_kind.branches):
        around = 2.0 * np.pi * i / len(of_kind.branches)
        way = (np.cos(around), np.sin(around), 0.6)
        if branch.bones:
            _add_line(ob, branch.name, branch.bones, f"Trunk.{branch.above}", way, rng)
    bpy.ops.object.mode_set(mode="OBJECT")
    ob.pose.bones["Scaled"].scale = [rng.uniform(0.6, 1.6)] * 3
    is_scaled = rng.random() < 0.5
    for i, name in enumerate(sorted(ob.pose.bones.keys())):
        bone = ob.pose.bones[name]
        bone.rotation_mode = of_kind.mode or rigs.ROTATION_MODES[i % len(rigs.ROTATION_MODES)]
        if name not in rigid_rigs.PARENTS:
            bone.location = rng.uniform(-0.1, 0.1, 3)
            if is_scaled:
                # Nothing hangs on the last bones that their scales could shear.
                bone.scale = rng.uniform(0.7, 1.4, 1 if bone.children else 3) * np.ones(3)


def _add_line(
    ob: bpy.types.Object,
    name: str,
    count: int,
    above: str,
    way: Sequence[float],
    rng: np.random.Generator,
) -> bpy.types.EditBone:
    """Add a line of bones that goes about one way, and return the first of them."""
    bones, found = ob.data.edit_bones, []
    parent = bones.get(above)
    is_connected = rng.random() < 0.5
    head = np.zeros(3) if name == "Trunk" else np.array(parent.tail) + rng.uniform(-0.1, 0.1, 3)
    for i in range(count):
        bone = bones.new(f"{name}.{i}")
        bone.head = head
        head = head + rng.uniform(0.3, 0.8) * np.array(way) + rng.uniform(-0.15, 0.15, 3)
        bone.tail = head
        bone.roll = rng.uniform(-3.0, 3.0)
        bone.parent = parent
        bone.use_connect = is_connected and i > 0
        parent = bone
        found.append(bone)
    return found[0]


def _limit(ob: bpy.types.Object, seed: int, rng: np.random.Generator) -> None:
    """Give bones the limits, locks and stiffness of Blender's settings: of trees alike, alike."""
    common = make_rng(seed)
    for name in sorted(ob.pose.bones.keys()):
        bone, choice = ob.pose.bones[name], common.random(7)
        for axis, is_limited, is_locked in zip("xyz", choice[:3] < 0.5, choice[3:6], strict=True):
            setattr(bone, f"use_ik_limit_{axis}", bool(is_limited))
            setattr(bone, f"ik_min_{axis}", rng.uniform(-1.2, -LEAST_LIMIT))
            setattr(bone, f"ik_max_{axis}", rng.uniform(LEAST_LIMIT, 1.2))
            setattr(bone, f"lock_ik_{axis}", bool(is_locked < 0.15))
        bone.ik_stiffness_x = 0.4 if choice[6] < 0.3 else 0.0


def _turn_within(ob: bpy.types.Object, rng: np.random.Generator) -> None:
    """Turn every bone about one axis that is not locked, by less than any limit."""
    for bone in ob.pose.bones:
        axes = [i for i, axis in enumerate("xyz") if not getattr(bone, f"lock_ik_{axis}")]
        turn = Quaternion()
        if axes:
            angle = rng.choice((-1.0, 1.0)) * rng.uniform(0.1, 0.9 * LEAST_LIMIT)
            turn = Quaternion(np.eye(3)[rng.choice(axes)], angle)
        bone.matrix_basis = Matrix.LocRotScale(bone.location, turn, bone.scale)
    bpy.context.view_layer.update()


@dataclass(frozen=True)
class Goal:
    """Where an effector stands, world space, with the orientation of its tip, and its limb."""

    place: Array
    turn: Array
    root: Array
    aside: Array


def _goal(ob: bpy.types.Object, of_kind: TreeKind, branch: Branch) -> Goal:
    """Return the goal that the present pose meets."""
    posed = rigs.evaluated(ob)
    bones = [posed.pose.bones[name] for name in _names(of_kind, branch)]
    tip, world = bones[-1], np.array(posed.matrix_world)
    heads = [bone.head for bone in bones[branch.above + 1 :]] or [bones[0].head]
    ends = [*heads, tip.tail] if branch.kind.use_tail else heads
    points = np.array([world[:3, :3] @ np.array(point) + world[:3, 3] for point in ends])
    chord = points[-1] - points[0]
    aside = points[1:-1].sum(axis=0) - max(len(points) - 2, 0) * points[0]
    aside = aside - chord * (aside @ chord) / (chord @ chord or 1.0)
    place = points[-1]
    if len(points) == 1:
        place = world[:3, :3] @ np.array(tip.head) + world[:3, 3]
    root = world[:3, :3] @ np.array(bones[0].head) + world[:3, 3]
    return Goal(place, np.array((posed.matrix_world @ tip.matrix).to_quaternion()), root, aside)


def _follow(
    ob: bpy.types.Object,
    of_kind: TreeKind,
    branch: Branch,
    rng: np.random.Generator,
    goal: Goal,
    far: float,
) -> Limb:
    """Add the chain of a branch, and its target and pole."""
    kind, names, is_limited = branch.kind, _names(of_kind, branch), of_kind.is_limited
    target = rigs.make_empty(f"{ob.name} {branch.name} Target")
    target.location = goal.root + far * (goal.place - goal.root)
    target.rotation_mode, target.rotation_quaternion = "QUATERNION", goal.turn
    pole = None
    if kind.has_pole:
        size = float(np.linalg.norm(goal.aside))
        aside = goal.aside / size if is_limited else random_direction(rng)
        pole = rigs.make_empty(f"{ob.name} {branch.name} Pole", goal.place + 4.0 * aside)
    is_mirrored = np.linalg.det(np.array(ob.matrix_world)[:3, :3]) < 0.0
    settings = {} if kind.weight is None else {"use_rotation": True, "orient_weight": kind.weight}
    index = len(ob.chain_ik.chains)
    rigs.add_chain(
        ob,
        names[-1],
        target,
        name=branch.name,
        solver=kind.solver,
        chain_count=branch.count,
        use_tail=kind.use_tail,
        pole_target=pole,
        pole_angle=0.0 if is_limited else rng.uniform(-3.0, 3.0),
        use_flip_bend=not is_limited and rng.random() < 0.5,
        negative_scale="KEEP" if not is_mirrored and rng.random() < 0.5 else "MIRROR",
        start_from="KEYED" if rng.random() < 0.6 else "REST",
        tolerance=10.0 ** rng.uniform(-6.0, -4.0),
        weight=rng.uniform(0.2, 1.0),
        use_limits=is_limited,
        **settings,
    )
    skipped = len(names) - (not kind.use_tail) - branch.count
    return Limb(ob.name, tuple(names[skipped:]), kind, index)


def trees() -> Iterator[ChainBatch]:
    """Return who solves trees, side by side."""
    (graph,) = live.memory.graphs.values()
    for level in graph.levels:
        yield from (batch for batch in level.batches if len(batch.driven[0].live_chains) > 1)


def in_armatures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all trees solved in the spaces of their armatures, not of their root bones."""
    monkeypatch.setattr(bases, "EVEN_SPACE", -1.0)


def noted(monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str) -> list[Any]:
    """Return a list that grows by the first argument of every call of a function of a module."""
    found, wrapped = [], getattr(module, name)

    def note(first: Any, *others: Any, **named: Any) -> Any:
        found.append(first)
        return wrapped(first, *others, **named)

    monkeypatch.setattr(module, name, note)
    return found


def seen_in_armatures(limbs: Sequence[Limb], monkeypatch: pytest.MonkeyPatch) -> list[Seen]:
    """Return what chains of trees show that are solved in the spaces of their armatures."""
    with monkeypatch.context() as patch:
        in_armatures(patch)
        warm_rigs.forget()
        found = seen(limbs)
    return found


def assert_moves_as_in_armatures(
    limbs: Sequence[Limb], copies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that trees, so many side by side, show the same whatever space they are solved in.

    Where goals cannot be met together last digits may decide how a tree ends, in either space
    alike. Most are as sure of their poses as chains are, and those have to be the same.
    """
    quick = seen(limbs)
    assert {len(batch.driven) for batch in trees()} == {copies}
    slow = seen_in_armatures(limbs, monkeypatch)
    unsure: dict[str, Array] = {limb.rig: np.zeros(2) for limb in limbs}
    for seed in range(NUDGES):
        for i, limb in enumerate(limbs):
            nudge(limb, make_rng(1000 * seed + i))
        for limb, *both in zip(limbs, slow, seen_in_armatures(limbs, monkeypatch), strict=True):
            unsure[limb.rig] = np.maximum(unsure[limb.rig], differences(*both))
    for limb, one, other in zip(limbs, quick, slow, strict=True):
        if unsure[limb.rig].max() <= SURE:
            if {one.status, other.status} == STRAIGHT_OR_NOT:
                one = replace(one, status=other.status, text=other.text)
            assert_same(one, other, unsure[limb.rig])
    assert np.mean([each.max() <= SURE for each in unsure.values()]) >= MOST_SURE
