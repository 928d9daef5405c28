"""Solve chains and trees side by side through any parent matrix: targets in, channels out.

What ``base_solve`` does for chains whose bones stay rigid, for all others: bones that are scaled
unevenly, inherit their parents' matrices in part, stretch, slide, or ease toward their targets in
time; and for trees. Chains are solved in the spaces of their armatures, trees also in those of
their root bones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...core import Chains, Forces, Goals
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags, Indices
from ..frames.bases import points_in_base, without_rounding
from ..frames.batch_settings import BatchSettings
from ..frames.chain_frames import ChainFrames
from ..frames.chain_joints import ChainJoints
from ..frames.chain_poses import LENGTHS_AGREE, ChainPoses
from ..frames.framing import framed
from ..frames.places import Places
from ..frames.side import flips
from ..frames.tips import Tips, turned_goals
from ..planning.acting_forces import forces_on, gravity_in_bases
from ..planning.checks import check_segments
from ..planning.stretch import ChainStretch
from ..reading import spaces
from ..reading.bone_joints import free_bones
from ..reading.refusals import scaled_flat
from ..trees.driven import Driven
from .eased_poses import Eased, step_poses
from .free_solving import Posing, SolvedPoses, free_chains_for_core, solve_freely
from .jointed_solving import AGREES, chains_for_core, solve_with_joints, turn_tips
from .solved import Asked, Solved, name_ending


class FrameSolve:
    """B chains, or trees of E chains, alike, compiled."""

    def __init__(self, driven: Sequence[Driven], *, is_even: bool = False) -> None:
        """Compile chains or trees that have the same key.

        Args:
            driven: The chains or trees.
            is_even: Whether trees are solved in the spaces of their root bones.
        """
        self.settings = own = BatchSettings.of(driven)
        self._driven, self._joints = driven, own.joints
        self._frames = framed(driven, is_even=is_even)
        if own.is_tree:
            self._levers = np.array([tree.levers for tree in driven])
            free = free_bones(len(own.like.bones))
            self._joints = own.joints or ChainJoints.of([free] * len(driven))
        # The start poses of all, how they hung and stood then, and how the core takes them.
        self._begun: tuple[ChainFrames, Array, ChainPoses, Chains | None] | None = None
        # What chains that ease go to, and where they start from, if they have been solved.
        self._found: tuple[ChainPoses, SolvedPoses] | None = None
        self._is_found = np.zeros(len(driven), dtype=np.bool_)

    @property
    def owns_root(self) -> Flags | bool:
        """Which chains slide their own roots, shape (B,) or for all alike."""
        if self._frames.slide is None or self._frames.floating is not None:
            return self._frames.floating is not None
        return self._frames.slide.moves_root

    def solved(self, asked: Asked, places: Places) -> tuple[Solved, list[Eased]]:
        """Return what brings some of the chains or trees, which hang there, to their targets.

        Raises:
            IKError: If one of them cannot be solved; the text says what to do next.
        """
        rows = asked.rows
        if places.is_flat[rows].any():
            raise scaled_flat()
        frames, stepped = self._placed(places, rows), list[Eased]()
        if asked.steps is None:
            found = self._solve(asked, places, frames)[1]
        else:
            found, stepped = self._step(asked, places, frames)
        return self._finished(asked, places, frames, found), stepped

    def posed(self, asked: Asked, places: Places) -> SolvedPoses:
        """Return the same as poses, before influence and locks."""
        return self._solve(asked, places, self._placed(places, asked.rows))[1]

    def _placed(self, places: Places, rows: Indices) -> ChainFrames:
        """Return some of the chains or trees where they hang."""
        frames, above, root = self._frames.take(rows), places.above[rows], places.root[rows]
        if frames.slide is not None:
            home = spaces.transform_point(above, frames.slide.root)
            root = np.where(frames.slide.moves_root[:, None], home, root)
        if frames.floating is not None:
            root = spaces.transform_point(above, frames.floating.head)
        return replace(frames, parent=above[:, :3, :3], root=root)

    def _solve(
        self, asked: Asked, places: Places, frames: ChainFrames
    ) -> tuple[ChainPoses, SolvedPoses]:
        """Return the poses that chains or trees start from, and as solved."""
        own, rows = self.settings, asked.rows
        posing = self._ask(asked, places, frames)
        if frames.stretch is not None:
            posing = _grown(posing, frames.stretch)
        if self._joints is None:
            return posing.start, _kept(posing, solve_freely(posing))
        joints = self._joints.take(rows)
        found = solve_with_joints(posing, joints, self._forces(posing, places, rows))
        if own.joints is None and frames.floating is None:
            found = self._rolled(asked, posing, found)
        found = turn_tips(posing, found, None if own.joints is None else joints)
        return posing.start, _kept(posing, found)

    def _ask(self, asked: Asked, places: Places, frames: ChainFrames) -> Posing:
        """Return what is asked in the spaces of places, from where chains or trees start."""
        own, rows = self.settings, asked.rows
        start, chains = self._begin(asked, frames)
        options = own.options.per_unit(places.unit).take(rows)
        if not own.is_tree and not own.spec.has_side:
            flipped = flips(own, places, rows, frames, start)
            options = replace(options, use_flip_bend=flipped)
        goals, tips = self._goals(asked, places, frames, start), self._tips(asked, places)
        return Posing(frames, start, goals, options, tips, chains=chains)

    def _begin(self, asked: Asked, frames: ChainFrames) -> tuple[ChainPoses, Chains | None]:
        """Return the start poses, and how the core takes them; kept while they stay the same."""
        own, rows = self.settings, asked.rows
        local = own.begun(rows, asked.present, asked.whole, goes_on=asked.goes_on)
        slides = self._start_slides(asked, frames)
        stands = local if slides is None else np.concatenate((local, slides[..., None]), axis=2)
        if self._begun is not None:
            where, known, start, chains = self._begun
            is_same = np.array_equal(known[rows], stands)
            is_same = is_same and np.array_equal(where.parent[rows], frames.parent)
            if is_same and np.array_equal(where.root[rows], frames.root):
                if len(rows) == len(known):
                    return start, chains
                return start.take(rows), None if chains is None else chains.take(rows)
        start = frames.posed(rotation.matrix_from_quaternion(local), slides=slides)
        if not own.is_tree:
            check_segments(lambda row: self._driven[rows[row]].live_chains[0], start.joints)
        chains = self._for_core(rows, frames, start)
        if len(rows) == len(own):
            self._begun = frames, stands, start, chains
        return start, chains

    def _for_core(self, rows: Indices, frames: ChainFrames, start: ChainPoses) -> Chains | None:
        """Return how the core takes start poses; None where forces act, or lengths change first."""
        if not self.settings.is_tree and self.settings.spec.force is not None:
            return None
        if frames.stretch is not None:
            return None
        if self._joints is None:
            return free_chains_for_core(frames, start, start.joints)
        return chains_for_core(frames, start, self._joints.take(rows))

    def _start_slides(self, asked: Asked, frames: ChainFrames) -> Array | None:
        """Return the slides to start from, shape (b, k); None where nothing slides.

        As for rotations, what stands there with influence is a share of the last solution.
        """
        slide, influence = frames.slide, self.settings.influence[asked.rows]
        if slide is None:
            return None
        if not self.settings.is_current or asked.location is None:
            return np.zeros(slide.low.shape)
        there = slide.slides_at(asked.location) / np.where(influence > 0.0, influence, np.inf)
        return np.where(influence > 0.0, slide.within(there), 0.0)

    def _goals(self, asked: Asked, places: Places, frames: ChainFrames, start: ChainPoses) -> Goals:
        """Return the goals, without the turns of tips."""
        own, rows, stays = self.settings, asked.rows, ~asked.is_followed
        from_world, angle = places.from_world[rows], own.pole_angle[rows]
        angle = np.where(places.keeps[rows], -angle, angle)
        points, effectors = (
            asked.targets[:, :, :3, 3],
            start.joints[:, self._frames.hanging.count :],
        )
        ends = points_in_base(from_world, points)
        ends = without_rounding(ends, effectors, points, places.unit[rows])
        poles = None if asked.poles is None else points_in_base(from_world, asked.poles)
        if own.carried is not None:
            turned = from_world[:, :, :3] @ asked.targets[:, 0, :3, :3]
            is_kept, shown = places.keeps[rows, 0], places.unmirrored[rows]
            carried = own.carried.take(rows)
            poles = carried.poles_of(frames, ends[:, 0], turned, shown, is_kept)[:, None]
        if not own.is_tree:
            return Goals(ends[:, 0], None if poles is None else poles[:, 0], angle[:, 0])
        if stays.any():
            ends[:, stays] = effectors[:, stays]
        of_chains, has_poles = None, np.zeros(len(stays), dtype=np.bool_)
        if poles is not None:
            poled = list(own.like.poled)
            has_poles[poled] = kept = asked.is_followed[poled]
            of_chains = ends.copy()
            of_chains[:, has_poles] = poles[:, kept]
        return Goals(
            target_position=ends,
            weight=own.weights[rows] * asked.is_followed,
            pole_position=of_chains,
            has_pole=has_poles.tolist(),
            pole_angle=angle,
            priority=own.like.priorities,
        )

    def _tips(self, asked: Asked, places: Places) -> Tips | None:
        """Return the orientations that tips shall take, in the spaces of places."""
        like = self.settings.like
        chains = [chain for chain in like.turning if asked.is_followed[chain]]
        if not chains:
            return None
        from_world = places.from_world[asked.rows]
        turns = from_world[:, None, :, :3] @ asked.targets[:, chains, :3, :3]
        shares = [like.specs[chain].options.orient_weight for chain in chains]
        return Tips(tuple(chains), rotation.orientation(turns), tuple(shares))

    def _forces(self, posing: Posing, places: Places, rows: Indices) -> Forces | None:
        """Return what acts on the segments of chains; None where nothing does."""
        if self.settings.is_tree or self.settings.spec.force is None:
            return None
        specs = [self._driven[row].specs[0] for row in rows.tolist()]
        lengths = np.linalg.norm(np.diff(posing.start.joints, axis=1), axis=2)
        forces = self.settings.with_optimum(forces_on(specs, lengths), rows)
        assert forces is not None
        return replace(forces, gravity=gravity_in_bases(forces, places.to_world[rows]))

    def _rolled(self, asked: Asked, posing: Posing, found: SolvedPoses) -> SolvedPoses:
        """Return poses of free trees without needless rolls, unless effectors would feel it."""
        hang, frames, poses = posing.frames.hanging, posing.frames, found.poses
        kept = ~self._levers.any(axis=(0, 2))
        if posing.tips is not None:
            kept[[hang.carriers[chain] for chain in posing.tips.chains]] = True
        poled = [chain for chain in self.settings.like.poled if asked.is_followed[chain]]
        kept[[hang.limb_root(chain) for chain in poled]] = True
        rolled = frames.rolled(posing.start, poses, self._levers[asked.rows], kept)
        moved = np.abs(rolled.joints - poses.joints)[:, hang.count :].max(axis=(1, 2))
        same = np.flatnonzero(moved <= AGREES * frames.lengths(posing.start).max(axis=1))
        return replace(found, poses=poses.put(same, rolled.take(same)))

    def _step(
        self, asked: Asked, places: Places, frames: ChainFrames
    ) -> tuple[SolvedPoses, list[Eased]]:
        """Return chains that ease on their way; while only time passes they go to the same."""
        rows, easing, joints = asked.rows, self.settings.spec.easing, self._joints
        assert easing is not None
        assert joints is not None
        assert asked.steps is not None
        assert asked.is_known is not None
        fresh = np.flatnonzero(~(asked.is_known & self._is_found[rows]))
        if fresh.size:
            new = self._solve(asked.take(fresh), places, frames.take(fresh))
            if self._found is None:
                first = np.zeros(len(self._driven), dtype=np.int64)
                self._found = new[0].take(first), new[1].take(first)
            starts, poses = self._found
            self._found = starts.put(rows[fresh], new[0]), poses.put(rows[fresh], new[1])
            self._is_found[rows[fresh]] = True
        assert self._found is not None
        start, found = self._found[0].take(rows), self._found[1].take(rows)
        return step_poses(frames, start, found, joints.take(rows), easing, asked.steps)

    def _finished(
        self, asked: Asked, places: Places, frames: ChainFrames, found: SolvedPoses
    ) -> Solved:
        """Return what influence and locks leave of solved poses, measured on what is left."""
        own, rows, shown = self.settings, asked.rows, found.poses
        local = rotation.quaternion_from_matrix(shown.rotations)
        near, influence = own.near(rows, asked.present), own.influence[rows]
        channels, is_kept, is_moved = own.finished(rows, local, near)
        scale, slides, location = None, None, None
        if own.like.stretches:
            scale = frames.scale + influence[..., None] * (shown.scale - frames.scale)
        if frames.slide is not None and shown.slides is not None:
            slides = frames.slide.within(influence * shown.slides)
            location = frames.slide.location(slides)
        if frames.floating is not None:
            share = own.influence[rows][:, :1]
            way = share * (shown.joints[:, 0] - frames.root)
            frames = frames.rooted(frames.root + way)
            in_parents = np.linalg.solve(frames.parent, way[..., None])[..., 0]
            location = frames.floating.moved(in_parents, location)
        if is_moved.any():
            moved = np.flatnonzero(is_moved)
            there = rotation.matrix_from_quaternion(own.local_of(channels[moved]))
            some = [None if each is None else each[moved] for each in (scale, slides)]
            shown = shown.put(moved, frames.take(moved).posed(there, *some))
        world = places.to_world[rows]
        ends = points_in_base(places.from_world[rows], asked.targets[:, :, :3, 3])
        gaps = (shown.joints[:, frames.hanging.count :] - ends) @ world.swapaxes(-1, -2)
        residuals = np.where(asked.is_followed, np.linalg.norm(gaps, axis=2), 0.0)
        # Less what float32 parents make of a solve that has arrived.
        exact = residuals - LENGTHS_AGREE * frames.lengths(shown, world)
        has_arrived, solutions = exact <= own.tolerance[rows], found.solutions
        # Bones that change as they turn may stand elsewhere than they were solved.
        codes = name_ending(
            solutions.status_code.reshape(residuals.shape),
            has_arrived,
            own.shares[rows] < 1.0,
            np.ones_like(has_arrived),
        )
        return Solved(
            channels=channels,
            whole=local,
            is_kept=is_kept,
            residuals=residuals,
            iterations=solutions.iterations,
            status_codes=codes,
            tip_gaps=found.tip_gaps.reshape(residuals.shape),
            forces=solutions.forces,
            holds=solutions.holds,
            slide_holds=solutions.slide_holds,
            scale=scale,
            location=location,
        )


def _grown(posing: Posing, stretch: ChainStretch) -> Posing:
    """Return what is asked of chains with the lengths that bones grow to."""
    frames, start, options = posing.frames, posing.start, posing.options
    goals = turned_goals(posing.goals, frames, start, posing.tips)
    lengths = stretch.grown(start.joints, frames.along(), goals, options)
    has_grown = ~np.isnan(lengths[:, 0])
    if not has_grown.any():
        return posing
    # What the bones grow by has the soft distance in it.
    soft = np.where(has_grown, 0.0, np.asarray(options.soft_distance))
    return replace(
        posing,
        start=frames.stretched(start.rotations, lengths),
        options=replace(options, soft_distance=soft),
        lengths=lengths,
    )


def _kept(posing: Posing, found: SolvedPoses) -> SolvedPoses:
    """Return solved chains that go on from their last pose; of those led astray that pose.

    Where bones are longer in one direction than in another, poses end elsewhere than the core has
    told. One that ends farther from the target than where it began would lead on and on.
    """
    start, target = posing.start, posing.goals.target_position
    if not posing.options.keeps_start or target.ndim > 2 or posing.lengths is not None:
        return found
    ways = (each.joints[:, -1] - target for each in (start, found.poses))
    began, ended = (np.linalg.norm(way, axis=1) for way in ways)
    slack = np.asarray(posing.options.tolerance) + AGREES * posing.frames.lengths(start)[:, 0]
    is_astray = np.abs(ended - found.solutions.residual) > slack
    rows = np.flatnonzero(is_astray & (ended > began + slack))
    return replace(found, poses=found.poses.put(rows, start.take(rows)))
