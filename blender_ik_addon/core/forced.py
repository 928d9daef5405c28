"""FORCE on jointed chains: pulled toward their targets, then left to settle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import limited_force, settling
from .aims import Aims
from .effort import Effort
from .force import no_memory
from .forces import StepMode
from .iterate import FEW_ITERATIONS
from .limited_run import Run
from .settling import ENOUGH_TO_SETTLE
from .solving.iteration import Method, stands_still, sweeps_of
from .task import Task
from .vectors import Array, Counts, Flags, norm

# Where a target is too far or too near, chains that settle stay less than straight, or folded, by
# this share of the reach: else there is no way to turn by which the effector stays.
OFF_THE_ENDS = 1e-4
# Less than this is no way to go.
NONE = 1e-300
SWEEPS = sweeps_of(limited_force.step)


def only_settle(effort: Effort) -> Flags:
    """Return of which chains only the pose that they settle in matters, not the way there, (B,).

    Who sets a gain, or a step known from elsewhere, wants to see what it does.
    """
    has_own_step = effort.gain is not None or effort.mode is StepMode.CLASSIC
    return effort.acts & (not has_own_step)


def off_the_ends(
    task: Task, asked: Array, effort: Effort, is_unlimited: Flags, least: Array, most: Array
) -> tuple[Task, Array]:
    """Return a task, and the targets (3, B) as asked, moved to where chains can settle.

    Args:
        task: What is asked for.
        asked: Its targets as they are, shape (3, B).
        effort: What acts on the bones.
        is_unlimited: Which chains have no limits, shape (B,). Others may not fold or straighten as
            far as their lengths allow: what is asked of them stays, to get as near as they can.
        least: Nearer than this no effector gets to its root, shape (B,).
        most: Farther neither, shape (B,).
    """
    size, room = norm(asked), OFF_THE_ENDS * most
    farthest = np.maximum(most - room, 0.5 * (least + most))
    nearest = np.minimum(least + room, farthest)
    allowed = np.where(size > most, farthest, np.where(size < least, nearest, size))
    is_moved = effort.acts & (allowed != size) & (size > 0.0)
    if not is_moved.any():
        return task, asked
    moved = asked * np.where(is_moved, allowed / np.where(is_moved, size, 1.0), 1.0)
    task = replace(task, target=np.where(is_moved, moved, task.target))
    return task, np.where(is_unlimited, moved, asked)


def swept(run: Run, effort: Effort | None, standing: Array) -> tuple[Array, Counts]:
    """Return what the force on the effectors makes of states, and the iterations used."""
    used = np.zeros_like(run.task.iterations)
    sweeps, caps = SWEEPS, np.minimum(run.task.iterations, FEW_ITERATIONS)
    if effort is not None and (effort.gain is not None or effort.mode is StepMode.CLASSIC):
        # Nothing is handed over while it does much.
        gain = limited_force.CLASSIC_GAIN if effort.gain is None else effort.gain
        step = limited_force.fixed_step(effort.mode, gain)
        sweeps, caps = Method(step, is_hopeless=stands_still, run_in=1), run.task.iterations
    elif effort is not None:
        caps = np.where(only_settle(effort), 0, caps)
    memory = no_memory(len(run.chain.kinds), standing.shape[-1])
    return run.swept(sweeps, standing, used, caps, memory)


def no_farther(run: Run, state: Array, used: Counts, standing: Array) -> tuple[Array, Counts]:
    """Return states without those that have been led farther away than chains stood."""
    gap, before = (norm(run.task.target - each[-1, :3]) for each in (state, standing))
    is_lost = run.is_open(state) & (gap > before)
    if not is_lost.any():
        return state, used
    # From where it stood a chain gets at least as near.
    again, used = run.closed(np.where(is_lost, standing, state), used)
    return np.where(is_lost, again, state), used


def settled(
    run: Run, state: Array, used: Counts, effort: Effort, aims: Aims | None
) -> tuple[Array, Counts]:
    """Return chains settled where they have come to, also those that have not arrived."""
    is_open = run.is_open(state)
    begun, used = _stepped_back(run, state, used, is_open & effort.acts)
    stay = np.where(is_open, begun[-1, :3], run.task.target)
    caps = np.minimum(run.task.iterations, used + ENOUGH_TO_SETTLE)
    rested, used = settling.settled(run.chain, effort, begun, stay, aims, used, caps)
    is_lost = ~is_open & run.is_open(rested)
    room = OFF_THE_ENDS * run.chain.reach * is_open
    gap, before = (norm(run.task.target - each[-1, :3]) for each in (rested, state))
    is_lost |= gap > before + room + run.accepted
    return np.where(is_lost, state, rested), used


def _stepped_back(run: Run, state: Array, used: Counts, is_moved: Flags) -> tuple[Array, Counts]:
    """Return states a little off where limits let no joint turn nearer, as off the other ends."""
    # One bone only turns about its way to the target.
    if len(run.chain.kinds) == 1 or not is_moved.any():
        return state, used
    error = run.task.target - state[-1, :3]
    share = np.where(is_moved, OFF_THE_ENDS * run.chain.reach, 0.0) / np.maximum(norm(error), NONE)
    stay = state[-1, :3] - share * error
    return replace(run, task=replace(run.task, target=stay)).closed(
        state, used, is_near_enough=False
    )
