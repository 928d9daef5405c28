"""Trees for the tests of core, with an independent implementation of their kinematics."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from blender_ik_addon.core import Chain, Chains, JointKind, Joints, Solution, SolveOptions, Topology
from tests.core.limited_rigs import FREE_AXES, Rig, at_rest, matrix
from tests.helpers import Array

K = JointKind


@dataclass(frozen=True)
class TreeRig:
    """A tree at rest.

    Attributes:
        parents: Indices of the bones' parents; -1 for a bone without a parent.
        heads: Positions at rest, shape (n, 3), in the space of the tree.
        effector_bones: Indices of the bones that carry effectors.
        tips: Positions of the effectors at rest, shape (E, 3).
        kinds: The kinds of joints, one a bone.
        low: Least degrees about X, Y and Z, shape (n, 3).
        high: Greatest degrees, shape (n, 3).
        axes: Rotation matrices of the bones at rest, shape (n, 3, 3).
        unturned: Indices of the bones that their parents carry but do not turn.
    """

    parents: tuple[int, ...]
    heads: Array
    effector_bones: tuple[int, ...]
    tips: Array
    kinds: tuple[JointKind, ...]
    low: Array
    high: Array
    axes: Array
    unturned: tuple[int, ...] = ()

    @property
    def length(self) -> float:
        """The greatest distance from a root to an effector along the bones."""
        return max(reach for _, reach in self.reaches)

    @property
    def reaches(self) -> list[tuple[Array, float]]:
        """The root position of each effector, and its distance from there along the bones."""
        roots = []
        for bone, tip in zip(self.effector_bones, self.tips, strict=True):
            size, point = 0.0, tip
            while bone >= 0:
                size += float(np.linalg.norm(point - self.heads[bone]))
                point, bone = self.heads[bone], self.parents[bone]
            roots.append((point, size))
        return roots

    def posed(self, rotations: Array) -> tuple[Array, Array]:
        """Return heads (..., n, 3), effectors (..., E, 3) of local rotations wxyz (..., n, 4)."""
        # A local rotation turns a bone in its axes at rest; these matrices are in the tree's space.
        turns = self.axes @ matrix(rotations) @ self.axes.transpose(0, 2, 1)
        heads, whole_turns = np.empty((*turns.shape[:-2], 3)), np.empty_like(turns)
        for bone, parent in enumerate(self.parents):
            turn = turns[..., bone, :, :]
            if parent < 0:
                heads[..., bone, :], whole_turns[..., bone, :, :] = self.heads[bone], turn
                continue
            above = whole_turns[..., parent, :, :]
            offset = above @ (self.heads[bone] - self.heads[parent])
            heads[..., bone, :] = heads[..., parent, :] + offset
            whole_turns[..., bone, :, :] = turn if bone in self.unturned else above @ turn
        on = list(self.effector_bones)
        tips = np.einsum("...nij,nj->...ni", whole_turns[..., on, :, :], self.tips - self.heads[on])
        return heads, heads[..., on, :] + tips

    def joints(self, start: Array | None = None) -> Joints:
        """Return the joints as the package's record."""
        count = len(self.parents)
        offsets = np.array(
            [
                self.axes[bone]
                if parent < 0 or bone in self.unturned
                else self.axes[parent].T @ self.axes[bone]
                for bone, parent in enumerate(self.parents)
            ]
        )
        start = at_rest(count) if start is None else start
        low, high = np.radians(self.low), np.radians(self.high)
        return Joints(self.kinds, offsets, start, low, high, unturned=self.unturned)

    def tree(self, start: Array | None = None, **others: Array) -> Chain:
        """Return the tree as the package's record, by default with the rest pose as its start."""
        heads, tips = self.posed(at_rest(len(self.parents)) if start is None else start)
        points, joints = np.concatenate((heads, tips)), self.joints(start)
        return Chain(points, topology=self.topology, joints=joints, **others)

    @property
    def topology(self) -> Topology:
        return Topology(self.parents, self.effector_bones)

    def trees(self, count: int) -> Chains:
        """Return ``count`` copies of the tree at rest."""
        copies = self.tree().as_batch().take(np.zeros(count, dtype=np.int64))
        return Chains(copies.joint_positions, topology=copies.topology, joints=copies.joints)

    def as_rig(self) -> Rig:
        """Return the bones as a limited chain, to use its functions for ranges."""
        count = len(self.parents)
        ones = np.ones((count, 3))
        return Rig(self.kinds, self.low, self.high, np.tile(np.eye(3), (count, 1, 1)), ones, ones)

    def random_pose(self, rng: np.random.Generator, share: float = 0.8) -> Array:
        """Return random local rotations inside a share of the ranges, up to 60 degrees."""
        low, high = np.maximum(self.low, -60.0), np.minimum(self.high, 60.0)
        return replace(self, low=low, high=high).as_rig().random_pose(rng, share)

    def freed(self) -> TreeRig:
        """Return the rig with joints without limits."""
        unlimited = np.full_like(self.low, np.inf)
        return replace(self, kinds=(K.BALL,) * len(self.parents), low=-unlimited, high=unlimited)

    def targets(self, rng: np.random.Generator, share: float = 0.8) -> Array:
        """Return the effectors (E, 3) of a random pose."""
        return self.posed(self.random_pose(rng, share))[1]


