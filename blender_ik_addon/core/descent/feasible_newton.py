"""Newton's method on any energy of poses, with held outputs and active limits.

A step turns joints only in ways that leave held outputs and active edges of ranges where they are.
The energy's curvature is reduced to those turns, shifted until it is positive definite, and solved.
Then the outputs are restored, and the step is accepted if the merit has fallen. Chains come first,
as in ``algebra.chains_first``.

Source: sequential quadratic programming (Nocedal and Wright, "Numerical Optimization", 2006,
chapter 18); the restoration of the outputs and the escape from ridges are derived for this project
and tested against SciPy's SLSQP in tests/core/equilibrium/test_force_equilibrium.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.chains_first import apply, chains_first, chains_last, choose_first, measure
from ..algebra.nested import take_rows, transform_leaves
from ..kinematics.kinematic_tree import KinematicTree
from .bone_rows import BoneRows
from .constrained_step import MAX_SHIFT, ActiveSet, ConstrainedStep, make_empty
from .descent_settings import DescentSettings, EnergyAtPose
from .held_outputs import NO_ENERGY, HeldOutputs
from .near_edges import NearEdges
from .output_correction import restore_outputs
from .planned_step import PlannedStep
from .posed_rows import PosedRows

# Damping. A rejected step is repeated with its shift multiplied by the first, and with at least the
# second. An accepted step multiplies the next shift by the third.
SHIFT_GROWTH, MIN_RAISED_SHIFT, SHIFT_DECAY = 8.0, 1e-3, 0.1
# An accepted step that saves less than the first share of its predicted gain multiplies the next
# shift by the second instead.
GOOD_RATIO, SLOW_DECAY = 0.5, 0.5
# Trust region: multiples of the length of the last step that bound the next one, after an accepted
# and after a rejected step. Along curved valleys a shift alone makes steps too short, then too
# long. With half, more steps are rejected; with an eighth, more steps are needed.
RADIUS_GROWTH, RADIUS_DECAY = 2.0, 0.25
# A shifted step is shorter than the way left: its size and gain count 1 + this * shift times.
SHIFT_CORRECTION = 1e3
# Largest count of corrections after a step, and their tolerance as a share of the reach.
MAX_CORRECTIONS, HELD_TOLERANCE = 3, 1e-11
# Largest turn of a joint in a step that leaves a ridge, in radians.
ESCAPE = 0.2
# Rounding error of a comparison of energies, as a share of them.
ENERGY_ROUNDING = 1e-13
# A tree rests if a step would save no more than this share of the energy. With a hundred times
# more, trees in flat valleys stop short of the end that their mirror images come to.
MIN_GAIN = 1e-15
# A strict step is rejected if outputs are off by more than the first times the tolerance of its
# correction, and by more than the second as a share of the reach. The next step restores a smaller
# violation; with a hundredth, steps along ranges are halved.
DRIFT_RATIO, DRIFT_SHARE = 10.0, 1e-4
# Early stop: the count of steps in which outputs that can be held are nearly held; the violation
# that this means, as a share of the reach, from which the last step restores them completely; the
# shift beyond which a step leads nowhere.
MAX_STEPS_TO_HOLD, NEARLY_HELD_SHARE, MAX_SHIFT_TO_HOLD = 20, 1e-4, 10.0
# A force this many times as great as what turns the stiffest joint by a radian holds nothing: it
# grows from one step to the next.
MAX_FORCE_RATIO = 1e8
# Poles and limits lead into corners, where shifts are greater than the first. There the share of
# the energy at which a descent has stalled is multiplied by the second.
CORNER_SHIFT, CORNER_STALL = 1.0, 1e4
# Weight of the residual of held outputs in the merit, in multiples of the force on them. With a
# quarter, steps are accepted from which limits let no output return.
PENALTY_FACTOR = 4.0
# Springs may enter or leave their slack within a step: the step is computed at most this often.
MAX_SPRING_PASSES = 2
# Near full extension a descent may go round in a circle: out of the line, which saves energy, and
# back, to restore the outputs. So it ends after so many steps without a saving, once the first
# point is restored up to this share of the reach, or else after three times as many. With a third
# of the steps, slow descents along curved valleys end too soon.
MAX_IDLE_STEPS, RESTORED_SHARE = 10, 1e-7
# It goes on if these steps have made headway after all: if they have saved this share of the energy
# from one restored pose to the next, or have left less than this share of the violation.
MIN_WINDOW_SAVING, MAX_VIOLATION_LEFT = 1e-5, 0.9
# Share of finished rows at which they leave the arrays; up to the second count all rows stay.
COMPACTION, MIN_COMPACTED = 0.4, 16


class DescentResult(NamedTuple):
    """The poses of B trees after a descent.

    Attributes:
        turn: Turns of the joints, shape (n, 4, B).
        used: Count of steps, shape (B,).
        place: Movement of the first bones, in lengths of the reach, shape (3, B); None where none
            floats.
        force: Force on the held outputs, shape (k, B).
        first_turn: The turns after the first step.
        first_place: The place after the first step.
        energy: Energy of the poses, shape (B,).
    """

    turn: Array
    used: Counts
    place: Array | None
    force: Array
    first_turn: Array
    first_place: Array | None
    energy: Array


def minimise(
    settings: DescentSettings,
    tree: KinematicTree,
    turn: Array,
    slide: Array,
    loads: Any,
    target: Array,
    caps: Counts,
    *,
    is_alone: bool = False,
) -> DescentResult:
    """Return the poses of a local minimum of the energy, from the given ones.

    Args:
        settings: The energy, the tolerances and the held outputs.
        tree: The trees.
        turn: Turns of the joints, shape (n, 4, B).
        slide: Slides of the bones, shape (n, B).
        loads: What acts on the trees, as the settings' measure takes it.
        target: Targets of the held outputs, shape (k, B).
        caps: Largest count of steps, shape (B,).
        is_alone: Whether all rows are one tree: equal starts are solved once.
    """
    if is_alone:
        rows, equal = _find_equal(turn, slide, target, caps[None])
        inputs = take_rows((tree, turn, slide, loads, target, caps), rows)
        return take_rows(minimise(settings, *inputs), equal)
    turn, rows = chains_first(turn), np.flatnonzero(caps > 0)
    used, count, width = np.zeros_like(caps), len(caps), len(target)
    active, place = make_empty(turn, width), np.zeros((count, 3)) if tree.topology.floats else None
    zero, inf = np.zeros(count), np.full(count, np.inf)
    steps = _IdleSteps(inf, np.zeros_like(caps), inf, inf)
    state = _DescentState(turn, zero, inf, inf, inf, steps, used, active, place, turn, place, inf)
    while rows.size:
        problem = (tree, loads, target, slide, caps)
        start = state
        if rows.size < count:
            problem, start = take_rows(problem, rows), _take_rows(state, rows)
        is_open, end = _NewtonDescent(settings, *problem).run(start)
        state = end if rows.size == count else _replace_rows(state, rows, end)
        rows = rows[is_open]
    poses = state.turn, state.place, state.first_turn, state.first_place
    turn, place, first_turn, first_place = transform_leaves(chains_last, poses)
    force = chains_last(state.active.force)
    return DescentResult(turn, state.used, place, force, first_turn, first_place, state.energy)


def _find_equal(*arrays: Array | Counts) -> tuple[Counts, Counts]:
    """Return the first of all equal rows (..., B), and for each row the number of its equal.

    A single chain is solved as two rows, as NumPy rounds one row differently from several; here
    each chain is computed by itself.
    """
    firsts: dict[bytes, int] = {}
    table = np.concatenate([array.reshape(-1, array.shape[-1]) for array in arrays]).T
    numbers = [firsts.setdefault(row.tobytes(), len(firsts)) for row in table]
    equal = np.array(numbers)
    return np.unique(equal, return_index=True)[1], equal


class _IdleSteps(NamedTuple):
    """The steps of B trees that have saved no energy.

    Attributes:
        lowest: Lowest energy of poses whose outputs were nearly held, shape (B,).
        steps: Count of steps since then, shape (B,).
        energy: Energy where the steps were last counted from zero, if outputs were restored there.
        violation: Violation of the outputs there, shape (B,).
    """

    lowest: Array
    steps: Counts
    energy: Array
    violation: Array


class _DescentState(NamedTuple):
    """The state of a descent between two steps, chains first.

    Attributes:
        turn: Turns of the joints, shape (B, n, 4).
        shift: Damping of the next step, compared with the stiffest joint, shape (B,).
        radius: Largest turn of a joint in the next step, in radians, shape (B,).
        last_size: Size of the step before, as ``PlannedStep.size``, shape (B,).
        scale: Smallest value so far of the stiffness of the stiffest joint, shape (B,): forces on
            joints make them seem stiffer.
        idle: The steps without a saving.
        used: Count of steps, shape (B,).
        active: Active set of the step before.
        place: As ``PosedRows.place``.
        first_turn: The turns after the first step.
        first_place: The place after the first step.
        energy: Energy of the poses, shape (B,).
    """

    turn: Array
    shift: Array
    radius: Array
    last_size: Array
    scale: Array
    idle: _IdleSteps
    used: Counts
    active: ActiveSet
    place: Array | None
    first_turn: Array
    first_place: Array | None
    energy: Array


def _take_rows(state: _DescentState, rows: Counts) -> _DescentState:
    taken: _DescentState = transform_leaves(lambda part: part[rows], state)
    return taken


def _replace_rows(state: _DescentState, rows: Counts, some: _DescentState) -> _DescentState:
    def replaced(whole: Array, part: Array) -> Array:
        result = whole.copy()
        result[rows] = part
        return result

    whole: _DescentState = transform_leaves(replaced, state, some)
    return whole


class _Iterate(NamedTuple):
    """B poses: energy, outputs (B, rows), residual (B, k) of held outputs, and its length (B,)."""

    posed: PosedRows
    at: EnergyAtPose
    output: Array
    residual: Array
    violation: Array


class _NewtonDescent:
    """The descent of some trees, until enough of them are finished."""

    def __init__(
        self,
        settings: DescentSettings,
        tree: KinematicTree,
        loads: Any,
        target: Array,
        slide: Array,
        caps: Counts,
    ) -> None:
        self._settings, self._joints, self._caps = settings, tree.joints, caps
        self._bones, self._target = BoneRows(tree, slide), chains_first(target)
        self._held, self._has_held, rows = settings.held, len(target) > 0, np.arange(tree.row_count)
        self._tracked, held_rows = rows[settings.tracked.plain], rows[self._held.plain]
        both = replace(self._held, plain=np.concatenate((held_rows, self._tracked)))
        # Tracked outputs are corrected once, held outputs until they are restored.
        self._corrections = (both, *(self._held,) * (MAX_CORRECTIONS - 1) * self._has_held)
        self._measure = settings.measure(self._bones, loads)
        self._nearly_held = NEARLY_HELD_SHARE * tree.reach

    def run(self, start: _DescentState) -> tuple[Flags, _DescentState]:
        """Return which trees are not finished, and the state that they have reached."""
        turn, shift, radius, last_size, scale, idle, used, active, place, *_ = start
        first, first_place = start.first_turn, start.first_place
        here = self._evaluate(self._bones.pose(turn, place=place))
        is_open = (used < self._caps) & ~here.at.is_least
        least = (1.0 - COMPACTION) * len(is_open) if len(is_open) > MIN_COMPACTED else 0.0
        while np.count_nonzero(is_open) > least:
            plan = self._plan_step(here, active, shift, radius, is_open)
            trial = self._take_step(here.posed, plan)
            is_better, has_stalled, next_shift = self._judge_step(plan, here, trial, last_size)
            is_better &= is_open
            # A tree at rest takes no step, but its active set and its forces are known.
            is_known = is_better | (is_open & plan.is_at_rest)
            active = choose_first(is_known, plan.step.active, active)
            here = self._choose(is_better, trial, here)
            if not used.any():
                first, first_place = here.posed.turn, here.posed.place
            # The size and the shift of finished trees are not used again.
            used, last_size, shift = used + is_open, plan.size, next_shift
            grown = np.maximum(radius, RADIUS_GROWTH * plan.length)
            radius = np.where(is_better, grown, RADIUS_DECAY * plan.length)
            is_finished = plan.is_at_rest | has_stalled | here.at.is_least
            is_open = is_open & (used < self._caps) & (shift < MAX_SHIFT) & ~is_finished
            if self._has_held:
                scale = np.minimum(scale, plan.step.scale)
                is_open &= measure(plan.step.active.force) <= MAX_FORCE_RATIO * scale
                idle, is_circling = self._count_idle_steps(here, idle)
                is_open &= ~is_circling
            if self._settings.use_early_stop:
                is_early = (shift < MAX_SHIFT_TO_HOLD) & (used < MAX_STEPS_TO_HOLD)
                is_open &= is_early | (here.violation <= self._nearly_held)
        posed, energy = here.posed, here.at.total
        end = posed.turn, shift, radius, last_size, scale, idle, used, active, posed.place
        return is_open, _DescentState(*end, first, first_place, energy)

    def _count_idle_steps(self, here: _Iterate, idle: _IdleSteps) -> tuple[_IdleSteps, Flags]:
        """Return the steps that have saved nothing, and which trees go round in a circle, (B,)."""
        lowest, count, energy, violation = idle
        total = np.where(here.violation <= self._nearly_held, here.at.total, np.inf)
        count = np.where(total < lowest, 0, count + 1)
        is_strict = self._settings.is_strict
        residual = here.residual if is_strict else here.residual[:, :3]
        is_restored = measure(residual) <= RESTORED_SHARE * self._bones.tree.reach
        is_over = count > np.where(is_restored, MAX_IDLE_STEPS, 3 * MAX_IDLE_STEPS)
        has_saved = here.at.total < energy - MIN_WINDOW_SAVING * np.abs(here.at.total)
        has_neared = here.violation < MAX_VIOLATION_LEFT * violation
        goes_on = is_over & np.where(is_restored, has_saved, has_neared)
        following = _IdleSteps(
            np.where(goes_on, total, np.minimum(lowest, total)),
            np.where(goes_on, 0, count),
            np.where(goes_on & is_restored, here.at.total, energy),
            np.where(goes_on, here.violation, violation),
        )
        return following, is_over & ~goes_on & (is_restored | (not is_strict))

    def _evaluate(self, posed: PosedRows, output: Array | None = None) -> _Iterate:
        """Return poses with their energy and outputs; outputs are computed if None."""
        if output is None:
            output = self._bones.find_output(posed)
        residual = self._target - self._held.pick(output)
        violation = measure(residual) if self._has_held else np.zeros(len(residual))
        return _Iterate(posed, self._measure(posed, output), output, residual, violation)

    def _choose(self, rows: Flags, first: _Iterate, second: _Iterate) -> _Iterate:
        """Return the first where flagged (B,), otherwise the second."""
        if rows.all():
            return first
        if not rows.any():
            return second
        return self._evaluate(first.posed.choose(rows, second.posed))

    def _take_step(self, posed: PosedRows, plan: PlannedStep) -> _Iterate:
        """Return poses after a step and its corrections.

        A correction of tracked outputs to the step's linear prediction lets the step go farther,
        if their valley is not too curved.
        """
        move = plan.move
        if plan.edges is not None:
            move = plan.edges.press(move, plan.step.active.is_active)
        moved = self._bones.apply_move(posed, move)
        if not plan.prediction.size:
            return self._evaluate(moved)
        corrected = self._evaluate(*restore_outputs(self._bones, self._corrections, moved, plan))
        if self._has_held:
            return corrected
        uncorrected = self._evaluate(moved)
        return self._choose(corrected.at.total < uncorrected.at.total, corrected, uncorrected)

    def _plan_step(
        self, here: _Iterate, active: ActiveSet, shift: Array, radius: Array, is_open: Flags
    ) -> PlannedStep:
        """Return the next step from poses."""
        (posed, at, output, residual, violation), settings, edges = here, self._settings, None
        jacobian = self._bones.find_jacobian(posed)
        if self._bones.joints.has_edges:
            edges = NearEdges(self._bones.joints, posed.turn)
        radius = np.minimum(radius, settings.largest_turn)
        shifts, axes = (settings.least_shift, settings.first_shift), self._joints.free_axes
        held = HeldOutputs(self._held.pick(jacobian), axes)
        for _ in range(MAX_SPRING_PASSES):
            slope, curve = at.derive(jacobian)
            force = np.zeros(output.shape)
            if self._has_held:
                net = slope if edges is None else slope + edges.push(active.is_active, active.duals)
                force = self._held.spread(held.find_force(net), jacobian.shape[1])
            derivatives, constraints = (slope, curve(force)), (held, residual)
            step = ConstrainedStep(axes, derivatives, constraints, edges, active, shift, shifts)
            largest = measure(step.move).max(axis=1)
            share = radius / np.maximum(np.maximum(largest, radius), NO_ENERGY)
            move = step.move * share[:, None, None]
            if not at.foresee(move):
                break
        factor = 1.0 + SHIFT_CORRECTION * step.shift
        size, gain, length = largest * factor, step.gain * factor, largest * share
        rests = (size <= settings.rest_turn) | (np.abs(gain) <= MIN_GAIN * np.abs(at.total))
        if (is_stuck := rests & is_open & (step.shift > 0.0)).any():
            down, is_down = step.find_negative_curvature(is_stuck)
            move = np.where(is_down[:, None, None], down * (ESCAPE / factor)[:, None, None], move)
            size, length = np.where(is_down, 1.0, size), np.where(is_down, ESCAPE / factor, length)
            share, rests = np.where(is_down, 1.0, share), rests & ~is_down
        rests |= self._is_finished(step, gain, violation, active.force)
        prediction, tolerance = output[:, self._tracked], length
        if self._has_held or self._tracked.size:
            prediction = prediction + apply(jacobian[:, self._tracked], move.reshape(len(move), -1))
            held_goal = self._target - (1.0 - share)[:, None] * residual
            prediction = np.concatenate((held_goal, prediction), axis=1)
            tolerance = (HELD_TOLERANCE + settings.tolerance * length**2) * self._bones.tree.reach
        return PlannedStep(step, move, share, length, size, rests, prediction, edges, tolerance)

    def _is_finished(
        self, step: ConstrainedStep, gain: Array, violation: Array, last_force: Array
    ) -> Flags:
        """Return which trees are near enough to the minimum, or need too much force, (B,)."""
        settings = self._settings
        is_finished = np.zeros(violation.shape, dtype=np.bool_)
        if settings.least_gain > 0.0:
            is_finished = (violation <= self._nearly_held) & (gain < settings.least_gain)
        for rows, bound in settings.bounds:
            least = np.minimum(measure(step.active.force[:, rows]), measure(last_force[:, rows]))
            is_finished |= least > bound
        return is_finished

    def _judge_step(
        self, plan: PlannedStep, here: _Iterate, trial: _Iterate, last_size: Array
    ) -> tuple[Flags, Flags, Array]:
        """Return which steps are accepted, which are the last, and the next shifts, (B,)."""
        settings, merit, trial_merit = self._settings, here.at.total, trial.at.total
        scale = merit
        if self._has_held:
            # The merit is the energy, plus the residual of held outputs weighed by their force.
            force, smallest = plan.step.active.force, HELD_TOLERANCE * self._bones.tree.reach
            penalty = PENALTY_FACTOR * measure(force)

            def weigh(pose: _Iterate) -> Array:
                # The work of the force on a residual, and a penalty on its length beyond rounding.
                work: Array = (force * pose.residual).sum(axis=1)
                return work + penalty * np.maximum(pose.violation, smallest)

            merit, trial_merit = merit + weigh(here), trial_merit + weigh(trial)
            scale = np.abs(merit) + plan.step.scale
        saved = merit - trial_merit
        is_better = saved >= -ENERGY_ROUNDING * scale
        # Where springs act and cease to act, along a flat ridge or in a corner steps never end.
        # Held outputs must be restored: after the last step nothing restores them.
        is_corner = plan.step.shift > CORNER_SHIFT
        limit = settings.stall_share * plan.share * np.where(is_corner, CORNER_STALL, 1.0) * scale
        has_stalled = is_better & (saved <= limit) & (is_corner | (plan.size >= 0.5 * last_size))
        if self._has_held:
            has_stalled &= trial.violation <= self._nearly_held
        if self._has_held and settings.is_strict:
            allowed = np.maximum(DRIFT_RATIO * plan.tolerance, DRIFT_SHARE * self._bones.tree.reach)
            is_better &= trial.violation <= np.maximum(allowed, here.violation)
        shift = plan.step.shift
        lowered = np.where(saved > GOOD_RATIO * plan.step.gain, SHIFT_DECAY, SLOW_DECAY) * shift
        lowered = np.where(shift < settings.first_shift, 0.0, lowered)
        raised = np.maximum(SHIFT_GROWTH * shift, MIN_RAISED_SHIFT)
        return is_better, has_stalled, np.where(is_better, lowered, raised)
