"""Solve limbs of bodies by themselves, and reuse the results while their inputs stay the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags, Indices
from ..frames.bases import Bases, find_bases
from ..frames.chain_poses import ChainPoses
from ..frames.places import Places
from ..posing.base_solve import BaseSolve
from ..posing.frame_solve import FrameSolve
from ..posing.solved import Asked
from ..reading import spaces
from ..reading.rows import Alike, joined
from ..trees.body_limbs import BodyLimb

# Number of cached results: with the body in its start pose, and after the body has moved.
MAX_CACHED_RESULTS = 2


@dataclass(frozen=True)
class LimbPoses(Alike):
    """Poses of b limbs that were solved by themselves, with E chains and k bones.

    Attributes:
        rotations: Local rotations, shape (b, k, 3, 3).
        ends: Vectors from the heads of the limbs to effectors, armature space, shape (b, E, 3).
        codes: Indices into ``core.STATUSES``, shape (b, E).
        residuals: Residuals of the effectors, shape (b, E).
        iterations: Iterations of the solves, shape (b,).
        tip_gaps: Angles left to the goal orientations in radians, shape (b, E).
        holds: As ``core.Solutions``, shape (b, n, 3); None for bones without joints.
        scale: Scale channels, shape (b, k, 3); None where nothing stretches.
        slides: Distances that bones have slid, shape (b, k); None where nothing slides.
    """

    rotations: Array
    ends: Array
    codes: Indices
    residuals: Array
    iterations: Indices
    tip_gaps: Array
    holds: Flags | None
    scale: Array | None = None
    slides: Array | None = None


class _Parents(NamedTuple):
    """The bones that carry b limbs.

    Attributes:
        bodies: Rows of the bodies of the limbs, shape (b,).
        above: Pose matrices of the bones that carry the limbs, shape (b, 4, 4).
        heads: Heads of the limbs, armature space, shape (b, 3).
    """

    bodies: Indices
    above: Array
    heads: Array


class LimbSolve:
    """Compiled similar limbs of B similar bodies: one of each body, or more, as left and right.

    Rigid limbs are solved in their bases, as single chains are: moves of bodies keep them compiled.
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
        self, request: Asked, places: Places, pose: ChainPoses, is_chosen: Flags
    ) -> Iterator[tuple[BodyLimb, Indices, LimbPoses]]:
        """Yield limbs, the rows of bodies that they were solved for, and their solved poses.

        Args:
            request: Goals of b bodies.
            places: Places of all bodies.
            pose: Pose of the b bodies, apart from the limbs.
            is_chosen: Which chains' limbs to solve, shape (b, E).
        """
        rows = [is_chosen[:, limb.chains].any(axis=1).nonzero()[0] for limb in self._limbs]
        if not any(bodies.size for bodies in rows):
            return
        limb_request = _join([self._request(*limb_rows, request) for limb_rows in enumerate(rows)])
        by_limb = [
            _find_parents(limb, places, request.rows[bodies], pose.take(bodies))
            for limb, bodies in zip(self._limbs, rows, strict=True)
        ]
        poses, last = self._solved(limb_request, places, by_limb), 0
        for limb, bodies in zip(self._limbs, rows, strict=True):
            first, last = last, last + bodies.size
            if bodies.size:
                yield limb, bodies, poses.take(np.arange(first, last))

    def _request(self, number: int, rows: Indices, request: Asked) -> Asked:
        """Return the goals of one limb of some of the bodies."""
        limb, poled = self._limbs[number], self._poled[number]
        poles = request.poles[rows[:, None], poled] if request.poles is not None and poled else None
        bodies = len(self._driven) // len(self._limbs)
        return Asked(
            number * bodies + request.rows[rows],
            request.targets[rows[:, None], limb.chains],
            poles,
            request.present[rows[:, None], limb.rows],
            request.is_followed[[*limb.chains]],
        )

    def _solved(self, request: Asked, places: Places, by_limb: Sequence[_Parents]) -> LimbPoses:
        """Return solved limbs in the order of their goals, cached ones if inputs are the same."""
        parents = _Parents(*map(np.concatenate, zip(*by_limb, strict=True)))
        limb_places = places.from_world[parents.bodies], places.unmirrored[parents.bodies]
        arrays = [request.rows, request.targets, request.is_followed, *parents, *limb_places]
        arrays += [] if request.poles is None else [request.poles]
        arrays += [request.present] if self._is_current else []
        key = b"".join([array.tobytes() for array in arrays])
        poses = self._cached.pop(key, None) or self._solve(request, places, by_limb, parents)
        while len(self._cached) >= MAX_CACHED_RESULTS:
            del self._cached[next(iter(self._cached))]
        # Used last: the first one in the cache is the one to drop next.
        self._cached[key] = poses
        return poses

    def _solve(
        self, request: Asked, places: Places, by_limb: Sequence[_Parents], parents: _Parents
    ) -> LimbPoses:
        """Return solved limbs: rigid ones in even bases, others in armature space."""
        bases = self._find_bases(request.rows, places, by_limb, parents)
        even, others = np.flatnonzero(bases.is_even), np.flatnonzero(~bases.is_even)
        parts = []
        if even.size:
            picked, from_world = bases.rows(even), places.from_world[parents.bodies[even], :, :3]
            poses = self._solve_in_bases(request.take(even), picked, from_world @ picked.to_world)
            parts.append((even, poses))
        if others.size:
            pairs = zip(self._limbs, by_limb, strict=True)
            limb_places = joined([places.hung_on(*one, limb.chains) for limb, one in pairs])
            parts.append((others, self._solve_in_armatures(request.take(others), limb_places)))
        if len(parts) == 1:
            return parts[0][1]
        whole = parts[0][1].take(np.zeros(len(request.rows), dtype=np.int64))
        for rows, part in parts:
            whole = whole.put(rows, part)
        return whole

    def _find_bases(
        self, rows: Indices, places: Places, by_limb: Sequence[_Parents], parents: _Parents
    ) -> Bases:
        """Return the bases of limbs; ``is_even`` is false for limbs to solve in armature space."""
        keeps = [
            places.keeps[one.bodies][:, limb.chains].any(axis=1)
            for limb, one in zip(self._limbs, by_limb, strict=True)
        ]
        may_be_even = self._is_rigid & ~(np.concatenate(keeps) | places.is_flat[parents.bodies])
        frames = spaces.parent_frames(parents.above[:, :3, :3], self._rest.take(rows))
        at = parents.heads, places.worlds[parents.bodies], places.unit[parents.bodies], may_be_even
        return find_bases(frames, *at)

    def _solve_in_bases(self, request: Asked, bases: Bases, to_armature: Array) -> LimbPoses:
        solution = self._in_bases.turned(request, bases)
        ends = solution.solutions.joint_positions[:, -1:] @ to_armature.swapaxes(1, 2)
        return LimbPoses(
            rotation.matrix_from_quaternion(solution.local),
            ends,
            solution.solutions.status_code[:, None],
            solution.solutions.residual[:, None],
            solution.solutions.iterations,
            solution.tip_gaps[:, None],
            solution.solutions.holds,
        )

    def _solve_in_armatures(self, request: Asked, places: Places) -> LimbPoses:
        solution = self._in_armatures.posed(request, places)
        poses, solutions, shape = solution.poses, solution.solutions, (len(request.rows), -1)
        return LimbPoses(
            poses.rotations,
            poses.joints[:, -request.targets.shape[1] :],
            solutions.status_code.reshape(shape),
            solutions.residual.reshape(shape),
            solutions.iterations,
            solution.tip_gaps.reshape(shape),
            solutions.holds,
            poses.scale if self._driven[0].stretches else None,
            poses.slides,
        )


def _join(requests: Sequence[Asked]) -> Asked:
    """Return the goals of similar limbs in one record, limb by limb."""
    poles = [request.poles for request in requests if request.poles is not None]
    return Asked(
        np.concatenate([request.rows for request in requests]),
        np.concatenate([request.targets for request in requests]),
        np.concatenate(poles) if poles else None,
        np.concatenate([request.present for request in requests]),
        next(request.is_followed for request in requests if request.rows.size),
    )


def _find_parents(limb: BodyLimb, places: Places, bodies: Indices, pose: ChainPoses) -> _Parents:
    """Return the bones that carry a limb in some posed bodies (b,)."""
    above, head = places.above[bodies], pose.joints[:, limb.rows[0]]
    if limb.above >= 0:
        above = np.zeros((len(bodies), 4, 4))
        above[:, 3, 3] = 1.0
        above[:, :3, :3] = pose.matrices[:, limb.above]
        above[:, :3, 3] = pose.joints[:, limb.above]
    return _Parents(bodies, above, head)
