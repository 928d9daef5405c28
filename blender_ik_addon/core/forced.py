"""FORCE on jointed chains: pulled toward their targets, then left to settle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import limited_force, settling
from .effort import Effort
from .force import no_memory
from .forces import StepMode
from .iterate import FEW_ITERATIONS, Method, stands_still, sweeps_of
from .jointed import Aims
from .limited_run import Run
from .settling import ENOUGH_TO_SETTLE
from .vectors import Array, Counts, norm

# Chains on which forces act come first as near as this share of the reach.
ROUGHLY = 0.01
SWEEPS = sweeps_of(limited_force.step)


def swept(run: Run, effort: Effort | None, standing: Array) -> tuple[Array, Counts]:
    """Return what the force on the effectors makes of states, and the iterations used."""
    used = np.zeros_like(run.task.iterations)
    sweeps, caps = SWEEPS, np.minimum(run.task.iterations, FEW_ITERATIONS)
    if effort is not None and (effort.gain is not None or effort.mode is StepMode.CLASSIC):
        # Who sets a gain wants to see what it does: nothing is handed over while it does much.
        gain = limited_force.CLASSIC_GAIN if effort.gain is None else effort.gain
        step = limited_force.fixed_step(effort.mode, gain)
        sweeps, caps = Method(step, is_hopeless=stands_still, run_in=1), run.task.iterations
    elif effort is not None:
        # Chains that settle afterwards need not arrive exactly before.
        rough = np.where(effort.acts, ROUGHLY * run.chain.reach, 0.0)
        task = replace(run.task, tolerance=np.maximum(run.task.tolerance, rough))
        run = replace(run, task=task)
    memory = no_memory(len(run.chain.kinds), standing.shape[-1])
    return run.swept(sweeps, standing, used, caps, memory)


def settled(
    run: Run, state: Array, used: Counts, effort: Effort, aims: Aims | None
) -> tuple[Array, Counts]:
    """Return chains settled where they have come to, also those that have not arrived."""
    is_open = run.is_open(state)
    stay = np.where(is_open, state[-1, :3], run.task.target)
    caps = np.minimum(run.task.iterations, used + ENOUGH_TO_SETTLE)
    rested, used = settling.settled(run.chain, effort, state, stay, aims, used, caps)
    is_lost = ~is_open & run.is_open(rested)
    gap, before = norm(run.task.target - rested[-1, :3]), norm(run.task.target - state[-1, :3])
    is_lost |= gap > before + run.accepted
    return np.where(is_lost, state, rested), used
