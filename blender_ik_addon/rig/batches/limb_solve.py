"""Solve limbs of bodies by themselves, and reuse the results while their inputs stay the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...core import Solutions
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags, Indices
from ..frames.bases import Bases, find_bases
from ..frames.chain_poses import ChainPoses
from ..posing.base_solve import BaseSolve
from ..posing.frame_solve import FrameSolve
from ..posing.solved import PlacedInputs, SolveInputs
from ..reading import spaces
from ..reading.batch_record import BatchRecord, joined
from ..trees.body_limbs import BodyLimb

# Number of cached results: with the body in its start pose, and after the body has moved.
MAX_CACHED_RESULTS = 2


@dataclass(frozen=True)
class LimbPoses(BatchRecord):
    """Poses of b limbs that were solved by themselves, with E chains and k bones.

    Attributes:
        rotations: Local rotations, shape (b, k, 3, 3).
        ends: Vectors from the heads of the limbs to effectors, armature space, shape (b, E, 3).
        solutions: Solutions of the segments.
        tip_gaps: As in ``SolvedPoses``.
        scale: Scale channels, shape (b, k, 3); None where nothing stretches.
        slides: Distances that bones have slid, shape (b, k); None where nothing slides.
    """

    rotations: Array
    ends: Array
    solutions: Solutions
    tip_gaps: Array
    scale: Array | None = None
    slides: Array | None = None


class LimbSolve:
    """Compiled similar limbs of B similar bodies: one of each body, or more, as left and right.

    Rigid limbs are solved in their bases, as single chains are: so they stay compiled when bodies
    move.
    """

    def __init__(self, alike: Sequence[Sequence[BodyLimb]], poled: Sequence[int]) -> None:
        """Compile the limbs.

        Args:
            alike: Similar limbs, each as a tuple of this limb in all bodies.
            poled: Numbers of the chains of a body that have poles.
        """
        self._limbs = [limbs[0] for limbs in alike]
        self._driven = [limb.driven for limbs in alike for limb in limbs]
        self._poled = [[poled.index(i) for i in limb.chains if i in poled] for limb in self._limbs]
        first = self._driven[0]
        self._is_rigid = first.keeps_shape and not first.is_tree
        self._is_current = bool(first.is_current.any())
        roots = [driven.skeleton.frames.take(driven.bones[:1]) for driven in self._driven]
        self._rest: spaces.RestFrames = joined(roots)
        self._cached: dict[bytes, LimbPoses] = {}

    @cached_property
    def _in_bases(self) -> BaseSolve:
        return BaseSolve(self._driven)

    @cached_property
    def _in_armatures(self) -> FrameSolve:
        return FrameSolve(self._driven)

    def posed(
        self, inputs: PlacedInputs, pose: ChainPoses, is_chosen: Flags
    ) -> Iterator[tuple[BodyLimb, Indices, LimbPoses]]:
        """Yield limbs, the rows of bodies that they were solved for, and their solved poses.

        The pose of the b bodies does not include the limbs. ``is_chosen`` are the chains whose
        limbs to solve, shape (b, E).
        """
        rows = [is_chosen[:, limb.chains].any(axis=1).nonzero()[0] for limb in self._limbs]
        if not any(bodies.size for bodies in rows):
            return
        of_limbs = [self._inputs_of(*limb_rows, inputs, pose) for limb_rows in enumerate(rows)]
        poses, last = self._solved(_join(of_limbs)), 0
        for limb, bodies in zip(self._limbs, rows, strict=True):
            first, last = last, last + bodies.size
            if bodies.size:
                yield limb, bodies, poses.take(np.arange(first, last))

    def _inputs_of(
        self, number: int, rows: Indices, inputs: PlacedInputs, pose: ChainPoses
    ) -> PlacedInputs:
        """Return the inputs of one limb in some of the bodies, on the bones that carry it."""
        limb, poled = self._limbs[number], self._poled[number]
        poles = inputs.poles[rows[:, None], poled] if inputs.poles is not None and poled else None
        softness = inputs.softness
        bodies, places = len(self._driven) // len(self._limbs), inputs.places.take(rows)
        above = places.above
        if limb.above >= 0:
            above = np.zeros((len(rows), 4, 4))
            above[:, 3, 3] = 1.0
            above[:, :3, :3] = pose.matrices[rows, limb.above]
            above[:, :3, 3] = pose.joints[rows, limb.above]
        root, keeps_bend = pose.joints[rows, limb.rows[0]], places.keeps_bend[:, limb.chains]
        return SolveInputs(
            number * bodies + inputs.rows[rows],
            replace(places, above=above, root=root, keeps_bend=keeps_bend),
            inputs.targets[rows[:, None], limb.chains],
            poles,
            inputs.present[rows[:, None], limb.rows],
            inputs.is_followed[[*limb.chains]],
            softness=None if softness is None else softness[rows[:, None], limb.chains],
        )

    def _solved(self, inputs: PlacedInputs) -> LimbPoses:
        """Return solved limbs in the order of the inputs, cached ones if these are the same."""
        places = inputs.places
        arrays = [inputs.rows, inputs.targets, inputs.is_followed, places.above, places.root]
        arrays += [places.from_world, places.unmirrored]
        arrays += [] if inputs.poles is None else [inputs.poles]
        arrays += [inputs.present] if self._is_current else []
        arrays += [] if inputs.softness is None else [inputs.softness]
        key = b"".join([array.tobytes() for array in arrays])
        poses = self._cached.pop(key, None) or self._solve(inputs)
        while len(self._cached) >= MAX_CACHED_RESULTS:
            del self._cached[next(iter(self._cached))]
        # Entered last: the cache drops its first result, the one used longest ago.
        self._cached[key] = poses
        return poses

    def _solve(self, inputs: PlacedInputs) -> LimbPoses:
        """Return solved limbs: rigid ones in even bases, others in armature space."""
        bases = self._find_bases(inputs)
        even, others = np.flatnonzero(bases.is_even), np.flatnonzero(~bases.is_even)
        parts = []
        if even.size:
            parts.append((even, self._solve_in_bases(inputs.take(even), bases.take(even))))
        if others.size:
            parts.append((others, self._solve_in_armatures(inputs.take(others))))
        if len(parts) == 1:
            return parts[0][1]
        whole = parts[0][1].take(np.zeros(len(inputs.rows), dtype=np.int64))
        for rows, part in parts:
            whole = whole.put(rows, part)
        return whole

    def _find_bases(self, inputs: PlacedInputs) -> Bases:
        """Return the bases of limbs; ``is_even`` is false for limbs to solve in armature space."""
        places = inputs.places
        may_be_even = self._is_rigid & ~(places.keeps_bend.any(axis=1) | places.is_flat)
        frames = spaces.parent_frames(places.above[:, :3, :3], self._rest.take(inputs.rows))
        return find_bases(frames, places.root, places.worlds, places.unit, may_be_even)

    def _solve_in_bases(self, inputs: SolveInputs[Any], bases: Bases) -> LimbPoses:
        solution = self._in_bases.turned(inputs._replace(places=bases))
        to_armature = inputs.places.from_world[:, :, :3] @ bases.to_world
        ends = solution.solutions.joint_positions[:, -1:] @ to_armature.swapaxes(1, 2)
        rotations = rotation.matrix_from_quaternion(solution.local)
        return LimbPoses(rotations, ends, solution.solutions, solution.tip_gaps)

    def _solve_in_armatures(self, inputs: PlacedInputs) -> LimbPoses:
        solution = self._in_armatures.posed(inputs._replace(places=inputs.places.at_roots()))
        poses, scale = solution.poses, solution.poses.scale if self._driven[0].stretches else None
        ends, solved = poses.joints[:, -inputs.targets.shape[1] :], solution.solutions
        return LimbPoses(poses.rotations, ends, solved, solution.tip_gaps, scale, poses.slides)


def _join(of_limbs: Sequence[PlacedInputs]) -> PlacedInputs:
    """Return the inputs of similar limbs in one record, limb by limb."""
    poles = [inputs.poles for inputs in of_limbs if inputs.poles is not None]
    softness = [inputs.softness for inputs in of_limbs if inputs.softness is not None]
    return SolveInputs(
        np.concatenate([inputs.rows for inputs in of_limbs]),
        joined([inputs.places for inputs in of_limbs]),
        np.concatenate([inputs.targets for inputs in of_limbs]),
        np.concatenate(poles) if poles else None,
        np.concatenate([inputs.present for inputs in of_limbs]),
        next(inputs.is_followed for inputs in of_limbs if inputs.rows.size),
        softness=np.concatenate(softness) if softness else None,
    )
