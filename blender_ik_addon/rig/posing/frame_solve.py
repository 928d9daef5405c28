"""Solver of chains and trees, side by side, through any parent matrix: targets in, channels out.

It does what ``base_solve`` does for rigid chains, for all others: bones that are scaled unevenly,
inherit their parents' matrices in part, stretch, slide, or ease toward their targets in time; and
for trees. Chains are solved in armature space, trees also in the space of the root bone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ...core import Chains, Forces, Goals
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ..frames.bases import points_in_base, without_rounding
from ..frames.batch_settings import BatchSettings
from ..frames.bend_sides import find_flips
from ..frames.chain_frames import ChainFrames
from ..frames.chain_poses import LENGTH_ROUNDING, ChainPoses
from ..frames.framing import build_frames
from ..frames.pole_rolls import roll_straight_limbs
from ..frames.tip_goals import TipGoals, add_tip_turns
from ..planning.acting_forces import forces_on, gravity_in_bases
from ..planning.checks import check_segments
from ..planning.stretch import ChainStretch
from ..reading import spaces
from ..reading.refusals import scaled_flat
from ..trees.driven import Driven
from .eased_poses import Eased, step_poses
from .free_solving import Posing, SolvedPoses, free_chains_for_core, solve_freely
from .jointed_solving import AGREES, chains_for_core, solve_with_joints, turn_tips
from .solved import PlacedInputs, Solved, find_statuses


class WrittenPoses(NamedTuple):
    """Poses of b chains or trees of k bones after influence and locks; fields as in ``Solved``."""

    poses: ChainPoses
    channels: Array
    whole: Array
    is_held_by_lock: Flags
    scale: Array | None
    location: Array | None


class FrameSolve:
    """Compiled solver of B similar chains, or trees of E chains."""

    def __init__(self, driven: Sequence[Driven], *, is_even: bool = False) -> None:
        """Compile chains or trees that have the same key.

        ``is_even``: trees are solved in the spaces of their root bones.
        """
        self.settings = settings = BatchSettings.of(driven)
        self._driven = driven
        self._frames = build_frames(driven, settings.joints, is_even=is_even)
        self._has_forces = not settings.is_tree and settings.spec.force is not None
        if settings.is_tree:
            self._levers = np.array([tree.levers for tree in driven])
        # Start poses of all chains: frames, start channels, poses, and the chains for the core.
        self._cached_start: tuple[ChainFrames, Array, ChainPoses, Chains | None] | None = None
        # Start poses and aimed poses of chains that ease, for those that have been solved.
        self._eased_poses: tuple[ChainPoses, SolvedPoses] | None = None
        self._is_solved = np.zeros(len(driven), dtype=np.bool_)

    @property
    def owns_root(self) -> Flags | bool:
        """Whether chains slide their roots, shape (B,), or one value for all."""
        if self._frames.slide is None or self._frames.floating is not None:
            return self._frames.floating is not None
        return self._frames.slide.moves_root

    def solved(self, inputs: PlacedInputs) -> tuple[Solved, list[Eased]]:
        """Return the result for some of the chains or trees, and what they remember if they ease.

        Raises:
            IKError: If one of them cannot be solved; the text says what to do next.
        """
        if inputs.places.is_flat.any():
            raise scaled_flat()
        frames, stepped = self._place_frames(inputs), list[Eased]()
        if inputs.steps is None:
            solved = self._solve(inputs, frames)[1]
        else:
            solved, stepped = self._step(inputs, frames)
        return self._find_result(inputs, frames, solved), stepped

    def posed(self, inputs: PlacedInputs) -> SolvedPoses:
        """Return the solved poses before influence and locks."""
        return self._solve(inputs, self._place_frames(inputs))[1]

    def _place_frames(self, inputs: PlacedInputs) -> ChainFrames:
        """Return the frames of some chains or trees at their places."""
        frames, places = self._frames.take(inputs.rows), inputs.places
        above, root = places.above, places.root
        if frames.slide is not None:
            head = spaces.transform_point(above, frames.slide.root)
            root = np.where(frames.slide.moves_root[:, None], head, root)
        if frames.floating is not None:
            root = spaces.transform_point(above, frames.floating.head)
        return replace(frames, parent=above[:, :3, :3], root=root)

    def _solve(self, inputs: PlacedInputs, frames: ChainFrames) -> tuple[ChainPoses, SolvedPoses]:
        """Return the start poses and the solved poses of chains or trees."""
        posing = self._make_posing(inputs, frames)
        if frames.joints is None:
            return posing.start, _revert_worse(posing, solve_freely(posing))
        solved, is_limited = solve_with_joints(posing), self.settings.joints is not None
        if not is_limited and frames.floating is None:
            solved = self._unroll(inputs, posing, solved)
        solved = turn_tips(posing, solved, is_limited=is_limited)
        return posing.start, _revert_worse(posing, solved)

    def _make_posing(self, inputs: PlacedInputs, frames: ChainFrames) -> Posing:
        """Return goals, options and start poses in the spaces of places."""
        settings, rows, places = self.settings, inputs.rows, inputs.places
        start, chains = self._start(inputs, frames)
        options = inputs.softened(settings.options.take(rows)).per_unit(places.unit)
        if not settings.is_tree and not settings.spec.has_side:
            flipped = find_flips(settings, rows, places, frames, start)
            options = replace(options, use_flip_bend=flipped)
        goals, tips = self._goals_of(inputs, frames, start), self._tips_of(inputs)
        posing = Posing(frames, start, goals, options, tips, chains=chains)
        if frames.stretch is not None:
            posing = _grow(posing, frames.stretch)
        if self._has_forces:
            posing = replace(posing, forces=self._find_forces(inputs, posing.start))
        return posing

    def _start(self, inputs: PlacedInputs, frames: ChainFrames) -> tuple[ChainPoses, Chains | None]:
        """Return the start poses, and the chains for the core; cached while they stay the same."""
        settings, rows = self.settings, inputs.rows
        local = settings.start_rotations(
            rows, inputs.present, inputs.whole, use_present=inputs.use_present
        )
        slides = self._start_slides(inputs, frames)
        channels = local if slides is None else np.concatenate((local, slides[..., None]), axis=2)
        if self._cached_start is not None:
            cached_frames, cached_channels, start, chains = self._cached_start
            is_same = np.array_equal(cached_channels[rows], channels)
            is_same = is_same and np.array_equal(cached_frames.parent[rows], frames.parent)
            if is_same and np.array_equal(cached_frames.root[rows], frames.root):
                if len(rows) == len(cached_channels):
                    return start, chains
                return start.take(rows), None if chains is None else chains.take(rows)
        start = frames.posed(rotation.matrix_from_quaternion(local), slides=slides)
        if not settings.is_tree:
            check_segments(lambda row: self._driven[rows[row]].live_chains[0].plan, start.joints)
        chains = self._compile_chains(frames, start)
        if len(rows) == len(settings):
            self._cached_start = frames, channels, start, chains
        return start, chains

    def _compile_chains(self, frames: ChainFrames, start: ChainPoses) -> Chains | None:
        """Return start poses as the core takes them; None if forces act or bones stretch."""
        if self._has_forces or frames.stretch is not None:
            return None
        if frames.joints is None:
            return free_chains_for_core(frames, start, start.joints)
        return chains_for_core(frames, start)

    def _start_slides(self, inputs: PlacedInputs, frames: ChainFrames) -> Array | None:
        """Return the slides to start from, shape (b, k); None if nothing slides.

        As for rotations, present slides with influence are a share of the last solution.
        """
        slide, influence = frames.slide, self.settings.influence[inputs.rows]
        if slide is None:
            return None
        if not self.settings.is_current or inputs.location is None:
            return np.zeros(slide.low.shape)
        slides = slide.slides_at(inputs.location) / np.where(influence > 0.0, influence, np.inf)
        return np.where(influence > 0.0, slide.within(slides), 0.0)

    def _goals_of(self, inputs: PlacedInputs, frames: ChainFrames, start: ChainPoses) -> Goals:
        """Return the goals without the turns of tips."""
        settings, rows, stays = self.settings, inputs.rows, ~inputs.is_followed
        places, from_world = inputs.places, inputs.places.from_world
        angle = settings.pole_angle[rows]
        angle = np.where(places.keeps_bend, -angle, angle)
        points, effectors = (
            inputs.targets[:, :, :3, 3],
            start.joints[:, self._frames.hanging.count :],
        )
        ends = points_in_base(from_world, points)
        ends = without_rounding(ends, effectors, points, places.unit)
        poles = None if inputs.poles is None else points_in_base(from_world, inputs.poles)
        if settings.carried is not None:
            rotations = from_world[:, :, :3] @ inputs.targets[:, 0, :3, :3]
            keeps_bend, carried = places.keeps_bend[:, 0], settings.carried.take(rows)
            poles = carried.poles_of(frames, ends[:, 0], rotations, places.unmirrored, keeps_bend)
            poles = poles[:, None]
        if not settings.is_tree:
            return Goals(ends[:, 0], None if poles is None else poles[:, 0], angle[:, 0])
        if stays.any():
            ends[:, stays] = effectors[:, stays]
        pole_positions, has_poles = None, np.zeros(len(stays), dtype=np.bool_)
        if poles is not None:
            poled = list(settings.first.poled_chains)
            has_poles[poled] = is_followed = inputs.is_followed[poled]
            pole_positions = ends.copy()
            pole_positions[:, has_poles] = poles[:, is_followed]
        return Goals(
            target_position=ends,
            weight=settings.weights[rows] * inputs.is_followed,
            pole_position=pole_positions,
            has_pole=has_poles.tolist(),
            pole_angle=angle,
            priority=settings.first.priorities,
        )

    def _tips_of(self, inputs: PlacedInputs) -> TipGoals | None:
        """Return the orientations that tips shall take, in the spaces of places."""
        like = self.settings.first
        chains = [chain for chain in like.turning_chains if inputs.is_followed[chain]]
        if not chains:
            return None
        turns = inputs.places.from_world[:, None, :, :3] @ inputs.targets[:, chains, :3, :3]
        shares = [like.specs[chain].options.orient_weight for chain in chains]
        return TipGoals(tuple(chains), rotation.orientation(turns), tuple(shares))

    def _find_forces(self, inputs: PlacedInputs, start: ChainPoses) -> Forces:
        """Return the forces on the segments of chains."""
        specs = [self._driven[row].specs[0] for row in inputs.rows.tolist()]
        lengths = np.linalg.norm(np.diff(start.joints, axis=1), axis=2)
        forces = self.settings.with_optimum(forces_on(specs, lengths), inputs.rows)
        assert forces is not None
        return replace(forces, gravity=gravity_in_bases(forces, inputs.places.to_world))

    def _unroll(self, inputs: PlacedInputs, posing: Posing, solved: SolvedPoses) -> SolvedPoses:
        """Return poses of free trees without needless rolls, where no effector moves by that.

        The roll of a straight limb is arbitrary: the core's depends on the path of its iterations
        and may jump at the next target. Here bones swing from the start to their solved directions.
        """
        hang, frames, poses = posing.frames.hanging, posing.frames, solved.poses
        keeps_roll = ~self._levers.any(axis=(0, 2))
        if posing.tips is not None:
            keeps_roll[[hang.carriers[chain] for chain in posing.tips.chains]] = True
        goals, options, faced = posing.goals, posing.options, poses
        for chain in self.settings.first.poled_chains:
            first, *others = hang.limb(chain)
            if inputs.is_followed[chain] and others and not keeps_roll[first]:
                faced = roll_straight_limbs(frames, posing.start, faced, goals, options, chain)
            keeps_roll[first] |= inputs.is_followed[chain]
        levers = self._levers[inputs.rows]
        directions = spaces.transform_direction(faced.matrices[:, : hang.count], levers)
        rolled = frames.pointed(posing.start, faced, levers, directions, keeps_roll)
        gaps = np.abs(rolled.joints - poses.joints)[:, hang.count :].max(axis=(1, 2))
        unmoved = np.flatnonzero(gaps <= AGREES * frames.lengths(posing.start).max(axis=1))
        return replace(solved, poses=poses.put(unmoved, rolled.take(unmoved)))

    def _step(self, inputs: PlacedInputs, frames: ChainFrames) -> tuple[SolvedPoses, list[Eased]]:
        """Return chains on their way to solved poses; solve again only if inputs have changed."""
        rows, easing = inputs.rows, self.settings.spec.easing
        assert easing is not None
        assert inputs.steps is not None
        assert inputs.is_known is not None
        changed = np.flatnonzero(~(inputs.is_known & self._is_solved[rows]))
        if changed.size:
            new = self._solve(inputs.take(changed), frames.take(changed))
            if self._eased_poses is None:
                first = np.zeros(len(self._driven), dtype=np.int64)
                self._eased_poses = new[0].take(first), new[1].take(first)
            starts, poses = self._eased_poses
            self._eased_poses = starts.put(rows[changed], new[0]), poses.put(rows[changed], new[1])
            self._is_solved[rows[changed]] = True
        assert self._eased_poses is not None
        start, solved = self._eased_poses[0].take(rows), self._eased_poses[1].take(rows)
        return step_poses(frames, start, solved, easing, inputs.steps)

    def _find_result(
        self, inputs: PlacedInputs, frames: ChainFrames, solved: SolvedPoses
    ) -> Solved:
        """Return the result after influence and locks, measured on the written pose."""
        settings, rows = self.settings, inputs.rows
        written = self._write(inputs, frames, solved.poses)
        poses, world = written.poses, inputs.places.to_world
        ends = points_in_base(inputs.places.from_world, inputs.targets[:, :, :3, 3])
        gaps = (poses.joints[:, frames.hanging.count :] - ends) @ world.swapaxes(-1, -2)
        residuals = np.where(inputs.is_followed, np.linalg.norm(gaps, axis=2), 0.0)
        # Without the error that float32 matrices of parents leave of a solve that has arrived.
        errors = residuals - LENGTH_ROUNDING * frames.lengths(poses, world)
        has_arrived, solutions = errors <= settings.tolerance[rows], solved.solutions
        # The pose may differ from the solved one where bones change their shape as they turn.
        codes = find_statuses(
            solutions.status_code.reshape(residuals.shape),
            has_arrived,
            settings.shares[rows] < 1.0,
            np.ones_like(has_arrived),
        )
        return Solved(
            channels=written.channels,
            whole=written.whole,
            is_held_by_lock=written.is_held_by_lock,
            residuals=residuals,
            iterations=solutions.iterations,
            status_codes=codes,
            tip_gaps=solved.tip_gaps.reshape(residuals.shape),
            forces=solutions.forces,
            holds=solutions.holds,
            slide_holds=solutions.slide_holds,
            scale=written.scale,
            location=written.location,
        )

    def _write(self, inputs: PlacedInputs, frames: ChainFrames, poses: ChainPoses) -> WrittenPoses:
        """Return what is written of solved poses: after influence and locks."""
        settings, rows = self.settings, inputs.rows
        local = rotation.quaternion_from_matrix(poses.rotations)
        near, influence = settings.near(rows, inputs.present), settings.influence[rows]
        channels, is_held, is_moved = settings.finished(rows, local, near)
        scale, slides, location = None, None, None
        if settings.first.stretches:
            scale = frames.scale + influence[..., None] * (poses.scale - frames.scale)
        if frames.slide is not None and poses.slides is not None:
            slides = frames.slide.within(influence * poses.slides)
            location = frames.slide.location(slides)
        if frames.floating is not None:
            share = settings.influence[rows][:, :1]
            shift = share * (poses.joints[:, 0] - frames.root)
            frames = frames.rooted(frames.root + shift)
            in_parents = np.linalg.solve(frames.parent, shift[..., None])[..., 0]
            location = frames.floating.moved(in_parents, location)
        if is_moved.any():
            moved = np.flatnonzero(is_moved)
            matrices = rotation.matrix_from_quaternion(settings.local_of(channels[moved]))
            some = [None if values is None else values[moved] for values in (scale, slides)]
            poses = poses.put(moved, frames.take(moved).posed(matrices, *some))
        return WrittenPoses(poses, channels, local, is_held, scale, location)


def _grow(posing: Posing, stretch: ChainStretch) -> Posing:
    """Return the inputs of a solve with the lengths that bones grow to."""
    frames, start, options = posing.frames, posing.start, posing.options
    goals = add_tip_turns(posing.goals, frames, start, posing.tips)
    lengths = stretch.grown(start.joints, frames.along(), goals, options)
    has_grown = ~np.isnan(lengths[:, 0])
    if not has_grown.any():
        return posing
    # The growth of the bones contains the soft distance.
    soft = np.where(has_grown, 0.0, np.asarray(options.soft_distance))
    return replace(
        posing,
        start=frames.stretched(start.rotations, lengths),
        options=replace(options, soft_distance=soft),
        lengths=lengths,
    )


def _revert_worse(posing: Posing, solved: SolvedPoses) -> SolvedPoses:
    """Return solved poses, but the start pose where a chain got worse from its last pose.

    Where bones are longer in one direction than in another, poses end elsewhere than the core
    computes. A chain that ends farther from its target would move away at every update.
    """
    start, target = posing.start, posing.goals.target_position
    if not posing.options.keeps_start or target.ndim > 2 or posing.lengths is not None:
        return solved
    offsets = (poses.joints[:, -1] - target for poses in (start, solved.poses))
    start_gaps, gaps = (np.linalg.norm(offset, axis=1) for offset in offsets)
    slack = np.asarray(posing.options.tolerance) + AGREES * posing.frames.lengths(start)[:, 0]
    differs = np.abs(gaps - solved.solutions.residual) > slack
    rows = np.flatnonzero(differs & (gaps > start_gaps + slack))
    return replace(solved, poses=solved.poses.put(rows, start.take(rows)))
