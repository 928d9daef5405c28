"""Solve bodies: each limb by itself first, then all of a body for what limbs alone do not reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...core import Goals, Solutions
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.model.status import BLENDED, REACHED
from ...core.solving.giving_way import STRENGTHS
from ..frames.chain_frames import ChainFrames
from ..frames.chain_poses import LENGTHS_AGREE, ChainPoses
from ..frames.places import Places
from ..frames.side import bent_to
from ..posing.frame_solve import FrameSolve
from ..posing.free_solving import Posing, SolvedPoses
from ..posing.jointed_solving import solve_with_joints, turn_tips
from ..posing.solved import Asked
from ..reading.spaces import transform_direction
from ..trees.body_floor import BodyFloor
from ..trees.body_limbs import BodyLimb, find_carried, limbs_alike
from ..trees.body_plan import BodyPlan
from ..trees.driven import Driven
from .limb_solve import LimbPoses, LimbSolve


class BodySolve(FrameSolve):
    """B bodies alike, compiled.

    A body whose limbs all reach stands as these do by themselves. Where one does not, all bones
    look for the pose nearest to that in which it does; so the farther a target is out of reach,
    the more the body goes along.
    """

    def __init__(self, driven: Sequence[Driven]) -> None:
        """Compile bodies that have the same key."""
        super().__init__(driven)
        bodies = [each for each in driven if isinstance(each, BodyPlan)]
        pulls = [[spec.body.pull for spec in body.specs if spec.body] for body in bodies]
        self._pulls = np.array(pulls)
        self._shares = np.array([[spec.influence for spec in body.specs] for body in bodies])
        self._standing = bodies[0].standing
        if self._standing is not None:
            points = [body.standing.points for body in bodies if body.standing is not None]
            self._points = np.array(points)
        parents, limbs = bodies[0].hanging.parents, [body.limbs for body in bodies]
        self._limbs = [LimbSolve(alike, bodies[0].poled) for alike in limbs_alike(limbs, parents)]
        self._is_soft = np.array(bodies[0].priorities) > max(STRENGTHS)
        carries = find_carried(bodies[0].limbs, parents)
        self._is_end = ~carries.any(axis=1)
        # Limbs that grow reach by themselves wherever the body goes, with toes that only turn.
        turns = np.array([chain.only_turns for chain in bodies[0].live_chains])
        grows = np.array([[chain.may_grow for chain in each.live_chains] for each in bodies])
        self._grows = grows & ~(carries & ~turns).any(axis=1)
        self._goes_along = carries | np.eye(len(turns), dtype=np.bool_)
        pairs = [limb for limb in bodies[0].limbs if limb.bends_with_body]
        rows = [(*limb.rows[:2], limb.tip_after, *limb.chains) for limb in pairs]
        self._pairs = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        flips = np.array([[spec.options.use_flip_bend for spec in body.specs] for body in bodies])
        self._ways_to_bend = np.where(flips, -1.0, 1.0)[..., None]

    def _solve(
        self, asked: Asked, places: Places, frames: ChainFrames
    ) -> tuple[ChainPoses, SolvedPoses]:
        """Return the poses that bodies start from, and as solved."""
        posing = replace(self._ask(asked, places, frames), floor=self._floor(asked, places))
        found = self._reach(asked, places, posing.goals, posing.frames, posing.start)
        ends = found.poses.joints[:, frames.hanging.count :]
        lacking, pulls = posing.goals.target_position - ends, self._pulls[asked.rows]
        posing = replace(
            posing,
            goals=replace(posing.goals, target_position=ends + pulls[..., None] * lacking),
        )
        slack = self.settings.tolerance[asked.rows] / places.unit[asked.rows][:, None]
        slack += LENGTHS_AGREE * frames.lengths(found.poses)
        is_short = pulls * np.linalg.norm(lacking, axis=2) > slack
        let_go = (self._grows[asked.rows] & ~is_short) @ self._goes_along
        gives_way = (is_short & ~let_go & asked.is_followed).any(axis=1)
        if posing.floor is not None:
            heights = posing.floor.heights(found.poses.matrices, found.poses.joints)
            gives_way |= (heights < -slack.min(axis=1, keepdims=True)).any(axis=1)
        left = np.flatnonzero(gives_way)
        if left.size:
            some, alone = asked.take(left), found.take(left)
            held = _without(posing.take(left), let_go[left])
            faded = self._fade(some, places, held, alone)
            found = found.put(left, self._give_way(some, places, faded, alone))
        return posing.start, found

    def _floor(self, asked: Asked, places: Places) -> BodyFloor | None:
        """Return the floors of some of the bodies; None where they have none."""
        if self._standing is None or asked.floors is None:
            return None
        points, from_world = self._points[asked.rows], places.from_world[asked.rows]
        return BodyFloor.of(self._standing.rows, points, from_world, asked.floors)

    def _reach(
        self,
        asked: Asked,
        places: Places,
        goals: Goals,
        frames: ChainFrames,
        pose: ChainPoses,
        chosen: Flags | None = None,
        found: SolvedPoses | None = None,
    ) -> SolvedPoses:
        """Return bodies in a pose with limbs solved by themselves, those above first.

        Args:
            asked: What is asked of the bodies.
            places: Where all bodies hang.
            goals: Of all chains of these.
            frames: Theirs.
            pose: Where bones of no limb stay.
            chosen: Whose limbs are solved, by chains, shape (b, E); None for all.
            found: How all have ended before; None for no solve.
        """
        endings = _Endings(asked, frames, found)
        pulls = np.broadcast_to(np.asarray(goals.weight) > 0.0, goals.target_position.shape[:2])
        is_chosen = np.tile(asked.is_followed, (len(asked.rows), 1))
        if chosen is not None:
            is_chosen &= chosen
        rotations, heads = pose.rotations.copy(), pose.joints[:, 0].copy()
        scale, slides = pose.scale.copy(), None if pose.slides is None else pose.slides.copy()
        for solve in self._limbs:
            carries = False
            for limb, rows, alone in solve.posed(asked, places, pose, is_chosen):
                chains = list(limb.chains)
                own = rows[:, None], limb.rows
                rotations[own] = alone.rotations
                if alone.scale is not None:
                    scale[own] = alone.scale
                if slides is not None and alone.slides is not None:
                    slides[own] = alone.slides
                if limb.above < 0:
                    # The limb of the root brings all of the body along.
                    ends = heads[rows, None] + alone.ends
                    heads[rows] += (goals.target_position[rows][:, chains] - ends).mean(axis=1)
                carries |= not self._is_end[chains].all()
                endings.note(limb, rows, alone, pulls[rows][:, chains])
            if carries:
                pose = frames.rooted(heads).posed(rotations, scale, slides)
        pose = frames.rooted(heads).posed(rotations, scale, slides)
        return SolvedPoses(endings.solutions(pose), pose, endings.tip_gaps)

    def _fade(self, asked: Asked, places: Places, posing: Posing, alone: SolvedPoses) -> Posing:
        """Return bodies of which chains with less influence are asked for less.

        That is their share of the way from where they are in bodies without them: so a body
        changes steadily as one of its chains fades in or out, pinned or not.
        """
        share, goals = self._shares[asked.rows], posing.goals
        fades = (share > 0.0) & (share < 1.0) & asked.is_followed
        if not fades.any():
            return posing
        weight, without = np.where(fades, 0.0, goals.weight), alone.poses
        others = np.flatnonzero((weight > 0.0).any(axis=1))
        if others.size:
            rest = replace(posing, goals=replace(goals, weight=weight)).take(others)
            given = self._give_way(asked.take(others), places, rest, alone.take(others))
            without = without.put(others, given.poses)
        share, targets = np.where(fades, share, 1.0)[..., None], goals.target_position
        ends = without.joints[:, posing.frames.hanging.count :]
        targets = np.where(fades[..., None], ends + share * (targets - ends), targets)
        tips = posing.tips
        if tips is not None:
            tips = tips.nearer_to(posing.frames, without, share[:, list(tips.chains), 0])
        return replace(posing, goals=replace(goals, target_position=targets), tips=tips)

    def _give_way(
        self, asked: Asked, places: Places, posing: Posing, alone: SolvedPoses
    ) -> SolvedPoses:
        """Return the poses nearest to those of limbs by themselves in which all goals are met.

        As far as they can be, in the order of their priorities. Limbs that carry no others then
        reach by themselves if the body was to bring them only part of the way, or pull softly.
        """
        assert self._joints is not None
        joints = self._joints.take(asked.rows)
        nearby = replace(posing, near=alone.poses)
        if self.settings.like.stretches or posing.frames.slide is not None:
            poses, start = alone.poses, posing.start
            grown = posing.frames.posed(start.rotations, poses.scale, poses.slides)
            nearby = replace(nearby, start=grown, chains=None)
        found = solve_with_joints(nearby, joints, None)
        found = self._unfold(posing.frames, found, asked.rows)
        found = turn_tips(nearby, found, None if self.settings.joints is None else joints)
        codes, is_partial = found.solutions.status_code, self._pulls[asked.rows] < 1.0
        is_short = codes != REACHED
        # What has arrived has arrived at its share of the way.
        codes = np.where(is_partial & ~self._is_end & ~is_short, BLENDED, codes)
        found = replace(found, solutions=replace(found.solutions, status_code=codes))
        alone_after = is_partial | (self._is_soft & is_short)
        alone_after &= self._is_end
        alone_after |= self._grows[asked.rows] @ self._goes_along
        if not (alone_after & asked.is_followed).any():
            return found
        frames = posing.frames.rooted(found.poses.joints[:, 0])
        after = self._reach(asked, places, posing.goals, frames, found.poses, alone_after, found)
        if posing.floor is None:
            return after
        # By themselves limbs know of no floor.
        before, now = (
            posing.floor.heights(each.poses.matrices, each.poses.joints) for each in (found, after)
        )
        slack = LENGTHS_AGREE * frames.lengths(found.poses).max(axis=1, keepdims=True)
        stay = np.flatnonzero((now < np.minimum(before, 0.0) - slack).any(axis=1))
        return after.put(stay, found.take(stay))

    def _unfold(self, frames: ChainFrames, found: SolvedPoses, rows: Indices) -> SolvedPoses:
        """Return bodies whose nearly straight limbs of two bones bend to the sides of these.

        A body knows of no sides: what it pulls straight it leaves bent by a hair to any of them,
        and whatever starts from that pose would take it for a bend.

        Args:
            frames: Of the bodies.
            found: As solved.
            rows: Which bodies these are, shape (b,).
        """
        if not self._pairs.size:
            return found
        pose, levers, (first, second, after, chains) = found.poses, self._levers[rows], self._pairs
        # Whatever else they carry.
        is_last = (after < 0)[:, None]
        levers[:, first] = frames.ways[:, second]
        levers[:, second] = np.where(is_last, frames.ends[:, chains], frames.ways[:, after])
        wanted = transform_direction(pose.matrices[:, : frames.hanging.count], levers)
        side = transform_direction(pose.matrices[:, first], frames.hints[:, chains])
        side *= self._ways_to_bend[rows][:, chains] * frames.is_bent[:, chains, None]
        bent = bent_to(wanted[:, first], wanted[:, second], side)
        if bent is None:
            return found
        wanted[:, first], wanted[:, second] = bent
        kept = np.ones(frames.hanging.count, dtype=np.bool_)
        kept[[*first, *second]] = False
        unfolded = frames.rooted(pose.joints[:, 0]).pointed(pose, pose, levers, wanted, kept)
        return replace(found, poses=unfolded)


def _without(posing: Posing, let_go: Flags) -> Posing:
    """Return bodies which some of their chains (b, E) neither pull nor hold; floors hold all."""
    weight = np.where(let_go, 0.0, posing.goals.weight)
    if posing.floor is not None or not let_go.any() or not weight.any(axis=1).all():
        return posing
    return replace(posing, goals=replace(posing.goals, weight=weight))


class _Endings:
    """How the limbs of b bodies have ended by themselves."""

    def __init__(self, asked: Asked, frames: ChainFrames, found: SolvedPoses | None) -> None:
        count, chains = len(asked.rows), len(asked.is_followed)
        self._forces: Array | None = np.zeros((count, chains + 1))
        self._codes = np.full((count, chains), REACHED)
        self._residuals, self.tip_gaps = np.zeros((2, count, chains))
        self._used = np.zeros(count, dtype=np.int64)
        self._holds = np.zeros((count, frames.hanging.count, 3), dtype=np.bool_)
        if found is not None:
            before, self.tip_gaps = found.solutions, found.tip_gaps.copy()
            self._codes, self._residuals = before.status_code.copy(), before.residual.copy()
            self._used = np.array(before.iterations)
            self._holds, self._forces = before.holds.copy(), before.forces

    def note(self, limb: BodyLimb, rows: Indices, found: LimbPoses, pulls: Flags) -> None:
        """Note how a limb of some of the bodies has ended, whose chains pulled at these or not."""
        chains = rows[:, None], limb.chains
        # What the body could not bring all the way is still held back by what holds the body.
        before, own = self._codes[chains], found.codes
        self._codes[chains] = np.where(pulls & (before != REACHED) & (own != REACHED), before, own)
        self._residuals[chains], self.tip_gaps[chains] = found.residuals, found.tip_gaps
        self._used[rows] += found.used
        if found.holds is not None:
            bones = limb.rows[: found.holds.shape[1]]
            inside = bones < self._holds.shape[1]
            self._holds[rows[:, None], bones[inside]] = found.holds[:, inside]

    def solutions(self, pose: ChainPoses) -> Solutions:
        """Return this as a solve of the bodies tells it."""
        count, rotations = len(self._used), pose.rotations[:, : self._holds.shape[1]]
        return Solutions(
            joint_positions=pose.joints,
            chain_rotation_wxyz=np.tile((1.0, 0.0, 0.0, 0.0), (count, 1)),
            tip_rotation_wxyz=None,
            residual=self._residuals,
            iterations=self._used,
            status_code=self._codes,
            local_rotations_wxyz=rotation.quaternion_from_matrix(rotations),
            slides=np.zeros(self._holds.shape[:2]),
            holds=self._holds,
            tip_gap=self.tip_gaps,
            forces=self._forces,
        )
