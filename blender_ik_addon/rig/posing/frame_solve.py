"""Solve chains side by side through any parent matrix: targets in, channels out.

What ``base_solve`` does for bones that stay rigid, for all others: bones that are scaled unevenly,
inherit their parents' matrices in part, stretch, slide, or ease toward their targets in time.
Chains are solved in the spaces of their armatures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ...core import Forces, Goals, SolveOptions
from ...core.algebra import rotation
from ..frames.batch_settings import BatchSettings
from ..frames.chain_frames import ChainFrames
from ..frames.chain_poses import LENGTHS_AGREE, ChainPoses
from ..frames.framing import Hung, framed
from ..frames.places import Places
from ..frames.side import Mirrored, flips
from ..frames.tips import Tips, turned_goals
from ..planning.acting_forces import forces_on, gravity_in_bases
from ..planning.checks import check_segments
from ..planning.live_chain import LiveChain
from ..reading import spaces
from ..reading.channels import Pose
from ..reading.refusals import scaled_flat
from .eased_poses import Step, Stepped, easing_of, step_poses
from .free_solving import Posing, solve_freely
from .jointed_solving import JointedPoses, solve_with_joints, turn_tips
from .solved import Asked, Solved, name_ending

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]


class FrameSolve:
    """B chains alike, compiled."""

    def __init__(self, live_chains: Sequence[LiveChain], poses: Sequence[Pose]) -> None:
        """Compile chains that have the same ``batch_key``, in these poses."""
        self.settings = BatchSettings.of(live_chains, poses)
        self._live_chains = live_chains
        self._frames = framed(
            [
                Hung(
                    live_chain.job.skeleton,
                    pose,
                    live_chain.job.plan,
                    live_chain.stretch,
                    live_chain.slide,
                )
                for live_chain, pose in zip(live_chains, poses, strict=True)
            ]
        )
        self._start = self.settings.channels.local_of(
            np.array([live_chain.start for live_chain in live_chains])
        )
        self._homes = self._find_homes()
        # What chains that ease go to, and where they start from, if they have been solved.
        self._found: tuple[ChainPoses, JointedPoses] | None = None
        self._is_found = np.zeros(len(live_chains), dtype=np.bool_)

    def _find_homes(self) -> Array:
        """Return the roots' heads without any slide in the spaces of their parents, (B, 3)."""
        found = np.zeros((len(self._live_chains), 3))
        for row, live_chain in enumerate(self._live_chains):
            if live_chain.slide is not None:
                skeleton, root = live_chain.job.skeleton, int(live_chain.job.plan.segments[0])
                found[row] = spaces.head_in_parent(
                    skeleton.offsets[root],
                    live_chain.slide.home[0],
                    skeleton.use_local_location[root],
                    skeleton.use_connect[root] & (skeleton.parents[root] >= 0),
                )
        return found

    def differ(self, places: Places, former: Places) -> Flags:
        """Tell which chains hang elsewhere than before, shape (B,)."""
        differs: Flags = (places.world != former.world).any(axis=(1, 2))
        differs |= (places.above != former.above).any(axis=(1, 2))
        differs |= (places.unmirrored != former.unmirrored).any(axis=(1, 2))
        slide = self._frames.slide
        # A root that the chain slides is written by the chain itself.
        is_own = False if slide is None else slide.moves_root
        differs |= (places.head != former.head).any(axis=1) & ~np.asarray(is_own)
        return differs

    def solved(self, asked: Asked, places: Places) -> tuple[Solved, list[Stepped]]:
        """Return what brings some of the chains, which hang there, to their targets.

        Raises:
            IKError: If one of them cannot be solved; the text says what to do next.
        """
        rows, own = asked.rows, self.settings
        if places.is_flat[rows].any():
            raise scaled_flat()
        is_known = np.zeros(len(rows), dtype=np.bool_)
        if asked.is_known is not None:
            is_known = asked.is_known & self._is_found[rows]
        frames, stepped = self._placed(places, rows), list[Stepped]()
        if own.joints is None:
            solutions, poses = solve_freely(self._ask(asked, places, frames))
            found = JointedPoses(solutions, poses, np.zeros(len(rows)))
        elif asked.steps is None:
            posing = self._ask(asked, places, frames)
            found = self._solve_joints(posing, places, rows)
        else:
            fresh = np.flatnonzero(~is_known)
            if fresh.size:
                posing = self._ask(_take(asked, fresh), places, frames.take(fresh))
                new = self._solve_joints(posing, places, rows[fresh])
                self._keep(rows[fresh], posing.start, new)
            assert self._found is not None
            start, found = self._found[0].take(rows), self._found[1].take(rows)
            found, stepped = self._step(frames, start, found, asked.steps, rows)
        return self._finished(asked, places, frames, found), stepped

    def _placed(self, places: Places, rows: Indices) -> ChainFrames:
        """Return some of the chains where they hang."""
        frames, above = self._frames.take(rows), places.above[rows]
        root = places.head[rows]
        if frames.slide is not None:
            home = spaces.transform_point(above, self._homes[rows])
            root = np.where(frames.slide.moves_root[:, None], home, root)
        return replace(frames, parent=above[:, :3, :3], root=root)

    def _ask(self, asked: Asked, places: Places, frames: ChainFrames) -> Posing:
        """Return what is asked of chains in armature space, from where they start."""
        own, rows = self.settings, asked.rows
        world = places.world[rows]
        local = own.channels.begun(rows, asked.present) if own.is_current else self._start[rows]
        start = frames.posed(
            rotation.matrix_from_quaternion(local), slides=self._start_slides(asked, frames)
        )
        check_segments(self._live_chains, rows, start.joints)
        mirrored = Mirrored(places.unmirrored[rows], places.keeps[rows])
        options = self._options(rows, places, mirrored, frames, start)
        goals = self._goals(asked, world, mirrored)
        posing = Posing(frames, start, goals, options, self._tips(world, asked.targets))
        if frames.stretch is None:
            return posing
        turned = turned_goals(goals, frames, start, posing.tips)
        lengths = frames.stretch.grown(start.joints, frames.along(), turned, options)
        grown = ~np.isnan(lengths[:, 0])
        if not grown.any():
            return posing
        # What the bones grow by has the soft distance in it.
        soft = np.where(grown, 0.0, np.asarray(options.soft_distance))
        options = replace(options, soft_distance=soft)
        start = frames.stretched(start.rotations, lengths)
        return replace(posing, start=start, options=options, lengths=lengths)

    def _start_slides(self, asked: Asked, frames: ChainFrames) -> Array | None:
        """Return the slides to start from, shape (b, k); None where nothing slides.

        As for rotations, what stands there with influence is a share of the last solution.
        """
        slide, influence = frames.slide, self.settings.influence[asked.rows][:, None]
        if slide is None:
            return None
        if not self.settings.is_current or asked.location is None:
            return np.zeros(slide.low.shape)
        there = slide.slides_at(asked.location) / np.where(influence > 0.0, influence, np.inf)
        return np.where(influence > 0.0, slide.within(there), 0.0)

    def _options(
        self,
        rows: Indices,
        places: Places,
        mirrored: Mirrored,
        frames: ChainFrames,
        start: ChainPoses,
    ) -> SolveOptions:
        """Return the options in armature space; distances that hold in every direction."""
        own, options = self.settings, self.settings.options.take(rows)
        use_flip: Flags = np.asarray(options.use_flip_bend)
        if own.spec.pole is None:
            stored = (
                rotation.matrix_from_quaternion(own.channels.zero[rows]) if own.is_current else None
            )
            without_tip = own.bends_without_tip
            use_flip = flips(use_flip, mirrored, frames, start, stored, without_tip=without_tip)
        largest = places.largest[rows]
        return replace(
            options,
            tolerance=options.tolerance / largest,
            soft_distance=options.soft_distance / largest,
            use_flip_bend=use_flip,
        )

    def _tips(self, world: Array, targets: Array) -> Tips | None:
        if not self.settings.turns_tip:
            return None
        wanted = spaces.orientation(np.linalg.solve(world[:, :3, :3], targets[:, :3, :3]))
        return Tips((0,), wanted[:, None], (self.settings.spec.options.orient_weight,))

    def _goals(self, asked: Asked, world: Array, mirrored: Mirrored) -> Goals:
        to_armature, angle = np.linalg.inv(world), self.settings.pole_angle[asked.rows]
        pole = None
        if asked.poles is not None:
            pole = spaces.transform_point(to_armature, asked.poles)
        return Goals(
            target_position=spaces.transform_point(to_armature, asked.targets[:, :3, 3]),
            pole_position=pole,
            pole_angle=np.where(mirrored.keeps, -angle, angle),
        )

    def _solve_joints(self, posing: Posing, places: Places, rows: Indices) -> JointedPoses:
        joints = self.settings.joints
        assert joints is not None
        forces = self._forces(posing.start, places.world[rows], rows)
        own = joints.take(rows)
        return turn_tips(posing, solve_with_joints(posing, own, forces), own)

    def _forces(self, start: ChainPoses, world: Array, rows: Indices) -> Forces | None:
        """Return what acts on the segments of chains; None where nothing does."""
        specs = [self._live_chains[row].job.spec for row in rows.tolist()]
        lengths = np.linalg.norm(np.diff(start.joints, axis=1), axis=2)
        forces = self.settings.with_optimum(forces_on(specs, lengths), rows)
        if forces is None:
            return None
        return replace(forces, gravity=gravity_in_bases(forces, world[:, :3, :3]))

    def _keep(self, rows: Indices, start: ChainPoses, found: JointedPoses) -> None:
        """Keep what chains that ease go to: while only time passes it stays."""
        if self._found is None:
            first = np.zeros(len(self._live_chains), dtype=np.int64)
            self._found = start.take(first), found.take(first)
        starts, poses = self._found
        self._found = starts.put(rows, start), poses.put(rows, found)
        self._is_found[rows] = True

    def _step(
        self,
        frames: ChainFrames,
        start: ChainPoses,
        found: JointedPoses,
        steps: Sequence[Step],
        rows: Indices,
    ) -> tuple[JointedPoses, list[Stepped]]:
        easing, joints = easing_of(self.settings.spec), self.settings.joints
        assert easing is not None
        assert joints is not None
        return step_poses(frames, start, found, joints.take(rows), easing, steps)

    def _finished(
        self,
        asked: Asked,
        places: Places,
        frames: ChainFrames,
        found: JointedPoses,
    ) -> Solved:
        """Return what influence and locks leave of solved poses, measured on what is left."""
        own, rows, poses = self.settings, asked.rows, found.poses
        influence = own.influence[rows]
        local = rotation.quaternion_from_matrix(poses.rotations)
        near = asked.present if own.is_current else own.channels.stored[rows]
        channels, is_kept, is_moved = own.channels.finished(rows, local, near)
        scale = frames.scale + influence[:, None, None] * (poses.scale - frames.scale)
        slides, location = None, None
        if frames.slide is not None and poses.slides is not None:
            slides = frames.slide.within(influence[:, None] * poses.slides)
            location = frames.slide.location(slides)
        shown = poses
        if is_moved.any():
            moved = np.flatnonzero(is_moved)
            there = rotation.matrix_from_quaternion(own.channels.local_of(channels[moved]))
            some = None if slides is None else slides[moved]
            shown = poses.put(moved, frames.take(moved).posed(there, scale[moved], some))
        world = places.world[rows]
        effectors = spaces.transform_point(world, shown.joints[:, -1])
        residuals = np.linalg.norm(effectors - asked.targets[:, :3, 3], axis=1)
        reach = frames.lengths(shown, world[:, :3, :3])[:, 0]
        tolerance = np.asarray(own.options.tolerance)[rows]
        solutions = found.solutions
        has_arrived = residuals - LENGTHS_AGREE * reach <= tolerance
        # Bones that change as they turn may stand elsewhere than they were solved.
        codes = name_ending(
            solutions.status_code, has_arrived, influence < 1.0, np.ones_like(is_moved)
        )
        return Solved(
            channels=channels,
            residuals=residuals,
            iterations=solutions.iterations,
            status_codes=codes,
            has_locks=is_kept.any(axis=1),
            tip_gaps=found.tip_gaps,
            holds=solutions.holds,
            slide_holds=solutions.slide_holds,
            scale=None if frames.stretch is None else scale,
            location=location,
        )


def _take(asked: Asked, rows: Indices) -> Asked:
    """Return what is asked of some of the chains, whatever steps they make."""
    return Asked(
        asked.rows[rows],
        asked.targets[rows],
        None if asked.poles is None else asked.poles[rows],
        asked.present[rows],
        None if asked.location is None else asked.location[rows],
    )
