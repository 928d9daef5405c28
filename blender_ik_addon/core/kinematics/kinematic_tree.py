"""Bones that hang on each other: where turns and slides put them, and how effectors answer.

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
from ..algebra.nested import Rows
from ..model.joints import JointKind, Joints
from ..model.topology import Topology
from .aims import Aims
from .compiled_joints import KNOWN, CompiledJoints, compile_joints, put_rows_last
from .posed import Posed, State, accumulate, move_by_turns
from .reach import measure_reach
from .swing_twist import put_together


@dataclass(frozen=True)
class KinematicTree(Rows):
    """B trees of n jointed bones and E effectors, or chains: trees of one effector.

    Attributes:
        topology: How the bones hang together.
        joints: What they may do.
        heads: From the parent's head to the bone's in the posed axes of the parent, for a root its
            head, shape (n, 3, B).
        ends: From the heads of the effectors' bones to the effectors in the axes of those bones,
            shape (E, 3, B).
        reach: The longest way from a root to an effector along the bones, shape (B,).
        sqrt_weights: Square roots of the effectors' weights, shape (E, B).
        slide_axes: What slides of one move heads by, in the posed axes of the parents, shape
            (n, 3, B); None where nothing slides. Only trees of one effector slide.
        slide_room: How much longer slides make the chain at most, each by itself, shape (n, B).
        aims: None for the effectors' positions alone.
    """

    topology: Topology
    joints: CompiledJoints
    heads: Array
    ends: Array
    reach: Array
    sqrt_weights: Array
    slide_axes: Array | None = None
    slide_room: Array | None = None
    aims: Aims | None = None

    @property
    def longest(self) -> Array:
        """The reach, and what slides add to it, shape (B,)."""
        room = self.slide_room
        return self.reach if room is None else self.reach + room.sum(axis=0)

    @property
    def can_swivel(self) -> bool:
        """Whether the root swings to all sides: others hardly choose the side that they bend to."""
        return self.joints.kinds[0] in (JointKind.BALL, JointKind.SWING)

    @property
    def only_hinges(self) -> bool:
        """Whether all bones turn about one axis: few poses, far apart, have a place and a turn."""
        return all(kind in KNOWN for kind in self.joints.kinds)

    @property
    def rows(self) -> int:
        """The number of rows of the output."""
        return 3 * len(self.ends) + (0 if self.aims is None else self.aims.rows)

    def move(self, place: Array) -> KinematicTree:
        """Return trees whose first bones have moved, by lengths of the reach (3, B)."""
        heads = self.heads.copy()
        heads[0] += place * self.reach
        return replace(self, heads=heads)

    def make_state(
        self,
        turn: Array,
        slide: Array | None = None,
        is_kept: Flags | None = None,
        posed: Posed | None = None,
    ) -> State:
        """Return a state with its output; as ``clamp_state``, but of turns that are allowed.

        ``posed`` is where they put the bones, if it is known.
        """
        count, _, rows = turn.shape
        slide = np.zeros((count, rows)) if slide is None else slide
        is_kept = np.zeros((count, 3, rows), dtype=np.bool_) if is_kept is None else is_kept
        posed = self.pose(turn, slide) if posed is None else posed
        return State(turn, slide, is_kept, self.find_output(posed), posed)

    def restate(self, state: State) -> State:
        """Return the state of the same bones in a tree that has had other aims, or none."""
        return self.make_state(state.turn, state.slide, None, state.posed)

    def clamp_state(
        self, turn: Array, slide: Array | None = None, is_kept: Flags | None = None
    ) -> State:
        """Return the state of turns and slides brought inside their ranges.

        Args:
            turn: Of any sort, shape (n, 4, B).
            slide: The same, shape (n, B); None for none.
            is_kept: The edges that have been kept to, shape (n, 3, B); None for none.
        """
        joints = self.joints
        if self.slide_axes is not None and slide is not None:
            slide = np.clip(slide, joints.slide_low, joints.slide_high)
        if joints.is_free:
            return self.make_state(turn, slide, is_kept)
        return self.make_state(put_together(joints.take_apart(turn), 1), slide, is_kept)

    def pose(self, turn: Array, slide: Array | None = None) -> Posed:
        """Return where turns (n, 4, B) and slides (n, B), inside their ranges, put the bones."""
        topology, joints, offsets = self.topology, self.joints, self.joints.offsets
        own, heads = turns.to_matrices(turn), self.heads
        if slide is not None:
            heads = self.slide_heads(slide)
        children, carriers, count = topology.children_of_bones, topology.carriers, len(own)
        arms, carrying = np.concatenate((heads[children], self.ends)), own[carriers]
        arms = np.einsum("nijb,njb->nib", carrying, arms)
        links, before = offsets.copy(), carrying[: len(arms) - len(self.ends)]
        links[children] = np.einsum("nijb,njkb->nikb", before, offsets[children])
        links[list(topology.unturned)] = offsets[list(topology.unturned)]
        frames = accumulate(links, topology.bone_rounds, arrays.compose)
        arms = np.einsum("nijb,njb->nib", frames[carriers], arms)
        points = np.empty((count + len(self.ends), *heads.shape[1:]))
        points[topology.roots] = heads[topology.roots]
        points[children], points[count:] = arms[: len(before)], arms[len(before) :]
        points = accumulate(points, topology.point_rounds, np.add)
        return Posed(frames, own, points, joints.is_rigid)

    def slide_heads(self, slide: Array) -> Array:
        """Return the heads moved by slides (n, B), shape (n, 3, B)."""
        if self.slide_axes is None:
            return self.heads
        heads: Array = self.heads + self.slide_axes * slide[:, None]
        return heads

    def slide_effects(self, posed: Posed) -> Array:
        """Return how effectors move with the slides of each bone, shape (n, 3, B)."""
        assert self.slide_axes is not None
        moved = self.slide_axes.copy()
        moved[1:] = np.einsum("nijb,njb->nib", posed.whole[:-1], moved[1:])
        return moved

    def weigh(self, points: Array) -> Array:
        """Return points of the effectors (E, 3, B) as rows of an output (3 E, B)."""
        return (points * self.sqrt_weights[:, None]).reshape(-1, points.shape[-1])

    def unweigh(self, rows: Array) -> Array:
        """Return rows of an output (3 E, B) as points of the effectors (E, 3, B)."""
        least = np.maximum(self.sqrt_weights, arrays.NO_DIRECTION)
        points: Array = rows.reshape(len(self.ends), 3, -1) / least[:, None]
        return points

    def find_output(self, posed: Posed) -> Array:
        """Return what the target is compared with, (rows, B)."""
        positions = self.weigh(posed.tips)
        if self.aims is None:
            return positions
        return np.concatenate((positions, self.aims.find_output(posed)))

    def find_jacobian(self, posed: Posed) -> Array:
        """Return how outputs change with the turns of each joint, shape (n, rows, 3, B)."""
        levers = posed.express(self._find_held(posed) - posed.heads[:, None])
        moved = move_by_turns(posed.frames, levers)
        if self._shares is not None:
            moved *= self._shares
        count, effectors, _, _, trees = moved.shape
        moved = moved.reshape(count, 3 * effectors, 3, trees)
        if self.aims is None:
            return moved
        return np.concatenate((moved, self.aims.find_jacobian(posed)), axis=1)

    def _find_held(self, posed: Posed) -> Array:
        """Return what moves as the effectors do when each bone turns, (E, 3, B) or (n, E, 3, B)."""
        if not self.topology.unturned:
            return posed.tips
        held: Array = posed.points[self.topology.held[:, len(posed.heads) :]]
        return held

    @cached_property
    def _shares(self) -> Array | None:
        """How much each joint counts for each effector, shape (n, E, 1, 1, any); None for 1."""
        shares = self.topology.moves[:, :, None] * self.sqrt_weights
        return None if (shares == 1.0).all() else shares[:, :, None, None]


def compile_tree(
    topology: Topology, joints: Joints, heads: Array, tips: Array, unit: Array
) -> tuple[KinematicTree, Posed]:
    """Return trees for goals of one weight, and where their start poses put the bones.

    Args:
        topology: How the bones hang together.
        joints: With B as leading axis.
        heads: In units, from the first head, shape (n, 3, B).
        tips: The same, shape (E, 3, B).
        unit: Shape (B,).
    """
    compiled = compile_joints(joints, unit)
    start = compiled.inner(joints.start_wxyz)
    reach = measure_paths(topology, heads, tips)[1].max(axis=0)
    alike, away = np.ones((len(tips), len(unit))), (np.zeros_like(heads), np.zeros_like(tips))
    tree = KinematicTree(topology, compiled, *away, reach, alike)
    back = arrays.invert(tree.pose(start).whole)
    children = topology.children_of_bones
    parents = np.array(topology.parents)[children]
    own, on = heads.copy(), list(topology.effector_bones)
    own[children] = np.einsum("nijb,njb->nib", back[parents], heads[children] - heads[parents])
    ends = np.einsum("nijb,njb->nib", back[on], tips - heads[on])
    tree = replace(tree, heads=own, ends=ends)
    if joints.slide_low.any() or joints.slide_high.any():
        tree = replace(tree, slide_axes=put_rows_last(joints.slide_axes))
    posed = tree.pose(start)
    if tree.slide_axes is not None:
        before = np.diff(posed.heads, axis=0, prepend=posed.heads[:1])
        effects, slides = tree.slide_effects(posed), (compiled.slide_low, compiled.slide_high)
        longest = np.maximum(*(norm(before + effects * end[:, None]) for end in slides))
        tree = replace(tree, slide_room=longest - norm(before))
    return tree, posed


def measure_paths(topology: Topology, heads: Array, tips: Array) -> Array:
    """Return how near effectors get to their roots, and how far from them at most, (2, E, B)."""
    found = np.empty((2, len(tips), tips.shape[-1]))
    for effector, path in enumerate(topology.paths):
        points = np.concatenate((heads[list(path)], tips[effector][None]))
        found[::-1, effector] = measure_reach(norm(np.diff(points, axis=0)))
    return found
