"""FORCE on chains with joints: pull effectors to targets, then settle in equilibrium."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..algebra.arithmetic import ARRAYS, Array, Counts, Flags
from ..algebra.arrays import norm
from ..algebra.nested import take_rows
from ..algebra.output_rows import ALL_OUTPUTS
from ..descent.bone_rows import BoneRows
from ..descent.descent_settings import DescentSettings
from ..descent.feasible_newton import minimise
from ..kinematics.aims import Aims
from ..kinematics.posed import State
from ..kinematics.task import Task
from ..model.forces import StepMode
from ..solvers import jacobian_transpose
from ..solving.iteration import (
    RUN_IN_ITERATIONS,
    Progress,
    Work,
    is_stalled,
    iterate,
    judge_by_rate,
)
from ..solving.joint_run import AIM_WEIGHTS, Run
from .potential_energy import EnergyRows, PotentialEnergy
from .target_springs import PULLED

# Distance that chains which settle keep from full extension and from full folding, as a share of
# the reach: there no turn leaves the effector where it is.
EXTENSION_MARGIN = 1e-4
# The same for targets at full reach, which they still reach, of chains without poles and turned
# tips: nearer to it, last digits decide how many steps they take.
LEAST_MARGIN = 1e-10
# Gain of CLASSIC steps where no gain is set.
CLASSIC_GAIN = 0.2
# Largest count of iterations to settle. Most chains take about ten; long loose chains with much
# slack take up to 200.
MAX_SETTLING_ITERATIONS = 250
# Largest count of numbers in systems that are solved at once: those of many long chains fill the
# memory.
MAX_EQUATIONS = 4_000_000
SWEEPS = judge_by_rate(jacobian_transpose.step)
SETTLE = DescentSettings(
    measure=lambda bones, energy: EnergyRows(bones, energy).measure,
    rest_turn=1e-6,
    least_shift=1e-6,
    first_shift=1e-5,
    held=ALL_OUTPUTS,
    stall_share=1e-9,
)


def avoid_full_extension(
    task: Task,
    goal: Array,
    energy: PotentialEnergy,
    is_unlimited: Flags,
    is_softened: Flags,
    least: Array,
    most: Array,
) -> tuple[Task, Array]:
    """Return a task, and its goals (3, B), moved to where chains can settle.

    Effectors can be as near to roots as ``least``, and as far as ``most``, both (B,). Chains with
    limits may not fold or straighten as far as their lengths allow: their goals stay, so that they
    get as near as they can. Softened goals come as near to full reach as their targets are far.
    """
    distance, margin = norm(goal), EXTENSION_MARGIN * most
    farthest = np.maximum(most - margin, 0.5 * (least + most))
    nearest = np.minimum(least + margin, farthest)
    has_aims = task.pole is not None or task.tip is not None
    reached = distance if has_aims else np.minimum(distance, (1.0 - LEAST_MARGIN) * most)
    within = np.where(is_softened, np.minimum(distance, farthest), reached)
    allowed = np.where(distance > most, farthest, np.where(distance < least, nearest, within))
    is_moved = energy.acts & (allowed != distance) & (distance > 0.0)
    if not is_moved.any():
        return task, goal
    moved = goal * np.where(is_moved, allowed / np.where(is_moved, distance, 1.0), 1.0)
    task = replace(task, target=np.where(is_moved, moved, task.target))
    return task, np.where(is_unlimited, moved, goal)


def pull_effectors(run: Run, energy: PotentialEnergy | None, start: State) -> tuple[State, Counts]:
    """Return the states after iterations with a force on the effectors, and their count."""
    sweeps, caps = SWEEPS, np.minimum(run.iterations, RUN_IN_ITERATIONS)
    if energy is not None and (energy.gain is not None or energy.mode is StepMode.CLASSIC):
        gain = CLASSIC_GAIN if energy.gain is None else energy.gain
        find = partial(jacobian_transpose.find_move_by_gain, mode=energy.mode, gain=gain)
        sweeps = replace(sweeps, step=partial(jacobian_transpose.step, find=find))
        if energy.gain is not None:
            # Steps with a set gain end only when they hardly move anything.
            sweeps, caps = replace(sweeps, stop_test=is_stalled), run.iterations
    elif energy is not None:
        caps = np.where(energy.only_settles, 0, caps)
    slide, used = start.slide, np.zeros_like(run.iterations)
    if not caps.any():
        return start, used
    bones = BoneRows(run.tree, slide)
    first = jacobian_transpose.begin(bones, start.turn, run.target)
    work = Work(bones, run.target, run.tolerance, caps)
    progress = iterate(ARRAYS, sweeps, work, Progress(first[0], *first, used))
    return run.tree.make_state(np.ascontiguousarray(progress.best[0]), slide), progress.used


def settle_chains(
    run: Run, state: State, used: Counts, energy: PotentialEnergy, aims: Aims | None
) -> tuple[State, Counts]:
    """Return chains settled near their states, also those that have not arrived.

    Chains that arrived keep their states if settling loses their goals or aims.
    """
    settled, used = _settle(run, state, used, energy, aims)
    is_lost = ~run.is_open(state) & run.is_open(settled)
    return state.choose(is_lost, settled), used


def _settle(
    run: Run, state: State, used: Counts, energy: PotentialEnergy, aims: Aims | None
) -> tuple[State, Counts]:
    """Return poses at local minima of the energy, and the iterations used.

    Effectors that have arrived are held at their targets, and their aims at their outputs.
    """
    chain = run.tree
    weighted = None if aims is None else replace(aims, weight=AIM_WEIGHTS[-1] * chain.reach)
    joints = chain.joints
    if joints.has_stiffness:
        # The mobility of a joint does not change its equilibrium.
        joints = replace(joints, mobility=np.ones_like(joints.mobility))
    tree, is_open = replace(chain, joints=joints, aims=weighted), run.is_open(state)
    output = tree.restate(state).output
    goal = np.where(is_open, 0.0, output)
    goal[:3] = run.target
    settles = energy.acts & (tree.joints.free_axes.size > 0)
    turn, used = state.turn.copy(), used.copy()
    max_rows = max(1, MAX_EQUATIONS // (3 * len(turn)) ** 2)

    def descend(settings: DescentSettings, loads: Any, target: Array, flags: Flags) -> None:
        caps = np.clip(run.iterations - used, 0, MAX_SETTLING_ITERATIONS)
        rows = np.flatnonzero(caps * (settles & flags))
        for batch in (rows[first : first + max_rows] for first in range(0, len(rows), max_rows)):
            inputs = take_rows((tree, turn, state.slide, loads, target, caps), batch)
            result = minimise(settings, *inputs, is_alone=run.is_alone)
            turn[..., batch] = result.turn
            used[batch] += result.used

    descend(SETTLE, energy, goal, ~is_open)
    descend(PULLED, (energy, goal), goal[:0], is_open)
    return chain.make_state(turn, state.slide), used
