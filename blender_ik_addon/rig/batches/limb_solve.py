"""Solve limbs of bodies by themselves, and not again while what they follow stays the same."""

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

# Limbs are solved where bodies hang, and again where these have gone along.
MOST_KEPT = 2


@dataclass(frozen=True)
class LimbPoses(Alike):
    """Limbs solved by themselves, b of them, of E chains and k bones.

    Attributes:
        rotations: Local rotations, shape (b, k, 3, 3).
        ends: From the heads of the limbs to effectors, in armature space, shape (b, E, 3).
        codes: Indices into ``core.STATUSES``, shape (b, E).
        residuals: Of the effectors, shape (b, E).
        used: Iterations, shape (b,).
        tip_gaps: Radians that are left to wanted orientations, shape (b, E).
        holds: As ``core.Solutions``, shape (b, n, 3); None for bones without joints.
        scale: Scale channels, shape (b, k, 3); None where nothing stretches.
        slides: How far bones have slid, shape (b, k); None where nothing slides.
    """

    rotations: Array
    ends: Array
    codes: Indices
    residuals: Array
    used: Indices
    tip_gaps: Array
    holds: Flags | None
    scale: Array | None = None
    slides: Array | None = None


class _Hung(NamedTuple):
    """What limbs hang on, b of them.

    Attributes:
        bodies: Of which bodies they are, shape (b,).
        above: Pose matrices of the bones that carry them, shape (b, 4, 4).
        heads: Of the limbs, armature space, shape (b, 3).
    """

    bodies: Indices
    above: Array
    heads: Array


