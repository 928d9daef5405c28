"""Solver of dragged chains, side by side, through any parent matrix: rotations and locations out.

Chains are dragged in the spaces of their armatures. Locks, limits or uneven scales can keep bones
from the pose that a drag gives them. The root is then shifted until the placed end is right: the
led end at its target, or, of an anchored chain, the other end where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ...core import Chains, Goals, Lead, SolveOptions, Solver
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.model.status import EXTENDED, ITERATIONS_USED_UP, REACHED, Codes
from ..frames.bases import point_in_base
from ..frames.batch_settings import BatchSettings
from ..frames.chain_frames import ChainFrames
from ..frames.chain_poses import LENGTH_ROUNDING, ChainPoses
from ..frames.framing import build_frames
from ..frames.places import Places
from ..planning.checks import check_segments
from ..reading.refusals import RigError, scaled_flat
from ..reading.spaces import transform_direction, transform_point
from ..trees.driven import Driven
from .drag_state import DragState
from .free_solving import Posing, solve_as, solve_freely
from .jointed_solving import frames_for_core, solve_with_joints
from .solved import PlacedInputs, Solved, find_statuses

# Distance from the origin, in chain lengths, beyond which float32 cannot tell joints apart.
MAX_LENGTHS = 1e7
# Least ratio of a parent's shortest to longest axis; float32 loses heads below a flatter one.
MIN_AXIS_RATIO = 1e-4
# Correcting the anchored end of a chain moves its led end off the target again, each time by less.
# The drag is repeated at most this often, while the gap shrinks below this share of the last gap.
MAX_DRAG_PASSES, MAX_GAP_RATIO = 8, 0.9


class Dragged(NamedTuple):
    """Poses of b dragged chains, before or after influence.

    Attributes:
        poses: Matrices and joints of the bones.
        turns: Local rotations wxyz, shape (b, k, 4).
        location: Location channels of the roots, shape (b, 3).
        channels: Rotation channels, shape (b, k, 4).
    """

    poses: ChainPoses
    turns: Array
    location: Array
    channels: Array


class Heads(NamedTuple):
    """Map from location channels to root heads of b chains, armature space.

    Attributes:
        origins: Heads without any location, shape (b, 3).
        moved: Matrices from location channels to offsets of the heads, shape (b, 3, 3).
    """

    origins: Array
    moved: Array

    def heads_at(self, location: Array) -> Array:
        """Return the heads (b, 3) at location channels."""
        return self.origins + transform_direction(self.moved, location)


class FollowSolve:
    """Compiled solver of B similar dragged chains.

    Attributes:
        settings: Settings of all chains.
        owns_root: Whether chains place their roots.
    """

    owns_root = True

    def __init__(self, driven: Sequence[Driven]) -> None:
        """Compile chains that have the same ``batch_key``."""
        self.settings = settings = BatchSettings.of(driven)
        self._driven, options = driven, settings.spec.options
        self._options = SolveOptions(
            solver=Solver.FOLLOW,
            lead=options.lead,
            max_bend=options.max_bend,
            use_anchor=options.use_anchor,
        )
        can_turn = settings.joints is not None or bool(settings.locks.any())
        # Whether a drag may turn bones although the led end is at its target already.
        self._can_creep: bool = options.use_anchor or can_turn
        self._led_end = -1 if options.lead is Lead.TIP else 0
        # Index of the end that is placed: it determines where the whole chain is.
        self._placed_end = -1 - self._led_end if options.use_anchor else self._led_end
        self._frames = build_frames(driven, settings.joints)
        roots = [chain.skeleton.head_by_location(int(chain.bones[0])) for chain in driven]
        self._heads, self._moved = map(np.array, zip(*roots, strict=True))

    def solved(self, inputs: PlacedInputs) -> tuple[Solved, list[DragState]]:
        """Drag the led ends of some chains to targets; return the result and the chains' states.

        They go straight there. Bones swing by the shortest rotations; poles and rotations of
        targets are for chains whose root stays. The result is that with influence.

        Raises:
            IKError: If one of them cannot be dragged; the text says what to do next.
        """
        rows, places, start = inputs.rows, inputs.places, inputs.drag
        assert start is not None
        self._check_places(places, rows)
        above = places.above
        roots = Heads(
            transform_point(above, self._heads[rows]), above[:, :3, :3] @ self._moved[rows]
        )
        root = roots.heads_at(start.location)
        frames = replace(self._frames.take(rows), parent=above[:, :3, :3], root=root)
        start_poses = self._clamp(frames, start.turns)
        check_segments(lambda row: self._driven[rows[row]].live_chains[0].plan, start_poses.joints)
        goal = point_in_base(places.from_world, inputs.targets[:, 0, :3, 3])
        farthest = np.maximum(_length(start_poses.joints[:, 0]), _length(goal))
        if (farthest > MAX_LENGTHS * self._find_reach(start_poses)).any():
            raise RigError(
                "The chain or its target is too far away, so the chain cannot be dragged: move them"
                " closer."
            )
        drag_inputs = self._read_inputs(inputs)
        # Chains with new inputs are dragged again.
        is_at_rest = (start.codes >= 0) & (start.inputs == drag_inputs) & self._can_creep
        ends = np.where(is_at_rest[:, None], start_poses.joints[:, self._led_end], goal)
        poses = self._drag(frames, start_poses, ends)
        codes = np.where(is_at_rest, start.codes, REACHED)
        holds = start.holds & is_at_rest[:, None, None]
        if self._options.use_anchor:
            poses = self._finish(frames, poses, ends, codes, holds)
        poses, channels, is_held = self._apply_locks(frames, poses, start.whole, rows)
        # A drag to where they are would turn these by rounding, or by what locks hold.
        resting = np.flatnonzero(is_at_rest)
        poses = poses.put(resting, start_poses.take(resting))
        channels[resting] = start.whole[resting]
        turns, location = rotation.quaternion_from_matrix(poses.rotations), start.location
        if self.settings.spec.moves_root:
            ways = poses.joints[:, 0] - roots.origins
            location = np.linalg.solve(roots.moved, ways[..., None])[..., 0]
        full = Dragged(poses, turns, location, channels)
        shown = self._blend(frames, roots, full, rows, start)
        solved = self._measure(inputs, shown, codes, holds, is_held)
        float32: Any = np.float32
        stored = float32(channels), float32(shown.channels), float32(shown.location)
        state = DragState(turns, location, *stored, codes, holds, start.home, drag_inputs)
        return solved, [state.take(slice(row, row + 1)) for row in range(len(rows))]

    def _read_inputs(self, inputs: PlacedInputs) -> npt.NDArray[np.object_]:
        """Return as bytes what drags depend on besides the last pose, to compare, shape (b,)."""
        rows, places, joints = inputs.rows, inputs.places, self._frames.joints
        result = np.full(len(rows), b"", dtype=np.object_)
        if not self._can_creep:
            return result
        alike = np.array([self._led_end, self._options.max_bend]).tobytes()
        arrays = [self.settings.locks, self._frames.scale, self._frames.segments]
        if joints is not None:
            arrays += [joints.is_locked, joints.low, joints.high, joints.stiffness]
            arrays += [] if joints.zero_wxyz is None else [joints.zero_wxyz]
        of_rows = [places.from_world, places.above, *[array[rows] for array in arrays]]
        by_chain = [array.reshape(len(rows), -1) for array in of_rows]
        by_chain.append(inputs.targets[:, 0, :3, 3])
        result[:] = [alike + row.tobytes() for row in np.concatenate(by_chain, axis=1)]
        return result

    def _find_reach(self, poses: ChainPoses) -> Array:
        """Return the lengths of chains, shape (b,)."""
        return self._frames.lengths(poses)[:, 0]

    def _find_gaps(self, poses: ChainPoses, goal: Array) -> Array:
        """Return the distances (b,) from led ends to goals; zero for those that have arrived."""
        gaps = _length(goal - poses.joints[:, self._led_end])
        return np.where(gaps > LENGTH_ROUNDING * self._find_reach(poses), gaps, 0.0)

    def _clamp(self, frames: ChainFrames, turns: Array) -> ChainPoses:
        """Return the start poses, inside the ranges of joints."""
        start = frames.posed(rotation.matrix_from_quaternion(turns))
        if frames.joints is None:
            return start
        clamped = frames.posed(rotation.matrix_from_quaternion(frames.joints.clamped(turns)))
        return self._place(clamped, start.joints[:, self._placed_end])

    def _place(self, poses: ChainPoses, points: Array) -> ChainPoses:
        """Return poses shifted so that their placed ends are at points (b, 3)."""
        shift = points - poses.joints[:, self._placed_end]
        return replace(poses, joints=poses.joints + shift[:, None])

    def _drag(self, frames: ChainFrames, start: ChainPoses, goal: Array) -> ChainPoses:
        """Return chains with their led ends dragged as near to goals as they come."""
        points = start.joints[:, self._placed_end] if self._options.use_anchor else goal
        poses = self._place(self._drag_once(frames, start, goal), points)
        last_gaps = np.full(len(goal), np.inf)
        for _ in range(MAX_DRAG_PASSES - 1):
            gaps = self._find_gaps(poses, goal)
            rows = np.flatnonzero((gaps > 0.0) & (gaps < MAX_GAP_RATIO * last_gaps))
            if not rows.size:
                break
            last_gaps = gaps
            dragged = self._drag_once(frames.take(rows), poses.take(rows), goal[rows])
            poses = poses.put(rows, self._place(dragged, points[rows]))
        return poses

    def _drag_once(self, frames: ChainFrames, poses: ChainPoses, goal: Array) -> ChainPoses:
        """Return the poses after one drag, wherever their placed ends are then."""
        joints = frames.joints
        core_joints = None if joints is None else frames_for_core(frames, poses)
        chains = Chains(poses.joints, None, core_joints)
        solutions = solve_as(chains, frames.compiled, Goals(goal), self._options)
        if joints is None or solutions.local_rotations_wxyz is None:
            return frames.aligned_with(poses, solutions, None, 0.0)
        rotations = poses.rotations.copy()
        local = joints.local_of(solutions.local_rotations_wxyz)
        rotations[:, : local.shape[1]] = rotation.matrix_from_quaternion(local)
        return frames.posed(rotations)

    def _finish(
        self, frames: ChainFrames, poses: ChainPoses, goal: Array, codes: Codes, holds: Flags
    ) -> ChainPoses:
        """Bring anchored chains as near to goals as they come; note results in codes and holds."""
        rows = np.flatnonzero(self._find_gaps(poses, goal))
        if not rows.size:
            return poses
        points, reach = poses.joints[rows, self._placed_end], self._find_reach(poses)[rows]
        if frames.joints is None and self._options.max_bend < np.pi:
            # No other solver knows the greatest bend.
            is_far = _length(goal[rows] - points) > reach
            codes[rows] = np.where(is_far, EXTENDED, ITERATIONS_USED_UP)
            return poses
        root, end = (points, goal[rows]) if self._placed_end == 0 else (goal[rows], points)
        start = poses.take(rows)
        start = replace(start, joints=start.joints + (root - start.joints[:, 0])[:, None])
        # Without restarts: the solve continues from the present pose.
        options = SolveOptions(tolerance=LENGTH_ROUNDING * reach, use_finish=False)
        posing = Posing(replace(frames.take(rows), root=root), start, Goals(end), options)
        solved = solve_freely(posing) if frames.joints is None else solve_with_joints(posing)
        codes[rows] = solved.solutions.status_code
        if solved.solutions.holds is not None:
            holds[rows, : solved.solutions.holds.shape[1]] = solved.solutions.holds
        return poses.put(rows, self._place(solved.poses, points))

    def _apply_locks(
        self, frames: ChainFrames, poses: ChainPoses, near: Array, rows: Indices
    ) -> tuple[ChainPoses, Array, Flags]:
        """Return the poses after locks, rotation channels, and which bones locks hold."""
        settings = self.settings
        local = rotation.quaternion_from_matrix(poses.rotations)
        channels, is_held = settings.held(rows, local, near)
        locked = np.flatnonzero(is_held.any(axis=1))
        if locked.size:
            matrices = rotation.matrix_from_quaternion(settings.local_of(channels[locked]))
            posed = frames.take(locked).posed(matrices)
            poses = poses.put(locked, self._place(posed, poses.joints[locked, self._placed_end]))
        return poses, channels, is_held & self._options.use_anchor

    def _blend(
        self, frames: ChainFrames, roots: Heads, full: Dragged, rows: Indices, start: DragState
    ) -> Dragged:
        """Return the poses and root locations after influence.

        Chains with full influence keep their channels. Locks of quaternions hold Euler angles, of
        which one rotation has two sets; a second lock could give another rotation.
        """
        settings = self.settings
        partial = np.flatnonzero(settings.shares[rows, 0] < 1.0)
        if not partial.size:
            return full
        partial_rows, share = rows[partial], settings.shares[rows[partial]]
        local = settings.blended(partial_rows, full.turns[partial])
        channels, location = full.channels.copy(), full.location.copy()
        channels[partial] = settings.held(partial_rows, local, start.shown[partial])[0]
        home = start.home[partial]
        location[partial] = home + share * (location[partial] - home)
        frames = replace(frames, root=roots.heads_at(location)).take(partial)
        turns = settings.local_of(channels)
        posed = frames.posed(rotation.matrix_from_quaternion(turns[partial]))
        return Dragged(full.poses.put(partial, posed), turns, location, channels)

    def _measure(
        self, inputs: PlacedInputs, pose: Dragged, codes: Codes, holds: Flags, held: Flags
    ) -> Solved:
        """Return the result, measured on the written pose."""
        settings, rows, places = self.settings, inputs.rows, inputs.places
        reach = self._find_reach(pose.poses)
        goal = point_in_base(places.from_world, inputs.targets[:, 0, :3, 3])
        gaps = transform_direction(places.to_world, pose.poses.joints[:, self._led_end] - goal)
        residuals = _length(gaps)
        has_arrived = (
            residuals - LENGTH_ROUNDING * places.unit * reach <= settings.tolerance[rows, 0]
        )
        is_blended = settings.shares[rows, 0] < 1.0
        # Without an anchor only the rounding of large coordinates in float64 leaves a gap.
        codes = find_statuses(codes, has_arrived, is_blended, held.any(axis=1))
        assert inputs.location is not None
        location = inputs.location.copy()
        location[:, 0] = pose.location
        return Solved(
            channels=pose.channels,
            is_held_by_lock=held,
            residuals=residuals[:, None],
            iterations=np.zeros(len(rows), dtype=np.int64),
            status_codes=codes[:, None],
            tip_gaps=np.zeros((len(rows), 1)),
            holds=None if settings.joints is None else holds,
            location=location,
        )

    def _check_places(self, places: Places, rows: Indices) -> None:
        """Raise if an object is scaled flat, or a parent so that no location moves a bone."""
        if places.is_flat.any():
            raise scaled_flat()
        sizes = np.linalg.svd(places.above[:, :3, :3], compute_uv=False)
        thin = np.flatnonzero(sizes[:, -1] <= MIN_AXIS_RATIO * sizes[:, 0])
        if thin.size:
            driven = self._driven[rows[thin[0]]]
            name = driven.skeleton.names[driven.skeleton.parents[driven.bones[0]]]
            raise RigError(
                "Bone '{name}' has a scale of zero, so nothing below it can be dragged: give it"
                " a scale above zero.",
                name=name,
            )


def _length(vectors: Array) -> Array:
    """Return the lengths (b,) of vectors (b, 3)."""
    return np.linalg.norm(vectors, axis=1)
