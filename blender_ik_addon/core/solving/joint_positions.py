"""The poses of chains and trees with joints: sweeps, NEWTON to finish, new starts.

NEWTON bends chains as free ones bend and turns their joints from there, as little as it takes;
TWO_BONE, whose closed form knows no ranges, does the same. FABRIK, CCD and FORCE iterate first, and
NEWTON finishes what they leave open. Where several effectors cannot all be met the pose goes to
where the weighted errors are least. What cannot be finished from there, or not on the side of its
pole, or of hinges not with the turn of its tip, starts anew from a few other poses, always the same
ones. The best pose that was found is returned; where forces act, FORCE has it settle.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.arrays import norm
from ..algebra.nested import repeat_single
from ..equilibrium.potential_energy import PotentialEnergy, measure_energy
from ..equilibrium.settling import pull_effectors
from ..equilibrium.slack_corners import settle_best
from ..kinematics.compiled_bones import compile_bones, weigh_points
from ..kinematics.posed import State
from ..kinematics.task import Task
from ..model.options import SolveOptions, Solver
from .compiled_chains import CompiledChains
from .iteration import FEW_ITERATIONS
from .joint_run import AIM_WEIGHTS, Run
from .lone_chains import Begun
from .restarts import ASIDE, start_anew
from .sweeps import MOST_SWEEPS, SWEPT, sweep_joints
from .unconstrained_start import bend_as_free, nudge_states

# The solvers that stop nearer than any other start would lead; the others close to the tolerance.
NEARLY = (Solver.NEWTON, Solver.TWO_BONE)
# Of how many drawn poses the nearest are taken to start from, and how many of them: for chains that
# have not arrived, and for those past what they aim at.
ANEW, ANEW_ASIDE = (64, 4), (12, 6)
# A pose that is nearer by less than this share of the reach is as near: rounding. A hundred times
# more, and slow targets are followed in steps.
NO_GAIN = 1e-11
# Where chains start from their own last pose, another one has to be better by this share. Ten times
# more, and chains that are held back follow slow targets in steps that can be seen; ten times less,
# and iterations that creep along limits go on at each solve.
WORTH_A_MOVE = 1e-5
# Where forces act it may also save this share of the energy.
WORTH_OF_ENERGY = 1e-4


def solve_positions(
    chains: CompiledChains,
    run: Run,
    asked: Array,
    task: Task | None,
    options: SolveOptions,
    lone: Begun | None = None,
) -> tuple[Run, State, Counts]:
    """Return the poses that bring effectors to their targets.

    Args:
        chains: The chains or trees.
        run: What is asked of them, with targets within reach.
        asked: Of chains, the targets before those too far were drawn in, shape (3, B).
        task: The same of chains, for where they start; None for trees.
        options: As asked for.
        lone: What floats have come to, one by one.

    Returns:
        The run with what was gone for in the end, states, and the iterations used.
    """
    if lone is not None:
        state, used = run.tree.make_state(lone.turn, run.start.slide), lone.used
    else:
        is_fresh = run.is_open(run.start)
        run, state, used = _begin(chains, run, is_fresh, asked, task, options)
        if _is_swept(run, options.solver) and not options.use_finish:
            return run, state, used
        begun = state
        if run.aims is None or options.orient_weight < 1.0:
            among = None if options.solver in NEARLY else np.ones_like(is_fresh)
            state, used = run.close(state, used, among)
        if run.aims is not None:
            aims = run.aims.take_share(state.posed, options.orient_weight)
            run = replace(run, aims=aims)
            state, used = run.aim(state, used, is_fresh)
        if run.is_chain:
            # Steps that led nowhere are forgotten: near a ridge their last digits would choose the
            # side to go down.
            state = begun.choose(run.is_open(state), state)
        if not run.is_chain:
            state, used = run.settle(state, used)
    # Small steps of FORCE may have used up the cap: NEWTON takes few for the rest.
    is_force = options.solver is Solver.FORCE
    may_go_on = (FEW_ITERATIONS if is_force else used) < run.iterations
    is_open = run.is_open(state) & may_go_on
    if is_open.any():
        run, state, used = _come_nearer(chains, run, state, used, is_open, asked)
    is_aside = (run.find_angles_past(state) > ASIDE) & ~is_open & may_go_on
    rows = repeat_single(np.flatnonzero(is_aside), len(used))
    if rows.size and run.is_chain:
        state, used = start_anew(run, chains.drawn_tips, state, used, rows, ANEW_ASIDE)
    energy = chains.potential_energy if is_force else None
    if energy is not None:
        state, used = settle_best(run, state, used, energy, run.aims)
    return run, state, used


def _begin(
    chains: CompiledChains,
    run: Run,
    is_fresh: Flags,
    asked: Array,
    task: Task | None,
    options: SolveOptions,
) -> tuple[Run, State, Counts]:
    """Return the run from where it starts, the states that solvers make of it, and iterations."""
    tree, used, solver = run.tree, np.zeros_like(run.iterations), options.solver
    starts = chains.near_starts if options.stays_near else chains.unconstrained_starts

    def lead(target: Array) -> State:
        """Return states bent as free chains; those at their targets and those that slide stay."""
        is_bent = is_fresh & ~tree.joints.slides
        if task is None or not starts.runs or not is_bent.any():
            return run.start
        bent = bend_as_free(starts.runs[0], replace(task, target=target))
        return tree.clamp_state(bent, run.start.slide).choose(is_bent, run.start)

    if solver in NEARLY and run.is_chain:
        return run, lead(asked), used
    start = nudge_states(tree, starts, run.start, run.target, task, is_fresh)
    run = replace(run, start=start)
    if solver is Solver.FORCE:
        energy, begun = chains.potential_energy, run.start
        if energy is not None and (settles := energy.only_settles).any():
            begun = lead(run.target).choose(settles, run.start)
        return run, *pull_effectors(run, energy, begun)
    if not _is_swept(run, solver):
        return run, run.start, used
    return run, *_sweep(chains, run, options)


def _is_swept(run: Run, solver: Solver) -> bool:
    """Tell whether sweeps come first; they turn all that a bone carries."""
    return solver in SWEPT and not run.tree.topology.unturned


def _sweep(chains: CompiledChains, run: Run, options: SolveOptions) -> tuple[State, Counts]:
    """Return the states that sweeps make of those to start from, and the iterations used."""
    tree, caps, led = run.tree, run.iterations, run.tree.topology.led
    if options.use_finish:
        caps = np.minimum(caps, MOST_SWEEPS)
    bones = compile_bones(chains.tree, is_few=chains.is_in_floats)
    if chains.count == 1:
        # One chain two times: once is enough for floats.
        bones = bones[:1]
    turn = run.start.turn.copy()
    asked = tree.unweigh(run.target), weigh_points(tree), run.tolerance, caps
    turn[led], used = sweep_joints(options.solver, bones, turn[led], *asked)
    return tree.make_state(turn, run.start.slide), used


def _come_nearer(
    chains: CompiledChains, run: Run, state: State, used: Counts, is_open: Flags, asked: Array
) -> tuple[Run, State, Counts]:
    """Bring what has not arrived as near to its targets as any pose is found to."""
    if run.is_chain:
        # Joints that cannot even straighten toward a target take the pose nearest to it as it is.
        run = replace(run, target=np.where(is_open, asked, run.target))
    can_come_nearer = run.can_come_nearer(state)
    aims = run.aims if run.is_chain else None
    state, used = run.settle(state, used, is_open & ~can_come_nearer, aims)
    is_left = run.is_open(state) & is_open & can_come_nearer
    rows = repeat_single(np.flatnonzero(is_left), len(used))
    joints = run.tree.joints
    if rows.size and (run.is_chain or not joints.is_free or joints.has_stiffness):
        state, used = start_anew(run, chains.drawn_tips, state, used, rows, ANEW)
    if not run.is_chain:
        return run, state, used
    if run.aims is None:
        # Where joints turn without moving the effector, sweeps would move them for nothing.
        gained = run.find_errors(run.start) - run.find_errors(state)
        stays = is_open & run.is_open(state) & (gained <= NO_GAIN * run.tree.reach)
        state = run.start.choose(stays, state)
    return run, state, used


def keep_starts(run: Run, start: State, state: State, energy: PotentialEnergy | None) -> State:
    """Return start poses where solved ones are not better by what is worth a move.

    Args:
        run: What is asked of the chains or trees, as it was solved in the end.
        start: Their start poses, inside of their ranges.
        state: As solved.
        energy: Of springs and weights; None where none act.
    """
    begun = run.tree.make_state(start.turn, start.slide)
    gain = _find_merit(run, begun) - _find_merit(run, state)
    is_kept: Flags = gain <= WORTH_A_MOVE * run.tree.reach
    if energy is not None:
        before, after = (measure_energy(energy, run.tree, each) for each in (begun, state))
        is_kept &= before - after <= WORTH_OF_ENERGY * np.abs(before)
    return begun.choose(is_kept, state)


def _find_merit(run: Run, state: State) -> Array:
    """Return what poses lack, shape (B,): distances of effectors, and what aims weigh beside them.

    What is within the tolerance is there.
    """
    lack = np.maximum(run.find_errors(state), run.accepted)
    if run.aims is None:
        return lack
    aims = replace(run.aims, weight=AIM_WEIGHTS[-1] * run.tree.reach)
    found: Array = lack + norm(aims.find_output(state.posed))
    return found