class LimbSolve:
    """Limbs alike of B bodies alike, compiled: one of each, or several such as left and right.

    Rigid ones are solved as chains of no body are, in the spaces that their root bones turn in:
    what has been compiled stays, wherever bodies go.
    """

    def __init__(self, alike: Sequence[Sequence[BodyLimb]], poled: Sequence[int]) -> None:
        """Compile the limbs.

        Args:
            alike: One limb of all bodies, then the next one of all of them.
            poled: Numbers of the chains of a body that have poles.
        """
        self._limbs = [each[0] for each in alike]
        self._driven = [limb.driven for each in alike for limb in each]
        self._poled = [[poled.index(i) for i in limb.chains if i in poled] for limb in self._limbs]
        first = self._driven[0]
        self._is_rigid = first.keeps_shape and not first.is_tree
        self._is_current = bool(first.is_current.any())
        roots = [each.skeleton.frames.take(each.bones[:1]) for each in self._driven]
        self._rest: spaces.RestFrames = joined(roots)
        self._kept: dict[bytes, LimbPoses] = {}

    @cached_property
    def _in_bases(self) -> BaseSolve:
        return BaseSolve(self._driven)

    @cached_property
    def _in_armatures(self) -> FrameSolve:
        return FrameSolve(self._driven)

    def posed(
        self, asked: Asked, places: Places, pose: ChainPoses, is_chosen: Flags
    ) -> Iterator[tuple[BodyLimb, Indices, LimbPoses]]:
        """Yield limbs, of which bodies they are solved, and how they reach where these stand.

        Args:
            asked: What is asked of the bodies.
            places: Where all bodies hang.
            pose: Of the bodies that are asked, but for the limbs.
            is_chosen: Whose limbs are solved, by chains, shape (b, E).
        """
        rows = [is_chosen[:, limb.chains].any(axis=1).nonzero()[0] for limb in self._limbs]
        if not any(own.size for own in rows):
            return
        own = _side_by_side([self._asked(*each, asked) for each in enumerate(rows)])
        hung = [
            _hang(limb, places, asked.rows[some], pose.take(some))
            for limb, some in zip(self._limbs, rows, strict=True)
        ]
        found, last = self._solved(own, places, hung), 0
        for limb, some in zip(self._limbs, rows, strict=True):
            first, last = last, last + some.size
            if some.size:
                yield limb, some, found.take(np.arange(first, last))

    def _asked(self, number: int, rows: Indices, asked: Asked) -> Asked:
        """Return what is asked of a limb of some of the bodies that are asked."""
        limb, poled = self._limbs[number], self._poled[number]
        poles = asked.poles[rows[:, None], poled] if asked.poles is not None and poled else None
        bodies = len(self._driven) // len(self._limbs)
        return Asked(
            number * bodies + asked.rows[rows],
            asked.targets[rows[:, None], limb.chains],
            poles,
            asked.present[rows[:, None], limb.rows],
            asked.is_followed[[*limb.chains]],
        )

    def _solved(self, own: Asked, places: Places, hung: Sequence[_Hung]) -> LimbPoses:
        """Return limbs as they reach, in the order of what is asked."""
        each = _Hung(*map(np.concatenate, zip(*hung, strict=True)))
        there = places.from_world[each.bodies], places.unmirrored[each.bodies]
        arrays = [own.rows, own.targets, own.is_followed, *each, *there]
        arrays += [] if own.poles is None else [own.poles]
        arrays += [own.present] if self._is_current else []
        key = b"".join([array.tobytes() for array in arrays])
        found = self._kept.pop(key, None) or self._solve(own, places, hung, each)
        while len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        # The last one is the one that was asked for last.
        self._kept[key] = found
        return found

    def _solve(self, own: Asked, places: Places, hung: Sequence[_Hung], each: _Hung) -> LimbPoses:
        """Return the same: rigid limbs in even spaces by their bases, others in their armatures."""
        bases = self._find_bases(own.rows, places, hung, each)
        even, others = np.flatnonzero(bases.is_even), np.flatnonzero(~bases.is_even)
        found = []
        if even.size:
            there, from_world = bases.rows(even), places.from_world[each.bodies[even], :, :3]
            turned = self._turn(own.take(even), there, from_world @ there.to_world)
            found.append((even, turned))
        if others.size:
            pairs = zip(self._limbs, hung, strict=True)
            where = joined([places.hung(*one, limb.chains) for limb, one in pairs])
            found.append((others, self._pose(own.take(others), where)))
        if len(found) == 1:
            return found[0][1]
        whole = found[0][1].take(np.zeros(len(own.rows), dtype=np.int64))
        for rows, part in found:
            whole = whole.put(rows, part)
        return whole

    def _find_bases(
        self, rows: Indices, places: Places, hung: Sequence[_Hung], each: _Hung
    ) -> Bases:
        """Return the spaces that the root bones of limbs turn in; of some limbs not even."""
        keeps = [
            places.keeps[one.bodies][:, limb.chains].any(axis=1)
            for limb, one in zip(self._limbs, hung, strict=True)
        ]
        may_be_even = self._is_rigid & ~(np.concatenate(keeps) | places.is_flat[each.bodies])
        frames = spaces.parent_frames(each.above[:, :3, :3], self._rest.take(rows))
        given = each.heads, places.worlds[each.bodies], places.unit[each.bodies], may_be_even
        return find_bases(frames, *given)

    def _turn(self, own: Asked, bases: Bases, to_armature: Array) -> LimbPoses:
        found = self._in_bases.turned(own, bases)
        ends = found.solutions.joint_positions[:, -1:] @ to_armature.swapaxes(1, 2)
        return LimbPoses(
            rotation.matrix_from_quaternion(found.local),
            ends,
            found.solutions.status_code[:, None],
            found.solutions.residual[:, None],
            found.solutions.iterations,
            found.tip_gaps[:, None],
            found.solutions.holds,
        )

    def _pose(self, own: Asked, places: Places) -> LimbPoses:
        found = self._in_armatures.posed(own, places)
        poses, solutions, shape = found.poses, found.solutions, (len(own.rows), -1)
        return LimbPoses(
            poses.rotations,
            poses.joints[:, -own.targets.shape[1] :],
            solutions.status_code.reshape(shape),
            solutions.residual.reshape(shape),
            solutions.iterations,
            found.tip_gaps.reshape(shape),
            solutions.holds,
            poses.scale if self._driven[0].stretches else None,
            poses.slides,
        )


def _side_by_side(each: Sequence[Asked]) -> Asked:
    """Return what is asked of limbs alike, one after the other."""
    poles = [own.poles for own in each if own.poles is not None]
    return Asked(
        np.concatenate([own.rows for own in each]),
        np.concatenate([own.targets for own in each]),
        np.concatenate(poles) if poles else None,
        np.concatenate([own.present for own in each]),
        next(own.is_followed for own in each if own.rows.size),
    )


def _hang(limb: BodyLimb, places: Places, bodies: Indices, pose: ChainPoses) -> _Hung:
    """Return what a limb of some bodies (b,), posed, hangs on."""
    above, head = places.above[bodies], pose.joints[:, limb.rows[0]]
    if limb.above >= 0:
        above = np.zeros((len(bodies), 4, 4))
        above[:, 3, 3] = 1.0
        above[:, :3, :3] = pose.matrices[:, limb.above]
        above[:, :3, 3] = pose.joints[:, limb.above]
    return _Hung(bodies, above, head)
