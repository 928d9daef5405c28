"""The problem of chains and trees with joints, and the steps toward targets and aims."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.arrays import MIN_LENGTH, norm
from ..algebra.chains_first import apply, chains_first
from ..algebra.nested import Rows, are_all
from ..descent.near_edges import NearEdges
from ..kinematics.aims import Aims
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.limit_edges import ON_EDGE
from ..kinematics.posed import State
from ..kinematics.reach import REACH_TOLERANCE
from ..kinematics.swing_twist import MIN_SWING_COSINE
from ..solvers import newton_joints
from ..solvers.newton_directions import FIRST_DAMPING
from ..solvers.weighted_least_squares import compromise
from .bend_starts import lay_on_line
from .iteration import Method, Work, is_stalled, iterate_states, make_stall_test

# Weights of a radian of orientation, or of the bend's side, beside the chain's length: first one
# that leads there quickly, then one so small that the position hardly gives way where both cannot
# be met. The position is then solved again, alone.
AIM_WEIGHTS = (0.1, 0.003)
# Tolerance of aims, in radians.
AIM_TOLERANCE = 1e-5
# Iterations for aims with each weight; aims that cannot be met end in a compromise.
MAX_AIM_ITERATIONS = (16, 30)
# Further steps with the curvature of turns of tips. With one weight alone a hundredth more is left.
MAX_TIP_TURN_STEPS = (30, 8)
# Iterations of NEWTON from one start: what it has not finished by then it will not finish.
MAX_NEWTON_ITERATIONS = 60
# Steps for the compromise of several effectors.
MAX_COMPROMISE_STEPS = 150
# Share of the reach: a pose that is nearer than this has arrived, and no restart is tried.
ARRIVAL_TOLERANCE = 1e-7
# Share of the reach: of two poses that do not arrive, a new one has to be nearer by this to replace
# the present one. With less, poses would jump.
MIN_RESTART_GAIN = 0.01
# Share of the reach that a pose has to gain where chains start from their own last pose. Ten times
# more, and chains at their limits follow slow targets in visible steps; ten times less, and
# iterations that creep along limits go on at each solve.
MIN_MOVE_GAIN = 1e-5
# Share of the error, and iterations: NEWTON takes off a tenth of the errors within a few
# iterations, near full reach too. Of a hundred targets within reach one to three take longer.
# Errors that fall more slowly are left to a few steps with the curvature of the effectors' paths.
SLOW_ERROR_SHARE, SLOW_WINDOW = 0.9, 4
# Distance to an edge of a range, in radians or sines: a nearer joint is held by the edge. Springs
# may leave it a little inside, and rounding must not decide.
HOLDING_TOLERANCE = 1e-5
# Share of the greatest possible pull: a pose that a weaker one would move counts as the nearest.
# Ten iterations leave up to 0.025 where limits hold a chain back, and from 0.07 where they do not.
STATIONARY_PULL = 0.04
# Share of the reach: an effector that is no farther from the axis of its bone is on it. Rest axes
# in float32 are off by less.
OFF_AXIS = 1e-6


NEWTON = Method(
    newton_joints.step,
    is_damped=True,
    stop_test=make_stall_test(SLOW_ERROR_SHARE),
    window=SLOW_WINDOW,
    compaction=0.4,
)
AIMING = Method(newton_joints.step, is_damped=True, stop_test=is_stalled, compaction=0.4)
# Turns of tips that limits do not allow are left to steps with their curvature. Where these find
# another pose than NEWTON, poses jump, so they come late.
TURNING = replace(AIMING, stop_test=NEWTON.stop_test, window=NEWTON.window)


class Holds(NamedTuple):
    """What pulls toward targets press against; nothing at targets.

    Attributes:
        edges: Edges of ranges, shape (B, n, 3).
        slides: Ends of slides, shape (n, B), None if none slides.
        is_stationary: Whether no turn or slide left by these brings effectors nearer, shape (B,).
    """

    edges: Flags
    slides: Flags | None
    is_stationary: Flags


@dataclass(frozen=True)
class Run(Rows):
    """The problem of B chains or trees.

    Attributes:
        tree: The chains or trees, without aims.
        start: Their start poses, inside of their ranges.
        target: Targets of the first rows of the output, shape (3 E, B).
        tolerance: Tolerance of the norm of all errors, shape (B,).
        iterations: Caps, shape (B,).
        least_error: Lower bound of the error, by lengths and ranges of the bones, shape (B,).
        is_chain: Whether a single target is all there is; otherwise the weighted errors are
            minimised if not all targets can be met.
        aims: Poles and tip rotations to aim at, or None.
        is_alone: Whether all rows are the same chain or tree with the same goal.
    """

    tree: KinematicTree
    start: State
    target: Array
    tolerance: Array
    iterations: Counts
    least_error: Array
    is_chain: bool
    aims: Aims | None = None
    is_alone: bool = False

    def take_capped(self, rows: Counts, iterations: Counts | int) -> Run:
        """Return the run of some chains, which may be repeated, with other caps."""
        chosen = self if are_all(rows, len(self.iterations)) else self.take(rows)
        return replace(chosen, iterations=np.full(len(rows), iterations))

    @property
    def accepted(self) -> Array:
        """Errors below which no restart is tried, shape (B,)."""
        return np.maximum(self.tolerance, ARRIVAL_TOLERANCE * self.tree.reach)

    @property
    def is_folded(self) -> Flags:
        """Which targets are as near as ranges let chains of one pair come, shape (B,)."""
        if not self.is_chain or self.tree.limited is None:
            return np.zeros(len(self.iterations), dtype=np.bool_)
        nearest = self.tree.limited.nearest
        is_folded: Flags = norm(self.target[:3]) <= nearest * (1.0 + REACH_TOLERANCE)
        return is_folded & (nearest > 0.0)

    @property
    def is_extreme(self) -> Flags:
        """Which targets are as far, or as near, as ranges let chains come, shape (B,)."""
        if not self.is_chain:
            return np.zeros(len(self.iterations), dtype=np.bool_)
        farthest = self.tree.farthest * (1.0 - REACH_TOLERANCE)
        return self.is_folded | (norm(self.target[:3]) >= farthest)

    def find_errors(self, state: State) -> Array:
        """Return the norms of weighted distances of all effectors to targets, shape (B,)."""
        return norm(self.target - state.output[: len(self.target)])

    def is_open(self, state: State) -> Flags:
        """Return which chains or trees are not at their targets, shape (B,)."""
        is_open: Flags = self.find_errors(state) > self.accepted
        return is_open

    def find_open_effectors(self, state: State) -> Flags:
        """Return which effectors are not at their targets, shape (E, B)."""
        gaps = norm(self.tree.unweigh(self.target) - state.posed.tips)
        is_open: Flags = gaps > self.accepted
        return is_open

    def find_holds(self, state: State) -> Holds:
        """Return which edges and ends of slides pulls toward targets press against."""
        tree, joints, slide = self.tree, self.tree.joints, state.slide
        posed, is_open = state.posed, self.find_open_effectors(state)
        count, stopped = slide.shape[-1], None
        pressed: Flags = np.zeros((count, len(slide), 3), dtype=np.bool_)
        if not is_open.any():
            is_at_end = None if tree.slide_axes is None else np.zeros_like(slide, dtype=np.bool_)
            return Holds(pressed, is_at_end, np.ones(count, dtype=np.bool_))
        error = (tree.unweigh(self.target) - posed.tips) * is_open[:, None]
        jacobian, weighted = tree.find_jacobian(posed), tree.weigh(error)
        pull = np.einsum("nkcb,kb->bnc", jacobian, weighted)
        edges = NearEdges(joints.rows, chains_first(state.turn), HOLDING_TOLERANCE)
        move = apply(edges.free, pull)
        if edges.has_any:
            pressed = edges.is_near & (apply(edges.normals, move) > 0.0)
            move = apply(edges.hold(pressed), pull)
        left = np.square(move).sum(axis=(1, 2))
        if tree.slide_axes is not None:
            pull_along = np.einsum("nib,ib->nb", tree.slide_effects(posed), error[0])
            stopped = (pull_along > 0.0) & (slide >= joints.slide_high - ON_EDGE)
            stopped |= (pull_along < 0.0) & (slide <= joints.slide_low + ON_EDGE)
            left = left + np.square(np.where(stopped, 0.0, pull_along)).sum(axis=0)
            stopped &= joints.slide_high > joints.slide_low
        most = np.square(jacobian).sum(axis=(0, 1, 2)) * np.square(weighted).sum(axis=0)
        return Holds(pressed, stopped, left <= STATIONARY_PULL**2 * most)

    def find_angles_past(self, state: State) -> Array:
        """Return by how many radians limbs and tips are past their aims, shape (B,).

        Count only aims that another start may improve.
        """
        past: Array = np.zeros(len(self.iterations))
        if self.aims is None:
            return past
        posed = state.posed
        if self.aims.poles is not None and self.tree.can_swivel:
            past = np.abs(self.aims.poles.find_pole_errors(posed)).max(axis=0)
        if self.aims.tips is not None and self.tree.has_only_hinges:
            past = np.maximum(past, norm(self.aims.tips.find_rotation_errors(posed)).max(axis=0))
        return past

    def can_come_nearer(self, state: State, share: float = MIN_RESTART_GAIN) -> Flags:
        """Return which chains may arrive, or come nearer by a share of the reach, shape (B,).

        If the target of one of several effectors is out of reach, no other start arrives.
        """
        can: Flags = self.least_error <= self.accepted
        if self.is_chain:
            excess = self.find_errors(state) - self.least_error
            can = can | (excess > share * self.tree.reach)
        return can

    def close(self, state: State, used: Counts, flags: Flags | None = None) -> tuple[State, Counts]:
        """Bring effectors to their targets with NEWTON, as far as the caps allow.

        Args:
            state: Present state of the joints.
            used: Iterations used, shape (B,).
            flags: Rows to solve, shape (B,); by default those that have not arrived.
        """
        flags = self.is_open(state) if flags is None else flags
        if not flags.any():
            return state, used
        state, is_straight = self.lay_at_ends(state, flags)
        flags = flags & ~is_straight
        caps = np.where(flags, np.minimum(self.iterations, used + MAX_NEWTON_ITERATIONS), used)
        work = Work(self.tree, self.target, self.tolerance, caps)
        return iterate_states(NEWTON, work, state, used, np.full(len(used), FIRST_DAMPING))

    def lay_at_ends(
        self, state: State, flags: Flags, aims: Aims | None = None
    ) -> tuple[State, Flags]:
        """Return flagged chains as straight as ranges allow if their targets are that far away.

        NEWTON halves what is left of a bend at each step there. Chains of one pair fold likewise.

        Args:
            state: Present state of the joints.
            flags: Chains to lay, shape (B,).
            aims: The pole, or the goal rotation of the tip, that chains twist to, or None.

        Returns:
            The states, and which lie on their lines and are twisted, shape (B,).
        """
        flags = flags & self.is_extreme
        if not flags.any():
            return state, flags
        line = self.target / np.maximum(norm(self.target), MIN_LENGTH)
        straight = lay_on_line(self.tree, state, line, self.is_folded, aims)
        # Stiff joints share out a bend, and a twist, in another way.
        is_mobile = (self.tree.joints.mobility == 1.0).all(axis=(0, 1))
        limited, tolerance = self.tree.limited, self.tolerance
        if limited is not None:
            tolerance = np.where(limited.is_bent(self.is_folded), self.accepted, tolerance)
        flags = flags & is_mobile & (self.find_errors(straight) <= tolerance)
        if aims is not None:
            # If limits stop a twist, others may go on where each joint turns by another angle.
            flags = flags & (np.abs(aims.find_twist(straight.posed, line)) <= AIM_TOLERANCE)
        return straight.choose(flags, state), flags

    def minimise_errors(
        self, state: State, used: Counts, flags: Flags | None = None, aims: Aims | None = None
    ) -> tuple[State, Counts]:
        """Minimise the sum of squared weighted errors of effectors that have not arrived.

        Args:
            state: Present state of the joints.
            used: Iterations used, shape (B,).
            flags: Rows to solve, shape (B,); by default those that have not arrived.
            aims: Aims that choose among poses of equal errors.
        """
        is_open = self.is_open(state) if flags is None else flags
        if not is_open.any():
            return state, used
        if self.tree.slide_axes is not None:
            # The curvature of slides is not known.
            return self.close(state, used, flags)
        caps = np.clip(self.iterations - used, 0, MAX_COMPROMISE_STEPS)
        caps = np.where(is_open, caps, 0)
        tree, target = self.tree, self.target
        if aims is not None:
            tree = replace(tree, aims=replace(aims, weight=AIM_WEIGHTS[-1] * tree.reach))
            target = np.concatenate((target, np.zeros((aims.row_count, target.shape[-1]))))
        inputs = target, self.tolerance, caps
        result, steps = compromise(tree, state, *inputs, is_alone=self.is_alone)
        turn = np.where(self.is_open(result), self.keep_roll(result.turn, state.turn), result.turn)
        result = self.tree.make_state(turn, result.slide)
        return result.choose(steps > 0, state), used + steps

    def keep_roll(self, turn: Array, start: Array) -> Array:
        """Return turns (n, 4, B) with the last bones of chains rolled as in ``start``.

        A roll about its own axis moves no effector, so nothing else would keep it still.
        """
        if not self.is_chain or (self.aims is not None and self.aims.tips is not None):
            return turn
        across = np.abs(self.tree.ends[0, ::2]).max(axis=0)
        last = self.tree.topology.effector_bones[0]
        w, _, y, _ = turn[last]
        start_w, _, start_y, _ = start[last]
        size = np.hypot(w, y) * np.hypot(start_w, start_y)
        has_roll = (size > MIN_SWING_COSINE) & (across <= OFF_AXIS * self.tree.reach)
        back = np.where(has_roll, (w * start_w + y * start_y) / np.where(has_roll, size, 1.0), 1.0)
        side = np.where(has_roll, (w * start_y - y * start_w) / np.where(has_roll, size, 1.0), 0.0)
        rolled, zero = turn.copy(), np.zeros_like(back)
        rolled[last] = turns.multiply(turn[last], np.array((back, zero, side, zero)))
        return rolled

    def come_nearest(self, state: State, used: Counts, flags: Flags) -> tuple[State, Counts]:
        """Bring flagged chains as near to their targets as they get; aims choose among these poses.

        Args and results are those of ``minimise_errors``.
        """
        return self.minimise_errors(state, used, flags, self.aims if self.is_chain else None)

    def aim(
        self, state: State, used: Counts, is_off_target: Flags | bool = True
    ) -> tuple[State, Counts]:
        """Meet positions and aims together as far as possible, then the positions alone.

        Positions have priority: if aims lead a chain to a pose that does not arrive, drop them.

        Args:
            state: Present state of the joints.
            used: Iterations used, shape (B,).
            is_off_target: Which were not at their targets already, shape (B,). The first weight
                would move the others away from the best pose of an earlier solve.
        """
        start, aims, is_straight = state, self.aims, np.zeros(len(used), dtype=np.bool_)
        if aims is None:
            return state, used
        tree, limited = self.tree, self.tree.limited
        can_face = aims.poles is not None and not self.is_chain
        if can_face:
            state = self._face_poles(aims, state)
        if aims.poles is None:
            state, is_straight = self.lay_at_ends(state, ~is_straight, aims)
        elif aims.tips is None and limited is not None:
            # A pair that is bent rolls as a whole; longer chains share out their roll.
            is_bent = limited.is_bent(self.is_folded)
            state, is_straight = self.lay_at_ends(state, is_bent, aims)
        is_aimed = ~is_straight & is_off_target, ~is_straight
        state, used = self._turn_to_aims(aims, state, used, is_aimed)
        aimed, used = self.close(tree.restate(state), used)
        aimed, _ = self.lay_at_ends(aimed, self.find_errors(aimed) > self.tolerance)
        if can_face:
            aimed, used = self._face_at_targets(aims, aimed, used)
        is_lost = self.is_open(aimed)
        if not is_lost.any():
            return aimed, used
        without_aims, used = self.close(start.choose(is_lost, aimed), used)
        # That several goals cannot be met is no reason to drop the aims.
        margin = 0.0 if self.is_chain else MIN_RESTART_GAIN * tree.reach
        nearer = self.find_errors(without_aims) + margin < self.find_errors(aimed)
        return without_aims.choose(nearer | (is_lost & ~self.is_open(without_aims)), aimed), used

    def _face_poles(self, aims: Aims, state: State) -> State:
        """Return trees with each limb turned as a whole to its pole.

        There may be no continuous way from the wrong side of a limb to the right one.
        """
        assert aims.poles is not None
        return self.tree.clamp_state(aims.poles.face_poles(state.posed, state.turn))

    def _face_at_targets(self, aims: Aims, state: State, used: Counts) -> tuple[State, Counts]:
        """Return trees that face their poles better where they are at their targets.

        NEWTON moves effectors and aims together, so it may end far from a pole. At its target a
        limb faces its pole without moving its effector, unless limits stop it.
        """
        flags = ~self.is_open(state)
        if not flags.any():
            return state, used
        merit = self.find_aim_merit(state)
        flags &= merit > AIM_TOLERANCE * AIM_WEIGHTS[-1] * self.tree.reach
        if not flags.any():
            return state, used
        faced = self._face_poles(aims, state)
        faced, used = self._turn_to_aims(aims, faced, used, (flags, flags))
        faced, used = self.close(self.tree.restate(faced), used)
        is_better = flags & ~self.is_open(faced) & (self.find_aim_merit(faced) < merit)
        return faced.choose(is_better, state), used

    def find_aim_merit(self, state: State) -> Array:
        """Return the norms of the weighted angles to all aims, shape (B,); zero without aims."""
        if self.aims is None:
            return np.zeros(len(self.iterations))
        aims = replace(self.aims, weight=AIM_WEIGHTS[-1] * self.tree.reach)
        return norm(aims.find_output(state.posed))

    def _turn_to_aims(
        self, aims: Aims, state: State, used: Counts, is_aimed: tuple[Flags, Flags]
    ) -> tuple[State, Counts]:
        """Return states that meet positions and aims, by both weights; flags (B,) for each."""
        tree, is_unmet = self.tree, np.ones(len(used), dtype=np.bool_)
        target = np.concatenate((self.target, np.zeros((aims.row_count, len(used)))))
        damping, is_curved = np.full(len(used), FIRST_DAMPING), ~is_unmet
        # Near the greatest reach each step halves what is left: chains are laid out afterwards.
        position_tolerance = np.where(self.is_extreme, self.accepted, self.tolerance)
        # The curvature of slides is not known.
        turns_tips = aims.tips is not None and tree.slide_axes is None
        method = TURNING if turns_tips else AIMING
        rounds = zip(AIM_WEIGHTS, is_aimed, MAX_AIM_ITERATIONS, MAX_TIP_TURN_STEPS, strict=True)
        for weight, flags, *most in rounds:
            # A chain that has met all goals with one weight has met them with any.
            flags = flags & is_unmet
            aiming = replace(tree, aims=replace(aims, weight=weight * tree.reach))
            tolerance = np.minimum(position_tolerance, AIM_TOLERANCE * weight * tree.reach)
            # Where steps with curvature have met no goals, NEWTON stalls again.
            is_first = flags & ~is_curved
            caps = np.where(is_first, np.minimum(self.iterations, used + most[0]), used)
            work, restated = Work(aiming, target, tolerance, caps), aiming.restate(state)
            state, used = iterate_states(method, work, restated, used, damping)
            is_unmet = norm(target - state.output[: len(target)]) > tolerance
            if turns_tips and (is_curved := flags & is_unmet).any():
                caps = np.clip(self.iterations - used, 0, most[1] * is_curved)
                inputs = target, tolerance, caps
                result, steps = compromise(aiming, state, *inputs, is_alone=self.is_alone)
                state, used = result.choose(steps > 0, state), used + steps
                is_unmet = norm(target - state.output[: len(target)]) > tolerance
            if not (is_unmet & is_aimed[-1]).any():
                break
        return state, used