def tree_of(
    parents: object, heads: Array, effector_bones: object, tips: Array, **others: object
) -> Chain:
    """Return a tree as the package's record."""
    points = np.concatenate((heads, tips))
    return Chain(points, topology=Topology(parents, effector_bones), **others)


def heads_of(solution: Solution) -> Array:
    """Return the heads (..., n, 3) of one or more solved trees."""
    return solution.joint_positions[..., : solution.local_rotations_wxyz.shape[-2], :]


def tips_of(solution: Solution) -> Array:
    """Return the effectors (..., E, 3) of one or more solved trees."""
    return solution.joint_positions[..., solution.local_rotations_wxyz.shape[-2] :, :]


def make_tree(
    bones: list[tuple[int, tuple[float, float, float]]],
    tips: list[tuple[int, tuple[float, float, float]]],
    limits: list[tuple[JointKind, tuple[tuple[float, float], ...]]] | None = None,
) -> TreeRig:
    """Return a rig from parents and heads of bones, and from bones and positions of effectors.

    The Y axis of a bone points to its first child or effector.
    """
    count = len(bones)
    low, high = np.full((count, 3), -np.inf), np.full((count, 3), np.inf)
    kinds: list[JointKind] = [K.BALL] * count
    for i, (kind, ranges) in enumerate(limits or ()):
        kinds[i] = kind
        for axis, edges in zip(FREE_AXES[kind], ranges, strict=bool(ranges)):
            low[i, axis], high[i, axis] = edges
    parents = tuple(parent for parent, _ in bones)
    heads = np.array([head for _, head in bones], float)
    ends = np.array([tip for _, tip in tips], float)
    on = tuple(bone for bone, _ in tips)
    axes = np.array([_axes(i, parents, heads, on, ends) for i in range(count)])
    return TreeRig(parents, heads, on, ends, tuple(kinds), low, high, axes)


def _axes(
    bone: int, parents: tuple[int, ...], heads: Array, on: tuple[int, ...], ends: Array
) -> Array:
    points = [heads[i] for i, parent in enumerate(parents) if parent == bone]
    points += [ends[effector] for effector, carrier in enumerate(on) if carrier == bone]
    y = points[0] - heads[bone]
    y /= np.linalg.norm(y)
    x = np.eye(3)[np.argmin(np.abs(y))]
    x = x - y * (x @ y)
    x /= np.linalg.norm(x)
    return np.stack((x, y, np.cross(x, y)), axis=1)


def row(
    parent: int, start: Array, step: Array, count: int, first: int
) -> tuple[list[tuple[int, tuple]], Array]:
    """Return bones in a row, with indices from ``first`` on, and the end of the last bone."""
    parents = (parent, *range(first, first + count - 1))
    bones = [(above, tuple(start + i * step)) for i, above in enumerate(parents)]
    return bones, start + count * step


