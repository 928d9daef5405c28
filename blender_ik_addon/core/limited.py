"""The poses of jointed chains for their targets: sweeps, NEWTON to finish, new starts.

NEWTON bends chains as free ones bend and turns their joints from there, as little as it takes;
TWO_BONE, whose closed form knows no ranges, does the same. FABRIK, CCD and FORCE sweep first, and
NEWTON finishes what they leave open. What cannot be finished from there, or not on the side of its
pole, starts anew from a few other poses, always the same ones. The best pose that was found is
returned; where forces act, FORCE has it settle.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from . import (
    natural_start,
    new_starts,
    turns,
)
from .aims import Aims
from .algebra import nested
from .algebra.arithmetic import ARRAYS
from .chain import Solver
from .equilibrium.potential_energy import PotentialEnergy
from .equilibrium.settling import move_off_ends, pull_effectors, undo_losses
from .equilibrium.slack_corners import settle_best
from .iterate import FEW_ITERATIONS
from .jointed import ASIDE, ENOUGH, NEAR, Jointed
from .kinematics.bend_plane import plan_bend
from .kinematics.compiled_bones import compile_bones
from .kinematics.start_pose import StartPose
from .limited_run import Run
from .natural_start import NaturalStart
from .new_starts import WORTH_A_JUMP, Tries
from .solving.sweeps import MOST_SWEEPS, Sweeps, sweep_joints
from .swings import ON_EDGE
from .task import Task
from .vectors import Array, Counts, Flags, norm, not_alone

# The solvers that stop nearer than any other start would lead; the others close to the tolerance.
NEARLY = (Solver.NEWTON, Solver.TWO_BONE)
# New starts of chains that have not arrived, and of those on another side than that of their pole.
ANEW, ANEW_ASIDE = Tries(64, 10, 4), Tries(3, 3, 3)
# Targets that lie so little within the reach have been drawn in to it.
AT_REACH = 1e-12


@dataclass(frozen=True)
class Held:
    """Solved poses of B jointed chains of n bones.

    Attributes:
        state: As ``jointed`` tells, shape (n + 1, 7, B).
        iterations: Shape (B,).
        is_too_far: Which targets lie beyond the chains' lengths, shape (B,).
        is_open: Which effectors are not where they could be if the joints were free, shape (B,).
        holds: Which turns, about X, Y and Z, stand on edges that keep effectors from their
            targets, shape (n, 3, B).
        tip_gap: Radians from the tips' orientations to the wanted ones, shape (B,).
        slide_holds: Which slides stand at ends that do so too, shape (n, B); None where nothing
            slides.
    """

    state: Array
    iterations: Counts
    is_too_far: Flags
    is_open: Flags
    holds: Flags
    tip_gap: Array
    slide_holds: Flags | None = None


def positioned(
    start: StartPose,
    chain: Jointed,
    natural: NaturalStart,
    start_turn: Array,
    standing: Array,
    task: Task,
    solver: Solver,
    asked: Array,
    tip: Array | None = None,
    tip_weight: float = 1.0,
    energy: PotentialEnergy | None = None,
    *,
    sweeps: Sweeps | None = None,
    use_finish: bool = True,
) -> Held:
    """Return the poses that bring the effectors of jointed chains to their targets.

    Args:
        start: Start poses.
        chain: Their joints.
        natural: What they bend from.
        start_turn: Their turns, whether the joints allow them or not, shape (n, 4, B).
        standing: The states of the start poses, brought to what the joints allow.
        task: What is asked for.
        solver: Of all of the chains.
        asked: Targets before those too far were drawn in to the reach, shape (3, B).
        tip: Turns of the tip bones from the start pose wxyz, shape (4, B); None for no aim.
        tip_weight: Share of those to take.
        energy: What acts on the bones, for FORCE; None for nothing.
        sweeps: How FABRIK and CCD go on.
        use_finish: Whether NEWTON finishes what their sweeps leave open, and chains start anew.
    """
    ends = _ends(start, chain)
    is_too_far = norm(task.target) >= ends[1] * (1.0 - AT_REACH)
    if energy is not None:
        task, asked = move_off_ends(task, asked, energy, chain.is_unlimited, *ends)
    run = Run(chain, task, np.ones_like(is_too_far))
    run = replace(run, is_fresh=run.is_open(standing))
    aims = _aims(start, chain, start_turn, task, tip)
    if sweeps is not None or solver is Solver.FORCE:
        standing = natural_start.nudged(natural, start, chain, standing, task)
    if sweeps is None:
        state, used = _approached(natural, run, standing, asked, solver, energy)
    else:
        state, used = _swept(run, sweeps, standing, use_finish=use_finish)
    if not use_finish:
        return _held(run, run.task, state, used, is_too_far, aims)
    if aims is None or tip_weight < 1.0:
        state, used = run.closed(state, used, is_near_enough=solver in NEARLY)
    if aims is not None:
        aims = _shared(aims, chain, state, tip_weight)
        state, used = run.aimed(state, used, aims)
    may_go_on = _may_start_anew(run.task, solver, used)
    tries = ANEW._replace(goes_on=solver is not Solver.FORCE)
    last, state, used = _bettered(run, state, used, standing, asked, aims, may_go_on, tries)
    if energy is not None:
        state, used = undo_losses(last, state, used, standing)
        state, used = settle_best(last, state, used, energy, aims)
    return _held(run, last.task, state, used, is_too_far, aims)


def _ends(start: StartPose, chain: Jointed) -> tuple[Array, Array]:
    """Return the least and the greatest distance that effectors get from roots, shape (B,)."""
    room = 0.0 if chain.slide_room is None else chain.slide_room.sum(axis=0)
    return np.where(chain.is_unlimited, start.least, 0.0), start.reach + room


def _may_start_anew(task: Task, solver: Solver, used: Counts) -> Flags:
    """Tell which chains have iterations left for new starts, shape (B,)."""
    # Small steps of FORCE may have used up the cap: NEWTON takes few for the rest.
    is_left = used if solver is not Solver.FORCE else np.full_like(used, FEW_ITERATIONS)
    may: Flags = is_left < task.iterations
    return may


def _swept(run: Run, sweeps: Sweeps, standing: Array, *, use_finish: bool) -> tuple[Array, Counts]:
    """Return the states that sweeps make of standing ones."""
    chain, task, turn = run.chain, run.task, standing[:-1, :4]
    caps = np.minimum(task.iterations, MOST_SWEEPS) if use_finish else task.iterations
    bones = compile_bones(chain, is_few=sweeps.is_few)
    given = turn, task.target, task.tolerance, caps
    if sweeps.is_alone:
        # One chain two times: once is enough for floats.
        given = nested.take_rows(given, np.zeros(1, dtype=np.int64))
        found = nested.take_rows(sweep_joints(sweeps, bones[:1], *given), np.zeros_like(caps))
    else:
        found = sweep_joints(sweeps, bones, *given)
    return chain.state(found.rotations, standing[:-1, 4]), found.used


def _held(
    run: Run, task: Task, state: Array, used: Counts, is_too_far: Flags, aims: Aims | None
) -> Held:
    chain = run.chain
    return Held(
        state=state,
        iterations=used,
        is_too_far=is_too_far,
        is_open=run.is_open(state),
        holds=_holds(chain, task, state),
        tip_gap=_tip_gap(chain, aims, state),
        slide_holds=_slide_holds(chain, task, state) if chain.has_slides else None,
    )


def _approached(
    natural: NaturalStart,
    run: Run,
    standing: Array,
    asked: Array,
    solver: Solver,
    energy: PotentialEnergy | None,
) -> tuple[Array, Counts]:
    """Return states on the way to the targets that solvers make of standing ones, each its own."""
    if solver is not Solver.FORCE:
        aimed = replace(run.task, target=asked)
        return _started(natural, standing, aimed, run), np.zeros_like(run.task.iterations)
    if energy is not None and (settles := energy.only_settles).any():
        standing = np.where(settles, _started(natural, standing, run.task, run), standing)
    return pull_effectors(run, energy, standing)


def _bettered(
    run: Run,
    state: Array,
    used: Counts,
    standing: Array,
    asked: Array,
    aims: Aims | None,
    may_go_on: Flags,
    tries: Tries,
) -> tuple[Run, Array, Counts]:
    """Start anew what has not arrived, or not on the side of its pole; who ran last, and where."""
    is_open = run.is_open(state) & may_go_on
    if is_open.any():
        # Joints that cannot even straighten toward a target take the pose nearest to it as it is.
        before = run.task.target
        run = replace(run, task=replace(run.task, target=np.where(is_open, asked, before)))
        can_better = is_open & run.can_come_nearer(state, WORTH_A_JUMP)
        # What starts anew goes on beside that.
        is_moved = (asked != before).any(axis=0)
        state, used = run.closed(state, used, among=is_open & (is_moved | ~can_better))
        is_left = run.is_open(state) & is_open & run.can_come_nearer(state, WORTH_A_JUMP)
        rows = not_alone(np.flatnonzero(is_left), len(used))
        if rows.size:
            state, used = new_starts.bettered(run, state, used, rows, standing, aims, tries)
        # What has arrived closes to the tolerance, and what is as near as a straight chain gets
        # straightens slowly: both go on, as new starts do, which have caps of their own.
        onward = replace(run, task=replace(run.task, iterations=used + ENOUGH))
        rest = is_open & ~(is_left & run.is_open(state))
        state, spent = onward.closed(state, used, is_near_enough=False, among=rest)
        used = np.minimum(spent, np.maximum(used, run.task.iterations))
    is_aside = run.sides_past(state, aims) > ASIDE
    rows = not_alone(np.flatnonzero(is_aside & ~is_open & may_go_on), len(used))
    if rows.size and run.chain.can_swivel:
        state, used = new_starts.bettered(run, state, used, rows, standing, aims, ANEW_ASIDE)
    return run, state, used


def _started(natural: NaturalStart, standing: Array, task: Task, run: Run) -> Array:
    """Return the states that NEWTON starts from: what stands at its target stays.

    So does what slides: its bones may move to the target without a bend.
    """
    chain = run.chain
    is_bent = run.is_fresh & ~(chain.slide_high > chain.slide_low).any(axis=0)
    if len(chain.kinds) == 1 or not is_bent.any():
        return standing
    begun = chain.clamped_state(natural_start.led(natural, chain, task), standing[:-1, 4])
    return chain.chosen(is_bent, begun, standing)


def _aims(
    start: StartPose, chain: Jointed, start_turn: Array, task: Task, tip: Array | None
) -> Aims | None:
    has_side = task.pole is not None and len(chain.kinds) > 1
    if tip is None and not has_side:
        return None
    plan = plan_bend(ARRAYS, start.chord, start.side, start.reach, task.target, task.pole)
    chord, aside, _ = plan.frame
    side = aside if has_side else None
    if side is not None and task.use_flip is not None:
        side = np.where(task.use_flip, -side, side)
    posed = chain.posed(chain.state(start_turn, np.zeros_like(chain.slide_low)))
    tip_start = np.einsum("ijb,jkb->ikb", posed.frames[-1], posed.own[-1])
    return Aims(tip, tip_start, side, chord, start.reach)


def _shared(aims: Aims, chain: Jointed, state: Array, share: float) -> Aims:
    """Return aims whose tips turn a share of the way from where they stand without."""
    if aims.tip is None or share == 1.0:
        return aims
    free = chain.aiming(aims).state(state[:-1, :4], state[:-1, 4])
    past = free[-1, 4:7] / aims.weight
    return replace(aims, tip=turns.multiply(turns.by_vectors((1.0 - share) * past), aims.tip))


def _tip_gap(chain: Jointed, aims: Aims | None, state: Array) -> Array:
    if aims is None or aims.tip is None:
        return np.zeros(state.shape[-1])
    output = chain.aiming(aims).output(chain.posed(state))
    gap: Array = norm(output[4:7]) / aims.weight
    return gap


def _slide_holds(chain: Jointed, task: Task, state: Array) -> Flags:
    """Return the slides at ends of their ranges that a pull toward the target presses on."""
    error = task.target - state[-1, :3]
    is_open = norm(error) > np.maximum(task.tolerance, NEAR * chain.reach)
    pull = np.einsum("nib,ib->nb", chain.slid(chain.posed(state)), error)
    slide = state[:-1, 4]
    presses = (pull > 0.0) & (slide >= chain.slide_high - ON_EDGE)
    presses |= (pull < 0.0) & (slide <= chain.slide_low + ON_EDGE)
    holds: Flags = presses & (chain.slide_high > chain.slide_low) & is_open
    return holds


def _holds(chain: Jointed, task: Task, state: Array) -> Flags:
    """Return the edges that a pull toward the target presses against; none where it is met."""
    error = task.target - state[-1, :3]
    is_open = norm(error) > np.maximum(task.tolerance, NEAR * chain.reach)
    if not is_open.any():
        return np.zeros((len(chain.kinds), 3, state.shape[-1]), dtype=np.bool_)
    chain = chain.aiming(None)
    turn = state[:-1, :4]
    pull = np.einsum("nkcb,kb->ncb", chain.answers(chain.posed(state)), error)
    edges = chain.edges(turn)
    turned = np.einsum("ncdb,ndb->ncb", chain.mobilities(turn, edges), pull)
    press = np.einsum("neib,nib->neb", edges.normals, turned)
    # An axis with no room is a lock, not a limit that holds back.
    holds: Flags = edges.is_on & (press > 0.0) & ~edges.is_held & is_open
    return holds
