"""Drag chains side by side through any parent matrix: targets in, rotations and locations out.

Chains are dragged in the spaces of their armatures. Where locks, limits or uneven scales keep bones
from lying as a drag lays them, the root is put so that the end that counts is where it shall be:
the led one at its target, or of an anchored chain the other one where it has been.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...core import Chains, Goals, Lead, SolveOptions, Solver
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.model.status import EXTENDED
from ..frames.bases import point_in_base
from ..frames.batch_settings import BatchSettings
from ..frames.chain_frames import ChainFrames
from ..frames.chain_joints import ChainJoints
from ..frames.chain_poses import LENGTHS_AGREE, ChainPoses
from ..frames.framing import framed
from ..frames.places import Places
from ..planning.checks import check_segments
from ..reading.refusals import RigError, scaled_flat
from ..reading.spaces import transform_direction, transform_point
from ..trees.driven import Driven
from .drags import Drag, Stand
from .free_solving import Posing, solve_as, solve_freely
from .jointed_solving import frames_for_core, solve_with_joints
from .solved import REACHED, USED_UP, Codes, Solved, name_ending

# Farther from the origin, in lengths of the chain, float32 no longer tells its joints apart.
MOST_LENGTHS = 1e7
# Below a parent that is flatter than this, float32 does not tell where a head is.
FLAT = 1e-4
# What draws back an anchored chain draws its led end off the target again, each time by less. So it
# is drawn so often at most, while what is left shrinks by this share.
PASSES, NEARER = 8, 0.9


class Whole(NamedTuple):
    """Chains as dragged, or the share of the way that influence leaves: b of them.

    Attributes:
        poses: Where they stand.
        turns: Local rotations wxyz, shape (b, k, 4).
        location: Of the roots, shape (b, 3).
        channels: Rotation channels, shape (b, k, 4).
    """

    poses: ChainPoses
    turns: Array
    location: Array
    channels: Array


class Heads(NamedTuple):
    """Where location channels put the roots of b chains, armature space.

    Attributes:
        origins: Their heads without any location, shape (b, 3).
        moved: What location channels add to them, shape (b, 3, 3).
    """

    origins: Array
    moved: Array

    def heads_at(self, location: Array) -> Array:
        """Return the heads (b, 3) that location channels give."""
        return self.origins + transform_direction(self.moved, location)

    def location_of(self, heads: Array) -> Array:
        """Return the location channels (b, 3) that give heads."""
        return np.linalg.solve(self.moved, (heads - self.origins)[..., None])[..., 0]


class FollowSolve:
    """B chains alike, compiled.

    Attributes:
        settings: Of all of them.
        can_creep: Whether a drag to where the led end is already may turn bones.
    """

    def __init__(self, driven: Sequence[Driven]) -> None:
        """Compile chains that have the same ``batch_key``."""
        self.settings = BatchSettings.of(driven)
        self._driven = driven
        options = self.settings.spec.options
        self._options = SolveOptions(
            solver=Solver.FOLLOW,
            lead=options.lead,
            max_bend=options.max_bend,
            use_anchor=options.use_anchor,
        )
        own = self.settings
        can_turn = own.joints is not None or bool(own.locks.any())
        self.can_creep: bool = options.use_anchor or can_turn
        self._led = -1 if options.lead is Lead.TIP else 0
        # The end that decides where the whole chain is.
        self._sure = -1 - self._led if options.use_anchor else self._led
        self._frames = framed(driven)
        roots = [each.skeleton.head_by_location(int(each.bones[0])) for each in driven]
        self._heads, self._moved = map(np.array, zip(*roots, strict=True))

    def dragged(self, drag: Drag, places: Places) -> tuple[Solved, Stand]:
        """Return what brings the led ends of some of the chains to their targets.

        They go straight there. Bones swing by the shortest rotations; poles and rotations of
        targets are for chains whose root stays.

        Returns:
            What stands on the bones, with influence, and how the chains stand.

        Raises:
            IKError: If one of them cannot be dragged; the text says what to do next.
        """
        rows, start, own = drag.rows, drag.start, self.settings
        self._check_places(places, rows)
        above = places.above[rows]
        roots = Heads(
            transform_point(above, self._heads[rows]),
            above[:, :3, :3] @ self._moved[rows],
        )
        root = roots.heads_at(start.location)
        frames = replace(self._frames.take(rows), parent=above[:, :3, :3], root=root)
        joints = None if own.joints is None else own.joints.take(rows)
        begun = self._start(frames, start.turns, joints)
        check_segments(lambda row: self._driven[rows[row]].live_chains[0], begun.joints)
        goal = point_in_base(places.from_world[rows], drag.targets)
        check_distance(begun.joints[:, 0], goal, self._reach(begun))
        is_at_rest = start.codes >= 0
        drawn = np.where(is_at_rest[:, None], begun.joints[:, self._led], goal)
        poses = self._drawn(frames, begun, drawn, joints)
        codes, holds = np.where(is_at_rest, start.codes, REACHED), start.holds.copy()
        if self._options.use_anchor:
            poses = self._finished(frames, poses, drawn, joints, codes, holds)
        poses, channels, is_kept = self._locked(frames, poses, start.whole, rows)
        # Drawn to where they are, these would turn by rounding, or by what locks hold.
        resting = np.flatnonzero(is_at_rest)
        poses = poses.put(resting, begun.take(resting))
        channels[resting] = start.whole[resting]
        turns, location = rotation.quaternion_from_matrix(poses.rotations), start.location
        if self.settings.spec.moves_root:
            location = roots.location_of(poses.joints[:, 0])
        whole = Whole(poses, turns, location, channels)
        shown = self._part(frames, roots, whole, drag)
        solved = self._solved(drag, places, shown, codes, holds, is_kept)
        as_kept: Any = np.float32
        kept = as_kept(channels), as_kept(shown.channels), as_kept(shown.location)
        return solved, Stand(turns, location, *kept, codes, holds)

    def inputs_of(self, row: int, places: Places, target: Array) -> bytes:
        """Return what a drag depends on besides its last pose, to compare."""
        own, options = self.settings, self._options
        arrays = [places.from_world[row], places.above[row], target, own.locks[row]]
        arrays += [self._frames.scale[row], self._frames.segments[row]]
        arrays.append(np.array([self._led, options.max_bend]))
        if own.joints is not None:
            joints = own.joints
            arrays += [joints.low[row], joints.high[row], joints.mobility[row]]
            arrays.append(np.array([kind.value for kind in joints.kinds]))
            arrays += [] if joints.zero is None else [joints.zero[row]]
        return b"".join([array.tobytes() for array in arrays])

    def _reach(self, poses: ChainPoses) -> Array:
        """Return the lengths of chains, shape (b,)."""
        return self._frames.lengths(poses)[:, 0]

    def _gaps(self, poses: ChainPoses, goal: Array) -> Array:
        """Return the ways from led ends to goals, shape (b,); zero where they are there."""
        gaps = _length(goal - poses.joints[:, self._led])
        return np.where(gaps > LENGTHS_AGREE * self._reach(poses), gaps, 0.0)

    def _start(self, frames: ChainFrames, turns: Array, joints: ChainJoints | None) -> ChainPoses:
        """Return the poses to start from, inside the ranges of joints."""
        start = frames.posed(rotation.matrix_from_quaternion(turns))
        if joints is None:
            return start
        held = frames.posed(rotation.matrix_from_quaternion(joints.clamped(turns)))
        return self._placed(held, start.joints[:, self._sure])

    def _placed(self, poses: ChainPoses, sure: Array) -> ChainPoses:
        """Return poses shifted so that the end that decides is where it shall be, (b, 3)."""
        way = sure - poses.joints[:, self._sure]
        return replace(poses, joints=poses.joints + way[:, None])

    def _drawn(
        self, frames: ChainFrames, start: ChainPoses, goal: Array, joints: ChainJoints | None
    ) -> ChainPoses:
        """Return chains whose led ends have been drawn to goals, as near as they come."""
        sure = start.joints[:, self._sure] if self._options.use_anchor else goal
        poses = self._placed(self._laid(frames, start, goal, joints), sure)
        former = np.full(len(goal), np.inf)
        for _ in range(PASSES - 1):
            gaps = self._gaps(poses, goal)
            rows = np.flatnonzero((gaps > 0.0) & (gaps < NEARER * former))
            if not rows.size:
                break
            former = gaps
            own = None if joints is None else joints.take(rows)
            some = self._laid(frames.take(rows), poses.take(rows), goal[rows], own)
            poses = poses.put(rows, self._placed(some, sure[rows]))
        return poses

    def _laid(
        self, frames: ChainFrames, poses: ChainPoses, goal: Array, joints: ChainJoints | None
    ) -> ChainPoses:
        """Return chains as one drag from poses lays them, wherever."""
        own = None if joints is None else frames_for_core(frames, poses, joints)
        chains = Chains(poses.joints, None, own)
        solutions = solve_as(chains, frames.compiled, Goals(goal), self._options)
        if joints is None or solutions.local_rotations_wxyz is None:
            return frames.laid_along(poses, solutions, None, 0.0)
        rotations = poses.rotations.copy()
        local = joints.local_of(solutions.local_rotations_wxyz)
        rotations[:, : local.shape[1]] = rotation.matrix_from_quaternion(local)
        return frames.posed(rotations)

    def _finished(
        self,
        frames: ChainFrames,
        poses: ChainPoses,
        goal: Array,
        joints: ChainJoints | None,
        codes: Codes,
        holds: Flags,
    ) -> ChainPoses:
        """Bring anchored chains as near to goals as they come; note how in codes and holds."""
        rows = np.flatnonzero(self._gaps(poses, goal))
        if not rows.size:
            return poses
        sure, reach = poses.joints[rows, self._sure], self._reach(poses)[rows]
        if joints is None and self._options.max_bend < np.pi:
            # No other solver knows the greatest bend.
            is_far = _length(goal[rows] - sure) > reach
            codes[rows] = np.where(is_far, EXTENDED, USED_UP)
            return poses
        root, end = (sure, goal[rows]) if self._sure == 0 else (goal[rows], sure)
        start = poses.take(rows)
        start = replace(start, joints=start.joints + (root - start.joints[:, 0])[:, None])
        # Without new starts: it goes on from where it is.
        options = SolveOptions(tolerance=LENGTHS_AGREE * reach, use_finish=False)
        posing = Posing(replace(frames.take(rows), root=root), start, Goals(end), options)
        if joints is None:
            found = solve_freely(posing)
        else:
            found = solve_with_joints(posing, joints.take(rows), None)
        codes[rows] = found.solutions.status_code
        if found.solutions.holds is not None:
            holds[rows, : found.solutions.holds.shape[1]] = found.solutions.holds
        return poses.put(rows, self._placed(found.poses, sure))

    def _locked(
        self, frames: ChainFrames, poses: ChainPoses, near: Array, rows: Indices
    ) -> tuple[ChainPoses, Array, Flags]:
        """Return what locks leave of poses, rotation channels, and which bones they have held."""
        own = self.settings
        local = rotation.quaternion_from_matrix(poses.rotations)
        channels, is_kept = own.held(rows, local, near)
        held = np.flatnonzero(is_kept.any(axis=1))
        if held.size:
            there = rotation.matrix_from_quaternion(own.local_of(channels[held]))
            posed = frames.take(held).posed(there)
            poses = poses.put(held, self._placed(posed, poses.joints[held, self._sure]))
        return poses, channels, is_kept & self._options.use_anchor

    def _part(self, frames: ChainFrames, roots: Heads, whole: Whole, drag: Drag) -> Whole:
        """Return the share that influence takes of poses, and of the locations of their roots.

        The others keep their channels: locks of quaternions hold Euler angles, of which there are
        two sets for one rotation, and locked again it might become another one.
        """
        own, rows = self.settings, drag.rows
        part = np.flatnonzero(own.shares[rows, 0] < 1.0)
        if not part.size:
            return whole
        some, share = rows[part], own.shares[rows[part]]
        local = own.blended(some, whole.turns[part])
        channels, location = whole.channels.copy(), whole.location.copy()
        channels[part] = own.held(some, local, drag.start.shown[part])[0]
        home = drag.home[part]
        location[part] = home + share * (location[part] - home)
        frames = replace(frames, root=roots.heads_at(location)).take(part)
        turns = own.local_of(channels)
        posed = frames.posed(rotation.matrix_from_quaternion(turns[part]))
        return Whole(whole.poses.put(part, posed), turns, location, channels)

    def _solved(
        self, drag: Drag, places: Places, shown: Whole, codes: Codes, holds: Flags, is_kept: Flags
    ) -> Solved:
        """Return what stands on the bones, measured there."""
        own, rows, reach = self.settings, drag.rows, self._reach(shown.poses)
        goal = point_in_base(places.from_world[rows], drag.targets)
        gaps = transform_direction(places.to_world[rows], shown.poses.joints[:, self._led] - goal)
        residuals, unit = _length(gaps), places.unit[rows]
        has_arrived = residuals - LENGTHS_AGREE * unit * reach <= own.tolerance[rows, 0]
        is_blended = own.shares[rows, 0] < 1.0
        # What is left without an anchor is what float64 makes of large coordinates.
        codes = name_ending(codes, has_arrived, is_blended, is_kept.any(axis=1))
        return Solved(
            channels=shown.channels,
            is_kept=is_kept,
            residuals=residuals[:, None],
            iterations=np.zeros(len(rows), dtype=np.int64),
            status_codes=codes[:, None],
            tip_gaps=np.zeros((len(rows), 1)),
            holds=None if own.joints is None else holds,
            location=shown.location[:, None],
        )

    def _check_places(self, places: Places, rows: Indices) -> None:
        """Raise if an armature object is scaled flat, or a bone that no location moves in."""
        if places.is_flat[rows].any():
            raise scaled_flat()
        above = places.above[rows, :3, :3]
        thin = np.abs(np.linalg.det(above)) <= FLAT * np.linalg.norm(above, axis=(1, 2)) ** 3
        for i in np.flatnonzero(thin).tolist():
            sizes = np.linalg.svd(above[i], compute_uv=False)
            if sizes[-1] <= FLAT * sizes[0]:
                own = self._driven[rows[i]]
                name = own.skeleton.names[own.skeleton.parents[own.bones[0]]]
                raise RigError(
                    f"Bone '{name}' has a scale of zero, so nothing below it can"
                    " be dragged: give it a scale above zero."
                )


def check_distance(roots: Array, goal: Array, reach: Array) -> None:
    """Raise if chains, or goals (b, 3), are so far off that they lose their shape there."""
    farthest = np.maximum(_length(roots), _length(goal))
    if (farthest > MOST_LENGTHS * reach).any():
        raise RigError(
            "The chain or its target is too far away to drag it there: bring them nearer."
        )


def _length(vectors: Array) -> Array:
    """Return the lengths (b,) of vectors (b, 3)."""
    return np.linalg.norm(vectors, axis=1)
