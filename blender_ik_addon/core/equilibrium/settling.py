"""FORCE on chains with joints: pulled toward their targets, then settled in equilibrium."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.arrays import norm
from ..algebra.nested import repeat_single, take_rows
from ..kinematics.aims import Aims
from ..kinematics.kinematic_tree import STATE_COLUMNS
from ..model.forces import StepMode
from ..solvers import jacobian_transpose
from ..solvers.newton_directions import FIRST_DAMPING
from ..solving.iteration import (
    FEW_ITERATIONS,
    Method,
    Work,
    iterate_states,
    judge_by_rate,
    stands_still,
)
from ..solving.joint_run import AIM_WEIGHTS, Run
from ..solving.task import Task
from . import kkt_step
from .kkt_step import RESTS
from .potential_energy import PotentialEnergy

# Where a target is too far or too near, chains that settle stay less than straight, or folded, by
# this share of the reach: else there is no way to turn by which the effector stays.
OFF_THE_ENDS = 1e-4
# What CLASSIC takes where no gain is given.
CLASSIC_GAIN = 0.2
# Iterations to settle. Most take about ten; long loose chains with much slack up to 200.
ENOUGH_TO_SETTLE = 250
# Numbers of equations that are solved at once: the systems of many long chains fill a memory.
MOST_EQUATIONS = 4_000_000
SWEEPS = judge_by_rate(jacobian_transpose.step)
SETTLE = Method(kkt_step.step, is_damped=True)


def move_off_ends(
    task: Task,
    asked: Array,
    energy: PotentialEnergy,
    is_unlimited: Flags,
    least: Array,
    most: Array,
) -> tuple[Task, Array]:
    """Return a task, and its targets (3, B) as asked, moved to where chains can settle.

    Effectors get as near to roots as ``least``, and as far as ``most``, both (B,). Chains that are
    not unlimited may not fold or straighten as far as their lengths allow: what is asked of them
    stays, to get as near as they can.
    """
    size, room = norm(asked), OFF_THE_ENDS * most
    farthest = np.maximum(most - room, 0.5 * (least + most))
    nearest = np.minimum(least + room, farthest)
    allowed = np.where(size > most, farthest, np.where(size < least, nearest, size))
    is_moved = energy.acts & (allowed != size) & (size > 0.0)
    if not is_moved.any():
        return task, asked
    moved = asked * np.where(is_moved, allowed / np.where(is_moved, size, 1.0), 1.0)
    task = replace(task, target=np.where(is_moved, moved, task.target))
    return task, np.where(is_unlimited, moved, asked)


def pull_effectors(
    run: Run, energy: PotentialEnergy | None, standing: Array
) -> tuple[Array, Counts]:
    """Return what the force on the effectors makes of states, and the iterations used."""
    used = np.zeros_like(run.iterations)
    sweeps, caps = SWEEPS, np.minimum(run.iterations, FEW_ITERATIONS)
    if energy is not None and (energy.gain is not None or energy.mode is StepMode.CLASSIC):
        # Nothing is handed over while it does much.
        gain = CLASSIC_GAIN if energy.gain is None else energy.gain
        step = partial(jacobian_transpose.step_by_gain, mode=energy.mode, gain=gain)
        sweeps, caps = Method(step, is_hopeless=stands_still, run_in=1), run.iterations
    elif energy is not None:
        caps = np.where(energy.only_settles, 0, caps)
    memory = jacobian_transpose.begin_memory(len(run.tree.joints.kinds), standing.shape[-1])
    return run.sweep(sweeps, standing, used, caps, memory)


def undo_losses(run: Run, state: Array, used: Counts, standing: Array) -> tuple[Array, Counts]:
    """Return states without those that have been led farther away than chains stood."""
    gap, before = (norm(run.target - each[-1, :3]) for each in (state, standing))
    is_lost = run.is_open(state) & (gap > before)
    if not is_lost.any():
        return state, used
    # From where it stood a chain gets at least as near.
    again, used = run.close(np.where(is_lost, standing, state), used)
    return np.where(is_lost, again, state), used


def settle_chains(
    run: Run, state: Array, used: Counts, energy: PotentialEnergy, aims: Aims | None
) -> tuple[Array, Counts]:
    """Return chains settled where they have come to, also those that have not arrived.

    Of aims is kept what has been met.
    """
    is_open = run.is_open(state)
    begun, used = _step_back(run, state, used, is_open & energy.acts)
    stay = np.where(is_open, begun[-1, :3], run.target)
    rested, used = _settle(run, begun, stay, used, energy, aims)
    is_lost = ~is_open & run.is_open(rested)
    room = OFF_THE_ENDS * run.tree.reach * is_open
    gap, before = (norm(run.target - each[-1, :3]) for each in (rested, state))
    is_lost |= gap > before + room + run.accepted
    return np.where(is_lost, state, rested), used


def _step_back(run: Run, state: Array, used: Counts, is_moved: Flags) -> tuple[Array, Counts]:
    """Return states a little off where limits let no joint turn nearer, as off the other ends."""
    # One bone only turns about its way to the target.
    if len(run.tree.joints.kinds) == 1 or not is_moved.any():
        return state, used
    error = run.target - state[-1, :3]
    share = np.where(is_moved, OFF_THE_ENDS * run.tree.reach, 0.0) / np.maximum(norm(error), 1e-300)
    back = replace(run, target=(state[-1, :3] - share * error))
    return back.close(state, used, is_moved)


def _settle(
    run: Run,
    state: Array,
    target: Array,
    used: Counts,
    energy: PotentialEnergy,
    aims: Aims | None,
) -> tuple[Array, Counts]:
    """Return poses of least energy nearby, effectors at targets (3, B), and iterations used."""
    chain = run.tree
    weighted = None if aims is None else replace(aims, weight=AIM_WEIGHTS[-1] * chain.reach)
    # How readily a joint turns says nothing of where it rests.
    joints = replace(chain.joints, mobility=np.ones_like(chain.joints.mobility))
    free = replace(chain, joints=joints, aims=weighted)
    state, used = free.make_state(state[:-1, :4], state[:-1, 4]), used.copy()
    kept = np.zeros((STATE_COLUMNS + 1, state.shape[-1]))
    kept[:STATE_COLUMNS], kept[:3] = state[-1], target
    caps = np.minimum(run.iterations, used + ENOUGH_TO_SETTLE)
    can_move = energy.acts & (caps > used) & (free.joints.free_axes.size > 0)
    rows = repeat_single(np.flatnonzero(can_move), len(can_move))
    most = max(1, MOST_EQUATIONS // (3 * len(chain.joints.kinds) + STATE_COLUMNS) ** 2)
    for part in (rows[first : first + most] for first in range(0, len(rows), most)):
        sprung, stay = take_rows(((free, energy), kept), part)
        work = Work(sprung, stay, RESTS * chain.reach[part], caps[part])
        begun, damping = (
            np.pad(take_rows(state, part), ((0, 0), (0, 1), (0, 0))),
            np.full(len(part), FIRST_DAMPING),
        )
        begun[-1, STATE_COLUMNS] = np.inf
        rested, used[part] = iterate_states(SETTLE, work, begun, used[part], damping)
        state[..., part] = rested[:, :STATE_COLUMNS]
    return chain.make_state(state[:-1, :4], state[:-1, 4]), used
