"""Chains that ease toward their targets without Blender, from pose to pose.

Every joint turns from where it stands toward where a solve wants it, the faster the farther, so
that what is left shrinks to 1/e in each span of the *ease*, but never faster than the *fastest*.
Where it goes is what ``solve_batch`` gives from the start pose, so a target that stands still is
met exactly, by the pose that a solve without history has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from blender_ik_addon.core import Chain, Chains, Goal, Goals, Solution, Solutions, SolveOptions
from blender_ik_addon.core.algebra import turns
from blender_ik_addon.core.algebra.arithmetic import Array, Flags
from blender_ik_addon.core.algebra.arrays import norm
from blender_ik_addon.core.model.status import BLENDED, REACHED
from blender_ik_addon.core.solving.compiled_chains import compile_chains
from blender_ik_addon.core.solving.joint_chains import drop_joints
from blender_ik_addon.core.solving.solve import solve_batch
from blender_ik_addon.rig.posing.easing import Stance, eased
from blender_ik_addon.rig.reading.spec import Easing

# Nearer than this, in radians or in lengths of the chain, a joint has arrived: it stands still.
ARRIVED = 1e-9


@dataclass(frozen=True)
class History:
    """Where B chains of n bones stood, and where they were going.

    Attributes:
        rotations_wxyz: Local rotations of the bones, shape (B, n, 4).
        wanted_wxyz: Those that the last solve wanted, shape (B, n, 4).
        slides: Shape (B, n).
        wanted_slides: Shape (B, n).
    """

    rotations_wxyz: Array
    wanted_wxyz: Array
    slides: Array
    wanted_slides: Array


def advance_batch(
    chains: Chains,
    goals: Goals,
    options: SolveOptions,
    easing: Easing,
    history: History | None,
    seconds: float,
) -> tuple[Solutions, History]:
    """Return the poses of chains some time after their last ones.

    What chains aim at moves evenly from what it was to what it is, so the same motion comes out
    whatever the frame rate.

    Args:
        chains: Start poses; without joints they are given free ones.
        goals: One a chain.
        options: How to solve for the poses that are aimed at.
        easing: How to go there.
        history: What the last call returned; None stands in the start poses.
        seconds: Since then, zero or more.

    Returns:
        The solutions, told as ``solve_batch`` tells them, and the history for the next call.

    Raises:
        InvalidOptionError: If the time is not a finite number of seconds, zero or more.

    Source: as ``easing.eased``.
    """
    found = solve_batch(_jointed(chains), goals, options)
    return _come_nearer(chains, goals, options, found, easing, history, seconds)


def move(
    chain: Chain, targets: Array, options: SolveOptions, easing: Easing, seconds: float
) -> list[Solution]:
    """Return the poses of one chain whose target stands at places (f, 3) at frames, the first new.

    What it aims at hangs on no history: all frames are solved side by side, alike ones once.

    Args:
        chain: Start pose.
        targets: Where the target stands.
        options: As in ``advance_batch``.
        easing: How to go there.
        seconds: From frame to frame.
    """
    places, numbers = np.unique(targets, axis=0, return_inverse=True)
    chains, solutions, history = chain.as_batch(), [], None
    alike = _jointed(chains).take(np.zeros(len(places), int))
    found = solve_batch(alike, Goals(places), options)
    for number in numbers.ravel():
        goals, aim = Goals(places[[number]]), found[number].as_batch()
        time = 0.0 if history is None else seconds
        passed, history = _come_nearer(chains, goals, options, aim, easing, history, time)
        solutions.append(passed[0])
    return solutions


def _jointed(chains: Chains) -> Chains:
    """Return chains with joints, free ones if they have none."""
    return chains if chains.joints is not None else compile_chains(chains).unconstrained


def _come_nearer(
    given: Chains,
    goals: Goals,
    options: SolveOptions,
    found: Solutions,
    easing: Easing,
    history: History | None,
    seconds: float,
) -> tuple[Solutions, History]:
    """Return the poses of chains some time after their last ones, on the way to what was found."""
    chains = _jointed(given)
    compiled = compile_chains(chains)
    assert found.local_rotations_wxyz is not None
    assert found.slides is not None
    wanted, wanted_slides = compiled.tree.joints.inner(found.local_rotations_wxyz), found.slides.T
    turn, slide = _eased(chains, wanted, wanted_slides, easing, history, seconds)
    reach = compiled.start.reach * compiled.start.unit
    is_there = _is_there(turn, wanted, (slide - wanted_slides) / reach)
    turn, slide = np.where(is_there, wanted, turn), np.where(is_there, wanted_slides, slide)
    local = compiled.tree.joints.outer(turn)
    passed = _on_the_way(chains, goals, options, found, turn, slide, is_there)
    history = History(
        local, found.local_rotations_wxyz, np.ascontiguousarray(slide.T), found.slides
    )
    passed = replace(passed, local_rotations_wxyz=local, slides=history.slides)
    if given.joints is None:
        passed = drop_joints(given, passed, goals, options)
    return passed, history


def advance(
    chain: Chain,
    goal: Goal,
    options: SolveOptions,
    easing: Easing,
    history: History | None,
    seconds: float,
) -> tuple[Solution, History]:
    """Return the pose of one chain some time after its last one; as ``advance_batch``."""
    chains, goals = chain.as_batch(), goal.as_batch()
    solutions, history = advance_batch(chains, goals, options, easing, history, seconds)
    return solutions[0], history


def _eased(
    chains: Chains,
    wanted: Array,
    wanted_slides: Array,
    easing: Easing,
    history: History | None,
    seconds: float,
) -> Stance:
    """Return how chains stand a time after a history."""
    joints = compile_chains(chains).tree.joints
    turn, slide = compile_chains(chains).clamped_start, np.zeros_like(wanted_slides)
    before, before_slides = wanted, wanted_slides
    if history is not None:
        turn, before = joints.inner(history.rotations_wxyz), joints.inner(history.wanted_wxyz)
        slide, before_slides = history.slides.T, history.wanted_slides.T
    reach = compile_chains(chains).start.reach * compile_chains(chains).start.unit
    return eased(
        Stance(turn, slide),
        Stance(before, before_slides),
        Stance(wanted, wanted_slides),
        np.broadcast_to(reach, slide.shape),
        easing,
        seconds,
        joints.clamped,
    )


def _is_there(turn: Array, wanted: Array, off: Array) -> Flags:
    """Tell which chains have come to where they go, shape (B,)."""
    left = turns.to_vectors(turns.multiply(turns.conjugate(turn), wanted))
    nearest = np.maximum(norm(left).max(axis=0), np.abs(off).max(axis=0))
    is_there: Flags = nearest <= ARRIVED
    return is_there


def _on_the_way(
    chains: Chains,
    goals: Goals,
    options: SolveOptions,
    found: Solutions,
    turn: Array,
    slide: Array,
    is_there: Flags,
) -> Solutions:
    """Return solutions with poses that chains have got to, and what is said of them."""
    start, tree = compile_chains(chains).start, compile_chains(chains).tree
    posed = tree.posed(tree.make_state(turn, slide / start.unit))
    joints = (posed.points * start.unit + start.root).transpose(2, 0, 1)
    residuals = norm((joints[:, -1] - goals.target_position).T)
    is_reached = residuals <= options.tolerance
    codes = np.where(is_reached, REACHED, BLENDED)
    return replace(
        found,
        joint_positions=joints,
        residual=np.where(is_there, found.residual, residuals),
        status_code=np.where(is_there, found.status_code, codes).astype(np.int8),
    )
