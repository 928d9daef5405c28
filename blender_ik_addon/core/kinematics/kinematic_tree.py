"""Trees of bones: their poses from turns and slides, and the Jacobian of their effectors.

Layout as in ``arrays``, in the units of the start poses. A chain is a tree with one effector, a
free bone a joint without limits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..algebra import arrays, turns
from ..algebra.arithmetic import Array, Flags
from ..algebra.arrays import norm
from ..algebra.chains_first import chains_last
from ..algebra.nested import Rows
from ..model.joints import JointKind, Joints
from ..model.topology import Topology
from .aims import Aims
from .compiled_joints import AXIS_LOCKING, CompiledJoints, compile_joints
from .posed import Posed, State, accumulate, move_by_turns
from .reach import LimitedReach, bound_least_reach, compile_limited_reach, measure_reach


@dataclass(frozen=True)
class KinematicTree(Rows):
    """B trees of n jointed bones and E effectors, or chains: trees of one effector.

    Attributes:
        topology: Hierarchy of the bones.
        joints: Joints of the bones.
        heads: Vectors from the parents' heads to the heads, in the posed axes of the parents; for
            roots their heads. Shape (n, 3, B).
        ends: Vectors from the heads of the effectors' bones to the effectors, in the axes of these
            bones, shape (E, 3, B).
        reach: Longest way from a root to an effector along the bones, shape (B,).
        sqrt_weights: Square roots of the effectors' weights, shape (E, B).
        slide_axes: Moves of heads by slides of one, in the posed axes of the parents, shape
            (n, 3, B); None if nothing slides. Only trees of one effector slide.
        slide_room: Greatest length that each slide adds to the chain, shape (n, B).
        limited: How far and how near ranges let pairs of bones come; None for all others.
        aims: Aims besides the effectors' positions; None for none.
    """

    topology: Topology
    joints: CompiledJoints
    heads: Array
    ends: Array
    reach: Array
    sqrt_weights: Array
    slide_axes: Array | None = None
    slide_room: Array | None = None
    limited: LimitedReach | None = None
    aims: Aims | None = None

    @property
    def longest(self) -> Array:
        """The reach plus the greatest lengths that slides add, shape (B,)."""
        room = self.slide_room
        return self.reach if room is None else self.reach + room.sum(axis=0)

    @cached_property
    def least_reach(self) -> Array:
        """No pose brings the effectors of chains nearer to their roots, shape (B,)."""
        bound = bound_least_reach(self.joints, self.heads, self.ends)
        least: Array = bound if self.limited is None else np.maximum(bound, self.limited.nearest)
        return least

    @property
    def farthest(self) -> Array:
        """The reach that ranges leave, as far as known, shape (B,)."""
        return self.reach if self.limited is None else self.reach - self.limited.lack

    @property
    def can_swivel(self) -> bool:
        """Whether the root swings in all directions; others hardly choose the side of a bend."""
        return self.joints.kinds[0] in (JointKind.BALL, JointKind.SWING)

    @property
    def has_only_hinges(self) -> bool:
        """Whether no bone turns about two axes: then few, distant poses meet position and turn."""
        return all(kind in AXIS_LOCKING for kind in self.joints.kinds)

    @property
    def row_count(self) -> int:
        """The number of rows of the output."""
        return 3 * len(self.ends) + (0 if self.aims is None else self.aims.row_count)

    def move(self, offset: Array) -> KinematicTree:
        """Return trees whose first bones are moved by offsets (3, B) in units of the reach."""
        heads = self.heads.copy()
        heads[0] += offset * self.reach
        return replace(self, heads=heads)

    def make_state(
        self,
        turn: Array,
        slide: Array | None = None,
        was_active: Flags | None = None,
        posed: Posed | None = None,
    ) -> State:
        """Return the state of turns and slides inside their ranges; arguments as ``clamp_state``.

        ``posed`` is their pose if it is known.
        """
        count, _, rows = turn.shape
        slide = np.zeros((count, rows)) if slide is None else slide
        was_active = (
            np.zeros((count, 3, rows), dtype=np.bool_) if was_active is None else was_active
        )
        posed = self.pose(turn, slide) if posed is None else posed
        return State(turn, slide, was_active, self.find_output(posed), posed)

    def restate(self, state: State) -> State:
        """Return a state of the same tree with other aims, or none, as a state of this one."""
        return self.make_state(state.turn, state.slide, None, state.posed)

    def clamp_state(
        self, turn: Array, slide: Array | None = None, was_active: Flags | None = None
    ) -> State:
        """Return the state of turns and slides brought inside their ranges.

        Args:
            turn: Turns of the joints, inside their ranges or not, shape (n, 4, B).
            slide: Slides, likewise, shape (n, B); None for none.
            was_active: Whether the last step kept joints on edges, shape (n, 3, B); None for none.
        """
        if self.slide_axes is not None and slide is not None:
            slide = np.clip(slide, self.joints.slide_low, self.joints.slide_high)
        return self.make_state(self.joints.clamped(turn), slide, was_active)

    def pose(self, turn: Array, slide: Array | None = None) -> Posed:
        """Return the pose of turns (n, 4, B) and slides (n, B) inside their ranges."""
        topology, joints, offsets = self.topology, self.joints, self.joints.offsets
        matrices, heads = turns.to_matrices(turn), self.heads
        if slide is not None:
            heads = self.slide_heads(slide)
        children, carriers, count = topology.children_of_bones, topology.carriers, len(matrices)
        arms, carrying = np.concatenate((heads[children], self.ends)), matrices[carriers]
        arms = np.einsum("nijb,njb->nib", carrying, arms)
        links, parents = offsets.copy(), carrying[: len(arms) - len(self.ends)]
        links[children] = np.einsum("nijb,njkb->nikb", parents, offsets[children])
        links[list(topology.unturned)] = offsets[list(topology.unturned)]
        frames = accumulate(links, topology.bone_rounds, arrays.compose)
        arms = np.einsum("nijb,njb->nib", frames[carriers], arms)
        points = np.empty((count + len(self.ends), *heads.shape[1:]))
        points[topology.roots] = heads[topology.roots]
        points[children], points[count:] = arms[: len(parents)], arms[len(parents) :]
        points = accumulate(points, topology.point_rounds, np.add)
        return Posed(frames, matrices, points, joints.is_rigid)

    def slide_heads(self, slide: Array) -> Array:
        """Return the heads moved by slides (n, B), shape (n, 3, B)."""
        if self.slide_axes is None:
            return self.heads
        heads: Array = self.heads + self.slide_axes * slide[:, None]
        return heads

    def slide_effects(self, posed: Posed) -> Array:
        """Return the moves of the effector by slides of one, shape (n, 3, B)."""
        assert self.slide_axes is not None
        moved = self.slide_axes.copy()
        moved[1:] = np.einsum("nijb,njb->nib", posed.axes[:-1], moved[1:])
        return moved

    def weigh(self, points: Array) -> Array:
        """Return points of the effectors (E, 3, B), weighted, as rows of an output (3 E, B)."""
        return (points * self.sqrt_weights[:, None]).reshape(3 * len(points), points.shape[-1])

    def unweigh(self, rows: Array) -> Array:
        """Return rows of an output (3 E, B), without weights, as points of effectors (E, 3, B)."""
        least = np.maximum(self.sqrt_weights, arrays.MIN_LENGTH)
        points: Array = rows.reshape(len(self.ends), 3, rows.shape[-1]) / least[:, None]
        return points

    def find_output(self, posed: Posed) -> Array:
        """Return the values of a pose that are compared with the target, (rows, B)."""
        positions = self.weigh(posed.tips)
        if self.aims is None:
            return positions
        return np.concatenate((positions, self.aims.find_output(posed)))

    def find_jacobian(self, posed: Posed) -> Array:
        """Return the derivatives of outputs by turns of joints, shape (n, rows, 3, B)."""
        moved_points = posed.tips
        if self.topology.unturned:
            moved_points = posed.points[self.topology.moving_points[:, len(posed.heads) :]]
        levers = posed.express(moved_points - posed.heads[:, None])
        moved = move_by_turns(posed.frames, levers)
        if self._shares is not None:
            moved *= self._shares
        count, effectors, _, _, trees = moved.shape
        moved = moved.reshape(count, 3 * effectors, 3, trees)
        if self.aims is None:
            return moved
        return np.concatenate((moved, self.aims.find_jacobian(posed)), axis=1)

    @cached_property
    def _shares(self) -> Array | None:
        """Weights of joints for effectors, shape (n, E, 1, 1, any); None if all are 1."""
        shares = self.topology.is_on_path[:, :, None] * self.sqrt_weights
        return None if (shares == 1.0).all() else shares[:, :, None, None]


def compile_tree(
    topology: Topology, joints: Joints, heads: Array, tips: Array, unit: Array
) -> tuple[KinematicTree, Posed]:
    """Return trees for goals of equal weight, and their start poses.

    Args:
        topology: Hierarchy of the bones.
        joints: Joints of B trees.
        heads: Heads in units, relative to the first head, shape (n, 3, B).
        tips: Effectors, likewise, shape (E, 3, B).
        unit: Units of length, shape (B,).
    """
    compiled = compile_joints(joints, unit)
    start = compiled.to_turns(joints.start_wxyz)
    reach = measure_paths(topology, heads, tips)[1].max(axis=0)
    weights, zeros = np.ones((len(tips), len(unit))), (np.zeros_like(heads), np.zeros_like(tips))
    tree = KinematicTree(topology, compiled, *zeros, reach, weights)
    inverse = arrays.invert(tree.pose(start).axes)
    children = topology.children_of_bones
    parents = np.array(topology.parents)[children]
    arms, on = heads.copy(), list(topology.effector_bones)
    arms[children] = np.einsum("nijb,njb->nib", inverse[parents], heads[children] - heads[parents])
    ends = np.einsum("nijb,njb->nib", inverse[on], tips - heads[on])
    tree = replace(tree, heads=arms, ends=ends)
    is_pair = topology.parents == (-1, 0) and topology.effector_bones == (1,)
    if is_pair and not topology.unturned:
        tree = replace(tree, limited=compile_limited_reach(compiled, arms, ends))
    if joints.slide_low.any() or joints.slide_high.any():
        tree = replace(tree, slide_axes=chains_last(joints.slide_axes))
    posed = tree.pose(start)
    if tree.slide_axes is not None:
        before = np.diff(posed.heads, axis=0, prepend=posed.heads[:1])
        effects, slides = tree.slide_effects(posed), (compiled.slide_low, compiled.slide_high)
        longest = np.maximum(*(norm(before + effects * end[:, None]) for end in slides))
        tree = replace(tree, slide_room=longest - norm(before))
    return tree, posed


def bound_reaches(tree: KinematicTree, reaches: Array) -> Array:
    """Return bounds of the distances of effectors from their roots, (2, E, B), in any pose.

    These are the reaches (2, E, B) in one pose. Bones that are not rigid change their lengths as
    they turn: there the first bound is zero, and the second the reach of bones that are as long as
    any turn makes them. Slides are not included.
    """
    topology, joints = tree.topology, tree.joints
    if joints.is_rigid:
        return reaches
    bounds = reaches.copy()
    # The greatest stretch of vectors in the axes of bones.
    stretch = np.linalg.norm(joints.offsets.transpose(0, 3, 1, 2), ord=2, axis=(2, 3))
    for bone, parent in enumerate(topology.parents):
        if parent >= 0 and bone not in topology.unturned:
            stretch[bone] *= stretch[parent]
    lengths, ends = norm(tree.heads), norm(tree.ends)
    for effector, path in enumerate(topology.paths):
        above, below = list(path[:-1]), list(path[1:])
        longest = (stretch[above] * lengths[below]).sum(axis=0)
        longest += stretch[path[-1]] * ends[effector]
        ends_of_path = np.zeros_like(longest), longest
        bounds[:, effector] = np.where(joints.are_rigid, reaches[:, effector], ends_of_path)
    return bounds


def measure_paths(topology: Topology, heads: Array, tips: Array) -> Array:
    """Return the smallest and greatest distances of effectors from their roots, (2, E, B)."""
    distances = np.empty((2, len(tips), tips.shape[-1]))
    for effector, path in enumerate(topology.paths):
        points = np.concatenate((heads[list(path)], tips[effector][None]))
        distances[::-1, effector] = measure_reach(norm(np.diff(points, axis=0)))
    return distances
