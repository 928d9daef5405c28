"""Solve bodies: first each limb by itself, then the whole body if limbs alone do not reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...core import Solutions
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.model.status import BLENDED, REACHED
from ...core.solving.goal_priorities import STRENGTHS
from ..frames.bases import points_in_base
from ..frames.chain_frames import ChainFrames
from ..frames.chain_poses import LENGTH_ROUNDING, ChainPoses
from ..frames.limb_swivels import LimbSwivels
from ..posing.frame_solve import FrameSolve
from ..posing.free_solving import Posing, SolvedPoses
from ..posing.jointed_solving import solve_with_joints, turn_tips
from ..posing.solved import PlacedInputs
from ..trees.body_floor import AboveFloor, BodyFloor
from ..trees.body_limbs import BodyLimb, find_carried, find_moving, group_limbs, reach_anywhere
from ..trees.body_plan import BodyPlan
from ..trees.driven import Driven
from .limb_solve import LimbPoses, LimbSolve


class BodySolve(FrameSolve):
    """B similar bodies, compiled.

    If all limbs reach their targets by themselves, their poses are the result. If one does not, all
    bones are solved for the nearest pose in which it does: the farther a target is out of reach,
    the more the body moves with it.
    """

    def __init__(self, driven: Sequence[Driven]) -> None:
        """Compile bodies that have the same key."""
        super().__init__(driven)
        bodies = [body for body in driven if isinstance(body, BodyPlan)]
        self._pulls = np.array([body.pulls for body in bodies])
        self._shares = np.array([body.shares for body in bodies])
        self._hangs_on_faded = np.array([body.carrier_shares for body in bodies]) < 1.0
        above = [body.above_floor for body in bodies if body.above_floor is not None]
        points = np.array([one.points for one in above])
        self._above = AboveFloor(above[0].rows, points) if above else None
        parents, limbs = bodies[0].hanging.parents, [body.limbs for body in bodies]
        self._all_limbs = bodies[0].limbs
        self._limbs = [
            LimbSolve(alike, bodies[0].poled_chains) for alike in group_limbs(limbs, parents)
        ]
        self._carries = carries = find_carried(bodies[0].limbs, parents)
        chains, priorities = bodies[0].live_chains, np.array(bodies[0].priorities)
        self._is_soft = priorities > max(STRENGTHS)
        self._reaches_anywhere = reach_anywhere(self._all_limbs, carries, chains, priorities)
        grows = np.array([[chain.can_grow for chain in body.live_chains] for body in bodies])
        self._grows = grows & self._reaches_anywhere
        self._moves_with = carries | np.eye(len(chains), dtype=np.bool_)
        rows = self._above.rows if self._above else ()
        self._moves_point = find_moving(self._all_limbs, self._moves_with, rows)
        self._swivels = LimbSwivels.of(self._all_limbs, rows)

    def _solve(self, inputs: PlacedInputs, frames: ChainFrames) -> tuple[ChainPoses, SolvedPoses]:
        """Return the start poses and the solved poses of bodies."""
        posing = self._make_posing(inputs, frames)
        if self._above is not None and inputs.floors is not None:
            above, from_world = self._above.take(inputs.rows), inputs.places.from_world
            posing = replace(posing, floor=BodyFloor.of(above, from_world, inputs.floors))
        result = self._reach(inputs, posing, posing.start)
        ends = result.poses.joints[:, frames.hanging.count :]
        missing, pulls = posing.goals.target_position - ends, self._pulls[inputs.rows]
        posing = replace(
            posing,
            goals=replace(posing.goals, target_position=ends + pulls[..., None] * missing),
        )
        tolerance = self._tolerance(inputs, frames, result.poses)
        is_short = pulls * np.linalg.norm(missing, axis=2) > tolerance
        is_released = (self._grows[inputs.rows] & ~is_short) @ self._moves_with
        gives_way = (is_short & ~is_released & inputs.is_followed).any(axis=1)
        if posing.floor is not None:
            heights = posing.floor.heights(result.poses.matrices, result.poses.joints)
            gives_way |= (heights < -tolerance.min(axis=1, keepdims=True)).any(axis=1)
        rows = np.flatnonzero(gives_way)
        if rows.size:
            some, alone = inputs.take(rows), result.take(rows)
            pulling = _without(posing.take(rows), is_released[rows])
            faded = self._fade(some, pulling, alone)
            given = self._give_way(some, faded, alone)
            result = result.put(rows, self._reach_again(some, faded, given))
        return posing.start, self._follow_faded(inputs, posing, result)

    def _tolerance(self, inputs: PlacedInputs, frames: ChainFrames, poses: ChainPoses) -> Array:
        """Return the distances from targets up to which chains have arrived, shape (b, E)."""
        tolerance: Array = self.settings.tolerance[inputs.rows] / inputs.places.unit[:, None]
        return tolerance + LENGTH_ROUNDING * frames.lengths(poses)

    def _follow_faded(
        self, inputs: PlacedInputs, posing: Posing, result: SolvedPoses
    ) -> SolvedPoses:
        """Return bodies with limbs that hang on faded limbs solved once more, on the faded pose.

        So toes follow their target wherever the leg is, as they do without a body.
        """
        rows = np.flatnonzero(self._hangs_on_faded[inputs.rows].any(axis=1))
        if not rows.size:
            return result
        some, before, posing = inputs.take(rows), result.take(rows), posing.take(rows)
        chosen = self._hangs_on_faded[some.rows]
        written = self._write(some, posing.frames, before.poses).poses
        after = self._reach(some, posing, written, chosen, before)
        return result.put(rows, self._with_limbs(posing.frames, before, after, chosen))

    def _with_limbs(
        self, frames: ChainFrames, before: SolvedPoses, after: SolvedPoses, chains: Flags
    ) -> SolvedPoses:
        """Return the bodies before, with the limbs of some chains (b, E) as they are after."""
        poses, takes = before.poses, np.zeros(before.poses.scale.shape, dtype=np.bool_)
        for limb in self._all_limbs:
            takes[:, limb.rows] = chains[:, limb.chains].any(axis=1)[:, None, None]
        rotations = np.where(takes[..., None], after.poses.rotations, poses.rotations)
        scale, slides = np.where(takes, after.poses.scale, poses.scale), poses.slides
        if slides is not None and after.poses.slides is not None:
            slides = np.where(takes[..., 0], after.poses.slides, slides)
        poses = frames.rooted(poses.joints[:, 0]).posed(rotations, scale, slides)
        return replace(after, poses=poses)

    def _reach(
        self,
        inputs: PlacedInputs,
        posing: Posing,
        pose: ChainPoses,
        chosen: Flags | None = None,
        before: SolvedPoses | None = None,
    ) -> SolvedPoses:
        """Return bodies in a pose with limbs solved by themselves, carrying limbs first.

        Args:
            inputs: Inputs of the bodies.
            posing: Goals and frames of the bodies.
            pose: Pose of the bones that belong to no limb, and of the root.
            chosen: Which chains' limbs to solve, shape (b, E); None for all.
            before: Result of an earlier solve; None without one.
        """
        goals, frames = posing.goals, posing.frames
        results = _LimbResults(inputs, frames, before)
        pulls = np.broadcast_to(np.asarray(goals.weight) > 0.0, goals.target_position.shape[:2])
        is_chosen = np.tile(inputs.is_followed, (len(inputs.rows), 1))
        if chosen is not None:
            is_chosen &= chosen
        rotations, heads = pose.rotations.copy(), pose.joints[:, 0].copy()
        scale, slides = pose.scale.copy(), None if pose.slides is None else pose.slides.copy()
        for solve in self._limbs:
            carries = False
            for limb, rows, limb_poses in solve.posed(inputs, pose, is_chosen):
                chains = list(limb.chains)
                bones = rows[:, None], limb.rows
                rotations[bones] = limb_poses.rotations
                if limb_poses.scale is not None:
                    scale[bones] = limb_poses.scale
                if slides is not None and limb_poses.slides is not None:
                    slides[bones] = limb_poses.slides
                if limb.above < 0:
                    # The limb of the root moves the whole body.
                    ends = heads[rows, None] + limb_poses.ends
                    heads[rows] += (goals.target_position[rows][:, chains] - ends).mean(axis=1)
                carries |= bool(self._carries[chains].any())
                results.note(limb, rows, limb_poses, pulls[rows][:, chains])
            if carries:
                pose = frames.rooted(heads).posed(rotations, scale, slides)
        pose = frames.rooted(heads).posed(rotations, scale, slides)
        return SolvedPoses(results.solutions(pose), pose, results.tip_gaps)

    def _fade(self, inputs: PlacedInputs, posing: Posing, alone: SolvedPoses) -> Posing:
        """Return bodies with closer goals for chains with partial influence.

        The goal is that share of the way from the effector's place in a body without these chains:
        so a body moves continuously while one of its chains fades in or out, pinned or not.
        """
        share, goals = self._shares[inputs.rows], posing.goals
        fades = (share > 0.0) & (share < 1.0) & inputs.is_followed
        if not fades.any():
            return posing
        weight, without = np.where(fades, 0.0, goals.weight), alone.poses
        others = np.flatnonzero((weight > 0.0).any(axis=1))
        if others.size:
            other_posing = replace(posing, goals=replace(goals, weight=weight)).take(others)
            result = self._give_way(inputs.take(others), other_posing, alone.take(others))
            without = without.put(others, result.poses)
        share, targets = np.where(fades, share, 1.0)[..., None], goals.target_position
        ends = without.joints[:, posing.frames.hanging.count :]
        targets = np.where(fades[..., None], ends + share * (targets - ends), targets)
        tips = posing.tips
        if tips is not None:
            tips = tips.interpolated(posing.frames, without, share[:, list(tips.chains), 0])
        return replace(posing, goals=replace(goals, target_position=targets), tips=tips)

    def _give_way(self, inputs: PlacedInputs, posing: Posing, alone: SolvedPoses) -> SolvedPoses:
        """Return the poses nearest to those of limbs by themselves that meet all goals.

        Goals that cannot all be met count by priority.
        """
        near_posing = replace(posing, near=alone.poses)
        if self.settings.first.stretches or posing.frames.slide is not None:
            poses, start = alone.poses, posing.start
            stretched = posing.frames.posed(start.rotations, poses.scale, poses.slides)
            near_posing = replace(near_posing, start=stretched, chains=None)
        result = solve_with_joints(near_posing)
        is_limited = self.settings.joints is not None
        result = turn_tips(near_posing, result, is_limited=is_limited)
        codes, pulls = result.solutions.status_code, self._pulls[inputs.rows]
        is_partial = (pulls > 0.0) & (pulls < 1.0)
        is_short = codes != REACHED
        # Reached here means: reached the goal at its share of the way.
        codes = np.where(is_partial & ~is_short, BLENDED, codes)
        return replace(result, solutions=replace(result.solutions, status_code=codes))

    def _reach_again(self, inputs: PlacedInputs, posing: Posing, given: SolvedPoses) -> SolvedPoses:
        """Return bodies that have given way, with limbs that carry no others solved once more.

        So a limb bends to its side wherever the body has brought it, and reaches on if the body
        comes only part of the way: it goes, and is soft, by the rest of the way. It swivels
        until its knee is above the floor. It stays where it would miss the place that the body has
        brought it to, or still go below the floor.
        """
        rows, places, frames = inputs.rows, inputs.places, posing.frames
        pulls = np.where(self._grows[rows] @ self._moves_with, 0.0, self._pulls[rows])
        ends = given.poses.joints[:, frames.hanging.count :]
        points = points_in_base(places.from_world, inputs.targets[:, :, :3, 3])
        tolerance, back = self._tolerance(inputs, frames, given.poses), ends - points
        if posing.floor is None:
            # What has arrived goes to its target itself, without the rounding of the body's solve.
            distance = np.maximum(np.linalg.norm(back, axis=2), tolerance)
            back *= (1.0 - tolerance / distance)[..., None]
        # What pulls softly goes on to its target: the body has brought it no definite way.
        back *= np.where(self._is_soft, 0.0, pulls)[..., None]
        targets = inputs.targets.copy()
        targets[:, :, :3, 3] += back @ places.to_world.swapaxes(1, 2)
        some = inputs._replace(softness=1.0 - pulls, targets=targets)
        chosen = np.tile(self._reaches_anywhere @ self._moves_with, (len(rows), 1))
        after = self._reach(some, posing, given.poses, chosen, given)
        if posing.floor is not None:
            raised = self._swivels.raised(frames, given.poses, after.poses, posing.floor)
            after = replace(after, poses=raised)
        goals, reached = points + back, after.poses.joints[:, frames.hanging.count :]
        was, now = (np.linalg.norm(one - goals, axis=2) for one in (ends, reached))
        # A goal may be as far from its end as the tolerance, up to rounding.
        stays = (was < 2.0 * tolerance) & (now > was + tolerance)
        if posing.floor is not None:
            stays |= self._go_deeper(posing.floor, frames, given.poses, after.poses)
        # What carries a limb below the floor stays with it, if it has been solved once more.
        stays &= chosen
        before, solutions = given.solutions.status_code, after.solutions
        codes = np.where((pulls > 0.0) | stays, before, solutions.status_code)
        after = replace(after, solutions=replace(solutions, status_code=codes))
        if not stays.any():
            return after
        return self._with_limbs(frames, given, after, chosen & ~(stays @ self._moves_with))

    def _go_deeper(
        self, floor: BodyFloor, frames: ChainFrames, before: ChainPoses, after: ChainPoses
    ) -> Flags:
        """Return which chains move a point farther below the floor, shape (b, E)."""
        was, now = (floor.heights(pose.matrices, pose.joints) for pose in (before, after))
        slack = LENGTH_ROUNDING * frames.lengths(before).max(axis=1, keepdims=True)
        is_deeper = now < np.minimum(was, 0.0) - slack
        return is_deeper @ self._moves_point


def _without(posing: Posing, is_released: Flags) -> Posing:
    """Return bodies without the goals of released chains (b, E); a floor keeps all goals."""
    weight = np.where(is_released, 0.0, posing.goals.weight)
    if posing.floor is not None or not is_released.any() or not weight.any(axis=1).all():
        return posing
    return replace(posing, goals=replace(posing.goals, weight=weight))


class _LimbResults:
    """The results of limbs of b bodies that were solved by themselves."""

    def __init__(
        self, inputs: PlacedInputs, frames: ChainFrames, before: SolvedPoses | None
    ) -> None:
        count, chains = len(inputs.rows), len(inputs.is_followed)
        self._forces: Array | None = np.zeros((count, chains + 1))
        self._codes = np.full((count, chains), REACHED)
        self._residuals, self.tip_gaps = np.zeros((2, count, chains))
        self._iterations = np.zeros(count, dtype=np.int64)
        self._holds = np.zeros((count, frames.hanging.count, 3), dtype=np.bool_)
        if before is not None:
            solutions, self.tip_gaps = before.solutions, before.tip_gaps.copy()
            self._codes, self._residuals = solutions.status_code.copy(), solutions.residual.copy()
            self._iterations = np.array(solutions.iterations)
            self._holds, self._forces = solutions.holds.copy(), solutions.forces

    def note(self, limb: BodyLimb, rows: Indices, poses: LimbPoses, pulls: Flags) -> None:
        """Note the result of a limb in some bodies, and which of its chains pulled at these."""
        chains, solutions = (rows[:, None], limb.chains), poses.solutions
        old = self._codes[chains]
        new = solutions.status_code.reshape(old.shape)
        # Chains that pulled and still miss their target keep the status of the body's solve.
        self._codes[chains] = np.where(pulls & (old != REACHED) & (new != REACHED), old, new)
        self._residuals[chains] = solutions.residual.reshape(old.shape)
        self.tip_gaps[chains] = poses.tip_gaps.reshape(old.shape)
        self._iterations[rows] += solutions.iterations
        if solutions.holds is not None:
            bones = limb.rows[: solutions.holds.shape[1]]
            is_solved = bones < self._holds.shape[1]
            self._holds[rows[:, None], bones[is_solved]] = solutions.holds[:, is_solved]

    def solutions(self, pose: ChainPoses) -> Solutions:
        """Return the results as ``Solutions`` of the bodies in a pose."""
        count, rotations = len(self._iterations), pose.rotations[:, : self._holds.shape[1]]
        return Solutions(
            joint_positions=pose.joints,
            chain_rotation_wxyz=np.tile((1.0, 0.0, 0.0, 0.0), (count, 1)),
            tip_rotation_wxyz=None,
            residual=self._residuals,
            iterations=self._iterations,
            status_code=self._codes,
            local_rotations_wxyz=rotation.quaternion_from_matrix(rotations),
            slides=np.zeros(self._holds.shape[:2]),
            holds=self._holds,
            tip_gap=self.tip_gaps,
            forces=self._forces,
        )
