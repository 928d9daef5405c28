"""The poses of chains and trees with joints: sweeps, NEWTON to finish, new starts.

NEWTON bends chains as free ones bend and turns their joints from there, as little as it takes;
TWO_BONE, whose closed form knows no ranges, does the same. FABRIK, CCD and FORCE iterate first, and
NEWTON finishes what they leave open. Where several effectors cannot all be met the pose goes to
where the weighted errors are least. What cannot be finished from there, or not on the side of its
pole, starts anew from a few other poses, always the same ones. The best pose that was found is
returned; where forces act, FORCE has it settle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.arrays import norm
from ..algebra.nested import repeat_single
from ..equilibrium.potential_energy import PotentialEnergy
from ..equilibrium.settling import pull_effectors, undo_losses
from ..equilibrium.slack_corners import settle_best
from ..kinematics.aims import Aims
from ..kinematics.bones import Bones
from ..kinematics.compiled_bones import weigh_points
from ..kinematics.kinematic_tree import TURN
from ..kinematics.limit_edges import ON_EDGE
from ..kinematics.start_pose import StartPose
from ..model.options import Solver
from .iteration import FEW_ITERATIONS
from .joint_run import ENOUGH, WORTH_A_JUMP, Run
from .restarts import ASIDE, Tries, find_angles_past, start_anew
from .sweeps import MOST_SWEEPS, sweep_joints
from .task import Task
from .unconstrained_start import (
    StraightRuns,
    UnconstrainedStart,
    bend_as_free,
    nudge_chains,
    nudge_runs,
)

# The solvers that stop nearer than any other start would lead; the others close to the tolerance.
NEARLY = (Solver.NEWTON, Solver.TWO_BONE)
# New starts of chains that have not arrived, and of those on another side than that of their pole.
ANEW, ANEW_ASIDE = Tries(64, 10, 4), Tries(3, 3, 3)


@dataclass(frozen=True)
class ChainStart:
    """Where chains start.

    Attributes:
        start: Start poses.
        bend: What they bend from.
        task: What is asked for, in the units of the start poses.
        energy: What acts on the bones, for FORCE; None for nothing.
    """

    start: StartPose
    bend: UnconstrainedStart
    task: Task
    energy: PotentialEnergy | None = None


@dataclass(frozen=True)
class Ask:
    """What is asked of chains or trees.

    Attributes:
        run: They, and their targets within reach.
        asked: Targets before those too far were drawn in, shape (3 E, B).
        standing: The states of the start poses, brought to what the joints allow.
        start: Where chains start; of trees their straight runs.
        solver: Of all of them.
        sweeps: The bones that FABRIK and CCD sweep; None for the other solvers.
        aims: What else is aimed at.
        tip_weight: Share of the wanted turns of tips to take.
        use_finish: Whether NEWTON finishes what sweeps leave open, and chains start anew.
    """

    run: Run
    asked: Array
    standing: Array
    start: ChainStart | StraightRuns
    solver: Solver
    sweeps: list[Bones] | None = None
    aims: Aims | None = None
    tip_weight: float = 1.0
    use_finish: bool = True


@dataclass(frozen=True)
class Held:
    """Solved poses of B chains or trees of n bones.

    Attributes:
        run: With the targets that were gone for in the end.
        state: As ``kinematic_tree`` tells, shape (n + 1, C, B).
        iterations: Shape (B,).
        aims: What else was aimed at, or None.
        is_open: Which effectors are not where free joints would bring them, shape (E, B).
    """

    run: Run
    state: Array
    iterations: Counts
    aims: Aims | None
    is_open: Flags


def solve_positions(ask: Ask) -> Held:
    """Return the poses that bring effectors to their targets."""
    run, aims, solver = ask.run, ask.aims, ask.solver
    run = replace(run, is_fresh=run.is_open(ask.standing))
    standing, state, used = _begin(ask, run)
    if not ask.use_finish:
        return Held(run, state, used, aims, find_open(run, state))
    if aims is None or ask.tip_weight < 1.0:
        state, used = run.close(state, used, is_near_enough=solver in NEARLY)
    if aims is not None:
        aims = aims.take_share(run.tree.posed(state), ask.tip_weight)
        state, used = run.aim(state, used, aims)
    state, used = run.compromise(state, used)
    last, state, used = _better(ask, run, state, used, standing, aims)
    energy = ask.start.energy if isinstance(ask.start, ChainStart) else None
    if energy is not None:
        state, used = undo_losses(last, state, used, standing)
        state, used = settle_best(last, state, used, energy, aims)
    return Held(last, state, used, aims, find_open(run, state))


def _begin(ask: Ask, run: Run) -> tuple[Array, Array, Counts]:
    """Return what stands, the states that the solver makes of it, and the iterations used."""
    standing, start, used = ask.standing, ask.start, np.zeros_like(run.iterations)
    if not isinstance(start, ChainStart):
        state = standing
        if run.is_fresh.any():
            nudged = nudge_runs(run.tree, start, standing, run.target)
            state = run.tree.choose_states(run.is_fresh, nudged, standing)
        return standing, *(_sweep(ask, run, state) if ask.sweeps else (state, used))
    if ask.sweeps or ask.solver is Solver.FORCE:
        standing = nudge_chains(start.bend, start.start, run.tree, standing, start.task)
    if ask.sweeps:
        return standing, *_sweep(ask, run, standing)
    if ask.solver is not Solver.FORCE:
        return standing, _lead(run, start, standing, ask.asked), used
    begun = standing
    if start.energy is not None and (settles := start.energy.only_settles).any():
        begun = np.where(settles, _lead(run, start, standing, start.task.target), standing)
    return standing, *pull_effectors(run, start.energy, begun)


def _lead(run: Run, start: ChainStart, standing: Array, target: Array) -> Array:
    """Return the states that NEWTON starts from: what stands at its target stays.

    So does what slides: its bones may move to the target without a bend.
    """
    tree = run.tree
    is_bent = run.is_fresh & ~tree.joints.slides
    if len(standing) == 2 or not is_bent.any():
        return standing
    bent = bend_as_free(start.bend, replace(start.task, target=target))
    return tree.choose_states(is_bent, tree.clamp_state(bent, standing[:-1, TURN]), standing)


def _sweep(ask: Ask, run: Run, state: Array) -> tuple[Array, Counts]:
    """Return the states that sweeps make of others."""
    tree, caps, led = run.tree, run.iterations, run.tree.topology.led
    assert ask.sweeps is not None
    if ask.use_finish:
        caps = np.minimum(caps, MOST_SWEEPS)
    turn = state[:-1, :TURN].copy()
    asked = tree.unweigh(run.target), weigh_points(tree), run.tolerance, caps
    turn[led], used = sweep_joints(ask.solver, ask.sweeps, turn[led], *asked)
    return tree.make_state(turn, state[:-1, TURN]), used


def _better(
    ask: Ask, run: Run, state: Array, used: Counts, standing: Array, aims: Aims | None
) -> tuple[Run, Array, Counts]:
    """Start anew what has not arrived, or not on the side of its pole; who ran last, and where."""
    is_force = ask.solver is Solver.FORCE
    # Small steps of FORCE may have used up the cap: NEWTON takes few for the rest.
    is_left = np.full_like(used, FEW_ITERATIONS) if is_force else used
    may_go_on = is_left < run.iterations
    is_open = run.is_open(state) & may_go_on
    if is_open.any() and not run.is_chain:
        rows = np.flatnonzero(is_open & run.can_come_nearer(state, WORTH_A_JUMP))
        if rows.size and not run.tree.joints.is_free:
            rows = repeat_single(rows, len(used))
            state, used = start_anew(run, state, used, rows, standing, aims, ANEW)
    elif is_open.any():
        tries = ANEW._replace(goes_on=not is_force)
        run, state, used = _better_chains(ask, run, state, used, standing, aims, is_open, tries)
    is_aside = find_angles_past(run, state, aims) > ASIDE
    rows = repeat_single(np.flatnonzero(is_aside & ~is_open & may_go_on), len(used))
    if rows.size and run.tree.can_swivel and run.is_chain:
        state, used = start_anew(run, state, used, rows, standing, aims, ANEW_ASIDE)
    return run, state, used


def _better_chains(
    ask: Ask,
    run: Run,
    state: Array,
    used: Counts,
    standing: Array,
    aims: Aims | None,
    is_open: Flags,
    tries: Tries,
) -> tuple[Run, Array, Counts]:
    """Bring chains that have not arrived as near to their targets as any pose is found to."""
    # Joints that cannot even straighten toward a target take the pose nearest to it as it is.
    before = run.target
    run = replace(run, target=np.where(is_open, ask.asked, before))
    can_better = is_open & run.can_come_nearer(state, WORTH_A_JUMP)
    # What starts anew goes on beside that.
    is_moved = (ask.asked != before).any(axis=0)
    state, used = run.close(state, used, among=is_open & (is_moved | ~can_better))
    is_left = run.is_open(state) & is_open & run.can_come_nearer(state, WORTH_A_JUMP)
    rows = repeat_single(np.flatnonzero(is_left), len(used))
    if rows.size:
        state, used = start_anew(run, state, used, rows, standing, aims, tries)
    # What has arrived closes to the tolerance, and what is as near as a straight chain gets
    # straightens slowly: both go on, as new starts do, which have caps of their own.
    onward = replace(run, iterations=used + ENOUGH)
    rest = is_open & ~(is_left & run.is_open(state))
    state, spent = onward.close(state, used, is_near_enough=False, among=rest)
    return run, state, np.minimum(spent, np.maximum(used, run.iterations))


def find_tip_gaps(held: Held) -> Array:
    """Return the radians left to the wanted orientations of tips, shape (E, B)."""
    tree = held.run.tree
    gaps = np.zeros((len(tree.ends), held.state.shape[-1]))
    if held.aims is not None and held.aims.tips is not None:
        tips = held.aims.tips
        gaps[list(tips.effectors)] = norm(tips.find_turns_past(tree.posed(held.state)))
    return gaps


def find_open(run: Run, state: Array) -> Flags:
    """Return the effectors that are not at their targets, shape (E, B)."""
    gaps = norm(run.tree.unweigh(run.target) - run.tree.posed(state).tips)
    is_open: Flags = gaps > run.accepted
    return is_open


def find_holds(held: Held) -> Flags:
    """Return the edges (n, 3, B) that pulls toward targets press against; none at targets."""
    tree, turn = held.run.tree, held.state[:-1, :TURN]
    is_open = find_open(held.run, held.state)
    if tree.joints.is_free or not is_open.any():
        return np.zeros((len(turn), 3, turn.shape[-1]), dtype=np.bool_)
    posed = tree.posed(held.state)
    error = tree.weigh((tree.unweigh(held.run.target) - posed.tips) * is_open[:, None])
    pull = np.einsum("nkcb,kb->ncb", tree.find_jacobian(posed), error)
    edges = tree.joints.edges(turn)
    turned = np.einsum("ncdb,ndb->ncb", tree.joints.mobilities(turn, edges), pull)
    press = np.einsum("neib,nib->neb", edges.normals, turned)
    # An axis with no room is a lock, not a limit that holds back.
    pressed: Flags = edges.is_on & (press > 0.0) & ~edges.is_held
    return pressed


def find_slide_holds(held: Held) -> Flags | None:
    """Return the slides (n, B) at ends that a pull toward the target presses on, if any slide."""
    tree, joints, slide = held.run.tree, held.run.tree.joints, held.state[:-1, TURN]
    if tree.slide_axes is None:
        return None
    error = held.run.target - held.state[-1, :3]
    pull = np.einsum("nib,ib->nb", tree.slide_effects(tree.posed(held.state)), error)
    presses = (pull > 0.0) & (slide >= joints.slide_high - ON_EDGE)
    presses |= (pull < 0.0) & (slide <= joints.slide_low + ON_EDGE)
    holds: Flags = presses & (joints.slide_high > joints.slide_low)
    holds &= find_open(held.run, held.state)
    return holds
