"""FORCE on chains with joints: pulled toward their targets, then settled in equilibrium."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from ..algebra.arithmetic import ARRAYS, Array, Counts, Flags
from ..algebra.arrays import norm
from ..algebra.nested import take_rows
from ..algebra.output_rows import EVERY
from ..descent.bone_rows import BoneRows
from ..descent.descent_settings import Settings
from ..descent.feasible_newton import minimise
from ..kinematics.aims import Aims
from ..kinematics.posed import State
from ..kinematics.task import Task
from ..model.forces import StepMode
from ..solvers import jacobian_transpose
from ..solving.iteration import (
    FEW_ITERATIONS,
    Progress,
    Work,
    iterate,
    judge_by_rate,
    stands_still,
)
from ..solving.joint_run import AIM_WEIGHTS, Run
from .potential_energy import EnergyRows, PotentialEnergy
from .pulled_energy import PULLED

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
SETTLE = Settings(
    measure=lambda bones, energy: EnergyRows(bones, energy).measure,
    rests=1e-6,
    least_shift=1e-6,
    first_shift=1e-3,
    held=EVERY,
    slight=1e-9,
)


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
    run: Run, energy: PotentialEnergy | None, standing: State
) -> tuple[State, Counts]:
    """Return what the force on the effectors makes of states, and the iterations used."""
    sweeps, caps = SWEEPS, np.minimum(run.iterations, FEW_ITERATIONS)
    if energy is not None and (energy.gain is not None or energy.mode is StepMode.CLASSIC):
        gain = CLASSIC_GAIN if energy.gain is None else energy.gain
        find = partial(jacobian_transpose.find_move_by_gain, mode=energy.mode, gain=gain)
        sweeps = replace(sweeps, step=partial(jacobian_transpose.step, find=find))
        if energy.gain is not None:
            # Nothing is handed over while it does much.
            sweeps, caps = replace(sweeps, is_hopeless=stands_still), run.iterations
    elif energy is not None:
        caps = np.where(energy.only_settles, 0, caps)
    slide, used = standing.slide, np.zeros_like(run.iterations)
    if not caps.any():
        return standing, used
    bones = BoneRows(run.tree, slide)
    begun = jacobian_transpose.begin(bones, standing.turn, run.target)
    work = Work(bones, run.target, run.tolerance, caps)
    found = iterate(ARRAYS, sweeps, work, Progress(begun[0], *begun, used))
    return run.tree.make_state(np.ascontiguousarray(found.best[0]), slide), found.used


def settle_chains(
    run: Run, state: State, used: Counts, energy: PotentialEnergy, aims: Aims | None
) -> tuple[State, Counts]:
    """Return chains settled where they have come to, also those that have not arrived.

    Of aims is kept what has been met.
    """
    rested, used = _settle(run, state, used, energy, aims)
    is_lost = ~run.is_open(state) & run.is_open(rested)
    return state.choose(is_lost, rested), used


def _settle(
    run: Run, state: State, used: Counts, energy: PotentialEnergy, aims: Aims | None
) -> tuple[State, Counts]:
    """Return poses of least energy nearby, and iterations used.

    Effectors that have arrived are held at their targets, and their aims where they are.
    """
    chain = run.tree
    weighted = None
    if aims is not None:
        weighted = replace(aims, weight=AIM_WEIGHTS[-1] * chain.reach)
    joints = chain.joints
    if joints.has_stiffness:
        # How readily a joint turns says nothing of where it rests.
        joints = replace(joints, mobility=np.ones_like(joints.mobility))
    free, is_open = replace(chain, joints=joints, aims=weighted), run.is_open(state)
    output = free.restate(state).output
    wanted = np.where(is_open, 0.0, output)
    wanted[:3] = run.target
    caps = np.clip(run.iterations - used, 0, ENOUGH_TO_SETTLE)
    caps = np.where(energy.acts & (free.joints.free_axes.size > 0), caps, 0)
    turn, used = state.turn.copy(), used.copy()
    most = max(1, MOST_EQUATIONS // (3 * len(turn)) ** 2)
    ways = (SETTLE, energy, wanted, ~is_open), (PULLED, (energy, wanted), wanted[:0], is_open)
    for settings, acting, held, among in ways:
        rows = np.flatnonzero(caps * among)
        for part in (rows[first : first + most] for first in range(0, len(rows), most)):
            given = take_rows((free, state.turn, state.slide, acting, held, caps), part)
            ended = minimise(settings, *given, is_alone=run.is_alone)
            turn[..., part] = ended.turn
            used[part] += ended.used
    return chain.make_state(turn, state.slide), used
