"""The poses of chains and trees with joints: sweeps, NEWTON to finish, restarts.

NEWTON bends chains like free chains and turns their joints from there, as little as possible.
TWO_BONE, whose closed form knows no ranges, does the same. FABRIK, CCD and FORCE iterate first, and
NEWTON finishes what they leave open. Where several effectors cannot all be met, the pose of least
weighted errors is found. Chains restart from some sampled poses, always the same ones, if they do
not arrive, are not on the side of their pole, or are hinges and miss the turn of their tip. The
best pose is returned; where forces act, FORCE settles it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.nested import repeat_single
from ..equilibrium.potential_energy import PotentialEnergy, measure_energy
from ..equilibrium.settling import pull_effectors
from ..equilibrium.slack_corners import settle_best
from ..kinematics.compiled_bones import compile_bones, weigh_points
from ..kinematics.posed import State
from ..kinematics.task import Task
from ..model.options import SolveOptions, Solver
from .bend_starts import BendStarts, bend_as_free, nudge_states
from .compiled_chains import CompiledChains
from .float_chains import WarmStart
from .iteration import RUN_IN_ITERATIONS
from .joint_run import MIN_MOVE_GAIN, Run
from .restarts import SIDE_TOLERANCE, restart
from .sweeps import MOST_SWEEPS, SWEPT, sweep_joints

# Solvers that stop once no restart would be tried; the others go on to the tolerance.
STOP_AT_ARRIVAL = (Solver.NEWTON, Solver.TWO_BONE)
# Count of sampled poses, and how many of the nearest to restart from: for chains that have not
# arrived, and for those past their aims.
RESTARTS, SIDE_RESTARTS = (64, 4), (12, 6)
# Share of the reach by which a start may be farther than the least distance known beforehand, to
# come nearest alone.
NEAR_SHARE = 0.15
# Share of the reach: a smaller gain is rounding. A hundred times more: slow targets cause steps.
ROUNDING_GAIN = 1e-11
# Share of the energy that a pose may save instead, where forces act.
MIN_ENERGY_SAVING = 1e-4


def solve_positions(
    chains: CompiledChains,
    run: Run,
    full_target: Array,
    task: Task | None,
    options: SolveOptions,
    warm_start: WarmStart | None = None,
) -> tuple[Run, State, Counts]:
    """Return the poses that bring effectors to their targets.

    Args:
        chains: The chains or trees.
        run: Their problem, with targets within reach.
        full_target: Targets of chains, not drawn in to the reach, shape (3, B).
        task: The same problem of chains, to make their starts; None for trees.
        options: Options of the solve.
        warm_start: Results in floats to go on from, or None.

    Returns:
        The run with its final targets, states, and the iterations used.
    """
    if warm_start is not None:
        state, used = run.tree.make_state(warm_start.turn, run.start.slide), warm_start.used
    else:
        is_off_target = run.is_open(run.start)
        run, state, used = _make_starts(chains, run, is_off_target, full_target, task, options)
        if _is_swept(run, options.solver) and not options.use_finish:
            return run, state, used
        run, state, used = _approach(run, state, used, is_off_target, options)
        is_left = run.is_open(state) & (used < run.iterations)
        if run.is_chain and _is_swept(run, options.solver) and is_left.any():
            # Sweeps twist by chance chains that they do not bring to their targets.
            is_bent = is_left & is_off_target
            bent = _bend_free(chains, run, is_bent, full_target, task, options)
            state, used = _approach_again(run, state, bent, used, is_off_target, options)
    # Small steps of FORCE may have used up the cap: NEWTON takes few for the rest.
    is_force = options.solver is Solver.FORCE
    has_iterations = (RUN_IN_ITERATIONS if is_force else used) < run.iterations
    is_open = run.is_open(state) & has_iterations
    if is_open.any():
        run, state, used = _improve(chains, run, state, used, is_open, full_target)
    is_past_side = (run.find_angles_past(state) > SIDE_TOLERANCE) & ~is_open & has_iterations
    rows = repeat_single(np.flatnonzero(is_past_side), len(used))
    if rows.size and run.is_chain:
        state, used = restart(run, chains.sampled_tips, state, used, rows, SIDE_RESTARTS)
    energy = chains.potential_energy if is_force else None
    if energy is not None:
        state, used = settle_best(run, state, used, energy, run.aims)
    return run, state, used


def _make_starts(
    chains: CompiledChains,
    run: Run,
    is_off_target: Flags,
    full_target: Array,
    task: Task | None,
    options: SolveOptions,
) -> tuple[Run, State, Counts]:
    """Return the run from where it starts, the states that solvers make of it, and iterations."""
    tree, used, solver = run.tree, np.zeros_like(run.iterations), options.solver
    if solver in STOP_AT_ARRIVAL and run.is_chain:
        return run, _bend_free(chains, run, is_off_target, full_target, task, options), used
    starts = _choose_starts(chains, options)
    start = nudge_states(tree, starts, run.start, run.target, task, is_off_target)
    run = replace(run, start=start)
    if solver is Solver.FORCE:
        energy, start_state = chains.potential_energy, run.start
        if energy is not None and (settles := energy.only_settles).any():
            inputs = is_off_target, run.target, task, options
            start_state = _bend_free(chains, run, *inputs).choose(settles, run.start)
        return run, *pull_effectors(run, energy, start_state)
    if not _is_swept(run, solver):
        return run, run.start, used
    return run, *_sweep(chains, run, options)


def _approach(
    run: Run, start: State, used: Counts, is_off_target: Flags, options: SolveOptions
) -> tuple[Run, State, Counts]:
    """Return the run with its aims, states after NEWTON, and the iterations used.

    Forget the steps of chains that do not arrive: near a ridge their last digits would choose the
    side.
    """
    state = start
    if run.aims is None or options.orient_weight < 1.0:
        flags = None if options.solver in STOP_AT_ARRIVAL else np.ones_like(is_off_target)
        state, used = run.close(state, used, flags)
    if run.aims is not None:
        aims = run.aims.take_share(state.posed, options.orient_weight)
        run = replace(run, aims=aims)
        state, used = run.aim(state, used, is_off_target)
    if run.is_chain:
        return run, start.choose(run.is_open(state), state), used
    return run, *run.minimise_errors(state, used)


def _approach_again(
    run: Run, state: State, other: State, used: Counts, is_off_target: Flags, options: SolveOptions
) -> tuple[State, Counts]:
    """Return states of chains that have not arrived from another start, as ``_approach``.

    Chains stay as they are where no iterations are left for more. Those whose targets are beyond
    their lengths or ranges do not arrive from there either.
    """
    is_open = run.is_open(state) & (used < run.iterations)
    is_too_far = run.least_error > run.accepted
    state = other.choose(is_open & is_too_far, state)
    rows = repeat_single(np.flatnonzero(is_open & ~is_too_far), len(used))
    if not rows.size:
        return state, used
    # The aims have their share already.
    part, options = run.take(rows), replace(options, orient_weight=1.0)
    _, again, steps = _approach(part, other.take(rows), used[rows], is_off_target[rows], options)
    is_spent = part.is_open(again) & (steps >= part.iterations)
    used = used.copy()
    used[rows] = steps
    return state.put(rows, state.take(rows).choose(is_spent, again)), used


def _choose_starts(chains: CompiledChains, options: SolveOptions) -> BendStarts:
    return chains.near_bend_starts if options.stays_near else chains.bend_starts


def _bend_free(
    chains: CompiledChains,
    run: Run,
    is_bent: Flags,
    target: Array,
    task: Task | None,
    options: SolveOptions,
) -> State:
    """Return flagged states bent like free chains; those that slide stay."""
    tree, starts = run.tree, _choose_starts(chains, options)
    is_bent = is_bent & ~tree.joints.has_slides
    if task is None or not starts.runs or not is_bent.any():
        return run.start
    bent = bend_as_free(starts.runs[0], replace(task, target=target))
    return tree.clamp_state(bent, run.start.slide).choose(is_bent, run.start)


def _is_swept(run: Run, solver: Solver) -> bool:
    """Return whether sweeps come first. Sweeps turn all bones that a bone carries."""
    return solver in SWEPT and not run.tree.topology.unturned


def _sweep(chains: CompiledChains, run: Run, options: SolveOptions) -> tuple[State, Counts]:
    """Return the start states after sweeps, and the iterations used."""
    tree, caps, movable = run.tree, run.iterations, run.tree.topology.path_bones
    if options.use_finish:
        caps = np.minimum(caps, MOST_SWEEPS)
    bones = compile_bones(chains.tree, is_in_floats=chains.is_in_floats)
    if chains.count == 1:
        # One chain two times: solve it once in floats.
        bones = bones[:1]
    turn = run.start.turn.copy()
    inputs = tree.unweigh(run.target), weigh_points(tree), run.tolerance, caps
    turn[movable], used = sweep_joints(options.solver, bones, turn[movable], *inputs)
    return tree.make_state(turn, run.start.slide), used


def _improve(
    chains: CompiledChains, run: Run, state: State, used: Counts, is_open: Flags, full_target: Array
) -> tuple[Run, State, Counts]:
    """Bring chains and trees that have not arrived as near to their targets as possible."""
    if run.is_chain:
        # Chains that cannot even straighten toward a target get the pose nearest to the real one.
        run = replace(run, target=np.where(is_open, full_target, run.target))
    # Chains that start near the least distance mostly end there; others try more starts, side by
    # side.
    state, used = run.come_nearest(state, used, is_open & ~run.can_come_nearer(state, NEAR_SHARE))
    is_unfinished = run.is_open(state) & is_open & run.can_come_nearer(state)
    rows = repeat_single(np.flatnonzero(is_unfinished), len(used))
    joints = run.tree.joints
    if rows.size and (run.is_chain or not joints.is_free or joints.has_stiffness):
        state, used = restart(run, chains.sampled_tips, state, used, rows, RESTARTS)
    if run.is_chain and run.aims is None:
        # Keep joints that turn without moving the effector: sweeps would move them without gain.
        gained = run.find_errors(run.start) - run.find_errors(state)
        stays = is_open & run.is_open(state) & (gained <= ROUNDING_GAIN * run.tree.reach)
        state = run.start.choose(stays, state)
    return run, state, used


def keep_starts(run: Run, start: State, state: State, energy: PotentialEnergy | None) -> State:
    """Return start poses where solved ones are not better by ``MIN_MOVE_GAIN``.

    Args:
        run: The problem with its final targets.
        start: Start poses, inside of their ranges.
        state: Solved poses.
        energy: Energy of springs and weights; None where none act.
    """
    start_state = run.tree.make_state(start.turn, start.slide)
    gain = _find_merit(run, start_state) - _find_merit(run, state)
    keeps_start: Flags = gain <= MIN_MOVE_GAIN * run.tree.reach
    if energy is not None:
        before, after = (measure_energy(energy, run.tree, pose) for pose in (start_state, state))
        keeps_start &= before - after <= MIN_ENERGY_SAVING * np.abs(before)
    return start_state.choose(keeps_start, state)


def _find_merit(run: Run, state: State) -> Array:
    """Return the merit of poses, shape (B,): distances of effectors, and weighted angles to aims.

    Distances within the tolerance do not count.
    """
    merit: Array = np.maximum(run.find_errors(state), run.accepted) + run.find_aim_merit(state)
    return merit