def y_tree(trunk: int, left: int, right: int) -> TreeRig:
    """Return a tree in the shape of a Y with bones of length 1, slightly bent."""
    bones, top = row(-1, np.zeros(3), np.array([0.0, 1.0, 0.0]), trunk, 0)
    tips = []
    for count, side in ((left, 1.0), (right, -1.0)):
        step = np.array([side * np.sin(0.6), np.cos(0.6), 0.0])
        branch, end = row(trunk - 1, top, step, count, len(bones))
        bones += branch
        tips.append((len(bones) - 1, tuple(end)))
    waves = np.sin(1.7 * np.arange(len(bones)))[:, None] * np.array([0.0, 0.02, 0.04])
    waves[0] = 0.0
    waved = zip(bones, waves, strict=True)
    return make_tree([(parent, head + wave) for (parent, head), wave in waved], tips)


def humanoid() -> TreeRig:
    """Return a humanoid of 13 joints with 5 effectors: head, hands and feet."""
    bones = [
        (-1, (0.0, 0.0, 0.0)),  # spine
        (0, (0.0, 0.3, 0.02)),  # chest
        (1, (0.0, 0.6, 0.0)),  # neck and head
        (1, (0.18, 0.52, 0.0)),  # upper arms and forearms
        (3, (0.46, 0.5, -0.02)),
        (1, (-0.18, 0.52, 0.0)),
        (5, (-0.46, 0.5, -0.02)),
        (-1, (0.1, -0.02, 0.0)),  # thighs and shins
        (7, (0.11, -0.45, 0.02)),
        (-1, (-0.1, -0.02, 0.0)),
        (9, (-0.11, -0.45, 0.02)),
    ]
    tips = [
        (2, (0.0, 0.85, 0.03)),
        (4, (0.72, 0.5, 0.02)),
        (6, (-0.72, 0.5, 0.02)),
        (8, (0.1, -0.88, 0.0)),
        (10, (-0.1, -0.88, 0.0)),
    ]
    spine = (K.BALL, ((-40, 40), (-40, 40), (-40, 40)))
    arm = [(K.BALL, ((-100, 100), (-60, 60), (-100, 100))), (K.HINGE_X, ((-140, 140),))]
    leg = [(K.BALL, ((-90, 90), (-40, 40), (-50, 50))), (K.HINGE_X, ((-140, 140),))]
    return make_tree(bones, tips, [spine, spine, spine, *arm, *arm, *leg, *leg])


def spine_with_arms() -> TreeRig:
    """Return four spine bones, and two arms of clavicle, upper arm, forearm and hand."""
    bones = [
        (-1, (0.0, 1.0, 0.0)),
        (0, (0.0, 1.15, 0.04)),
        (1, (0.0, 1.3, 0.03)),
        (2, (0.0, 1.42, -0.02)),
    ]
    tips = []
    for side in (1.0, -1.0):
        first = len(bones)
        bones += [
            (3, (side * 0.02, 1.5, 0.06)),
            (first, (side * 0.17, 1.52, -0.05)),
            (first + 1, (side * 0.44, 1.36, -0.09)),
            (first + 2, (side * 0.67, 1.22, -0.02)),
        ]
        tips.append((first + 3, (side * 0.75, 1.17, 0.02)))
    spine = (K.BALL, ((-30, 30), (-25, 25), (-30, 30)))
    arm = [
        (K.SWING, ((-15, 25), (-20, 20))),
        (K.BALL, ((-100, 100), (-70, 70), (-100, 100))),
        (K.HINGE_X, ((-140, 140),)),
        (K.SWING, ((-60, 60), (-30, 30))),
    ]
    return make_tree(bones, tips, [spine] * 4 + arm + arm)


TREES = {
    "Y_4_3_3": lambda: y_tree(4, 3, 3),
    "Y_5_10_10": lambda: y_tree(5, 10, 10),
    "humanoid": humanoid,
    "spine_with_arms": spine_with_arms,
}
LIMITED = ("humanoid", "spine_with_arms")


def options_for(rig: TreeRig, tolerance: float = 1e-6, **others) -> SolveOptions:
    """Return options; the tolerance is a share of the tree's length."""
    return SolveOptions(tolerance=tolerance * rig.length, **others)
