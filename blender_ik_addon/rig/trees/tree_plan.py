"""A tree of chains compiled: its bones, what carries its effectors, and where it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from ...core.algebra.arithmetic import Array, Indices
from ..planning.driven import Driven, driven_alone
from ..planning.hanging import Hanging
from ..planning.live_chain import LiveChain, is_same
from ..reading.bone_joints import NOT_TURNED, BoneJoints, free_bones
from ..reading.channels import Pose
from ..reading.rows import joined
from ..reading.skeleton import Skeleton
from ..reading.spec import StartFrom
from .body_floor import AboveFloor
from .body_limbs import BodyLimb, body_limbs
from .floating import Floating

# Ends of a bone that lie off one line by less than this, as a share of their distance, are on it:
# so much do rest matrices leave of heads that meet, in float32.
ON_LINE = 5e-7


@dataclass(frozen=True, eq=False)
class TreePlan(Driven):
    """The k bones that E chains write together that share some.

    Attributes:
        ends: Effectors in the space of the posed bone that carries them, shape (E, 3).
        ways: From the parent's head to the bone's in the space of the posed parent, shape (k, 3);
            that of the root is not used.
        scale: Scale channels, shape (k, 3).
        floating: How a root moves that floats; None for one that stays.
        limbs: Of a body, what is solved by itself first.
        standing: What of it stays above its floor; None without a floor.
    """

    ends: Array
    ways: Array
    scale: Array
    floating: Floating | None = None
    limbs: tuple[BodyLimb, ...] = ()
    standing: AboveFloor | None = None

    @cached_property
    def levers(self) -> Array:
        """Where the ends of each bone lie in its space, zero where not in one direction, (n, 3)."""
        ends: list[list[Array]] = [[] for _ in range(self.hanging.count)]
        for row in range(1, self.hanging.count):
            ends[self.hanging.parents[row]].append(self.ways[row])
        for carrier, end in zip(self.hanging.carriers, self.ends, strict=True):
            ends[carrier].append(end)
        return np.array([_direction(np.array(each)) for each in ends])

    @cached_property
    def keeps_shape(self) -> bool:
        """Whether the bones stand to each other as they do, whatever space the root turns in."""
        return not self.hanging.floats and bool(
            self.skeleton.takes_whole_parent[self.bones[1:]].all()
        )

    @cached_property
    def batch_key(self) -> tuple[object, ...]:
        """What trees must have in common to be solved side by side."""
        options = self.options
        return (
            self.hanging,
            self.spread,
            tuple(self.modes.tolist()),
            tuple(self.is_current.tolist()),
            options.solver,
            options.orient_weight,
            options.use_finish,
            self.turning,
            tuple(self.specs[chain].options.orient_weight for chain in self.turning),
            self.poled,
            None if self.joints is None else (self.joints.kinds, self.joints.is_free),
            # The core takes bones without length, and such as branch, together.
            tuple(self.ways[1:].any(axis=1).tolist()),
            tuple(self.ends.any(axis=1).tolist()),
            tuple(self.levers.any(axis=1).tolist()),
            self.priorities,
            tuple(limb.batch_key for limb in self.limbs),
            None if self.standing is None else self.standing.rows,
        )

    @cached_property
    def priorities(self) -> tuple[int, ...] | None:
        """Of the targets in a body, 0 of those that are pinned; None where all count at once."""
        goals = [spec.body for spec in self.specs]
        if not self.hanging.floats:
            return None
        return tuple(0 if goal.is_pinned else goal.priority for goal in goals if goal is not None)


def driven_by(live_chains: Sequence[LiveChain], pose: Pose, of_bones: BoneJoints | None) -> Driven:
    """Return what chains drive that share bones, or one chain that shares none.

    Args:
        live_chains: The chains, in the order of the list.
        pose: Of their armature object.
        of_bones: What the settings of all bones say; None where no chain of the object honours
            them.
    """
    if len(live_chains) == 1 and live_chains[0].plan.body_root < 0:
        return driven_alone(live_chains[0])
    return _tree(live_chains, pose, of_bones)


def _tree(live_chains: Sequence[LiveChain], pose: Pose, of_bones: BoneJoints | None) -> TreePlan:
    skeleton = live_chains[0].skeleton
    writers: dict[int, list[int]] = {}
    for number, live_chain in enumerate(live_chains):
        for bone in live_chain.plan.written.tolist():
            writers.setdefault(bone, []).append(number)
    bones, count = _ordered(live_chains, skeleton, writers)
    row_of = {bone: row for row, bone in enumerate(bones)}
    rows = tuple(np.array([row_of[b] for b in each.plan.written.tolist()]) for each in live_chains)
    first = np.array([writers[bone][0] for bone in bones])
    plans = [live_chain.plan for live_chain in live_chains]
    tips = [int(own[plan.tip_row]) for own, plan in zip(rows, plans, strict=True)]
    index, floats = np.array(bones), live_chains[0].plan.body_root >= 0
    parents = tuple(row_of.get(int(skeleton.parents[bone]), -1) for bone in bones)
    start, stored = np.empty((len(bones), 4)), np.empty((len(bones), 4))
    for number in reversed(range(len(live_chains))):
        start[rows[number]] = live_chains[number].start
        stored[rows[number]] = live_chains[number].stored
    specs = [live_chain.spec for live_chain in live_chains]
    is_current = [each.start_from is StartFrom.CURRENT for each in live_chains]
    carriers = _carriers(live_chains, row_of, tips, count)
    turns = skeleton.frames.use_inherit_rotation
    tree = TreePlan(
        live_chains=tuple(live_chains),
        bones=index,
        hanging=Hanging(
            parents,
            count,
            tuple(carriers),
            tuple(tuple(own.tolist()) for own in rows),
            tuple(tips),
            tuple((1 + np.flatnonzero(~turns[index[1:count]])).tolist()),
            floats,
        ),
        ends=_ends(live_chains, skeleton, pose, index[carriers]),
        ways=skeleton.heads(index, pose.location[index]),
        scale=pose.scale[index],
        start=start,
        stored=stored,
        modes=pose.modes[index],
        is_current=np.array([is_current[i] for i in first]),
        influence=np.array([max(specs[i].influence for i in writers[bone]) for bone in bones]),
        joints=_joints(live_chains, bones, rows, writers, of_bones),
    )
    return _as_body(tree, pose, of_bones) if floats else tree


def _as_body(tree: TreePlan, pose: Pose, of_bones: BoneJoints | None) -> TreePlan:
    """Return a tree whose root floats with what only bodies have."""
    hang, chains = tree.hanging, tree.live_chains
    limbs = body_limbs(
        chains, tree.bones, hang.parents, partial(driven_by, pose=pose, of_bones=of_bones)
    )
    standing = None
    if tree.specs[0].floor is not None:
        standing = AboveFloor.of(chains, tree.bones[: hang.count], hang.carriers, tree.ends)
    floating = Floating.of(chains, tree.bones, pose)
    return replace(tree, floating=floating, limbs=limbs, standing=standing)


def _ordered(
    live_chains: Sequence[LiveChain], skeleton: Skeleton, writers: dict[int, list[int]]
) -> tuple[list[int], int]:
    """Return the bones, parents first and those that turn afterwards last, and how many do not.

    Of these, tips beyond effectors come before twist bones.
    """
    plans = [live_chain.plan for live_chain in live_chains]
    last = {plan.tip: 1 for plan in plans if plan.turns_beyond and len(writers[plan.tip]) == 1}
    twisted = {bone for plan in plans for bone in plan.limb[plan.tip_row + 1 :].tolist()}
    limbs = {bone for plan in plans for bone in plan.limb[: plan.tip_row + 1].tolist()}
    last |= dict.fromkeys(twisted - limbs, 2)
    depth = {bone: len(skeleton.ancestors(bone)) for bone in writers}
    bones = sorted(writers, key=lambda bone: (last.get(bone, 0), depth[bone], bone))
    return bones, len(bones) - len(last)


def _carriers(
    live_chains: Sequence[LiveChain], row_of: dict[int, int], tips: Sequence[int], count: int
) -> list[int]:
    """Return the rows of the bones that carry the effectors.

    A head is carried by its parent; by the bone itself where that turns to the target as well and
    other chains go on from it, so that all of them are told of its turn.
    """
    found = []
    for live_chain, tip in zip(live_chains, tips, strict=True):
        plan = live_chain.plan
        is_beyond = plan.turns_beyond and tip < count
        found.append(tip if is_beyond else row_of[int(plan.segments[-1])])
    return found


def _ends(live_chains: Sequence[LiveChain], skeleton: Skeleton, pose: Pose, on: Indices) -> Array:
    ends = np.zeros((len(live_chains), 3))
    for number, (live_chain, carrier) in enumerate(zip(live_chains, on.tolist(), strict=True)):
        plan = live_chain.plan
        if plan.ends_at_tail:
            ends[number, 1] = skeleton.lengths[plan.tip]
        elif carrier != plan.tip:
            ends[number] = skeleton.heads(np.array([plan.tip]), pose.location[[plan.tip]])[0]
    return ends


def _joints(
    live_chains: Sequence[LiveChain],
    bones: Sequence[int],
    rows: Sequence[Indices],
    writers: dict[int, list[int]],
    of_bones: BoneJoints | None,
) -> BoneJoints | None:
    """Return the joints of a tree's bones: of each those of the first chain that honours any.

    A joint that a chain gives the bone as its own comes before what the bone's settings say.
    """
    if of_bones is None or all(live_chain.joints is None for live_chain in live_chains):
        return None
    chosen = list[BoneJoints]()
    for row, bone in enumerate(bones):
        plain, own = _joint_of(of_bones, bone), None
        for number in writers[bone]:
            has_limits = live_chains[number].spec.use_limits
            if has_limits and (own is None or is_same(own, plain)):
                column = int(np.flatnonzero(rows[number] == row)[0])
                own = _joint_of(live_chains[number].joints, column)
        chosen.append(own or _joint_of(None, 0))
    whole = joined(chosen)
    is_rest = bool((whole.zero_wxyz == NOT_TURNED).all())
    return replace(whole, zero_wxyz=None if is_rest else whole.zero_wxyz, slides=None)


def _joint_of(joints: BoneJoints | None, row: int) -> BoneJoints:
    """Return one of several joints, with a zero also at rest; none slides in a tree."""
    joint = free_bones(1) if joints is None else joints.take(np.array([row]))
    zero = np.array([NOT_TURNED]) if joint.zero_wxyz is None else joint.zero_wxyz
    return replace(joint, zero_wxyz=zero, slides=np.zeros((1, 2)))


def _direction(ends: Array) -> Array:
    """Return the farthest of the ends of a bone, or zero where they lie not in one direction."""
    squares = np.einsum("ij,ij->i", ends, ends)
    longest: Array = ends[int(np.argmax(squares))]
    aside = np.linalg.norm(np.cross(ends, longest), axis=1)
    return longest * (len(ends) == 1 or bool((aside <= ON_LINE * np.max(squares)).all()))
