"""The status of a solve, in words for an animator."""

from __future__ import annotations

import math

from ...core import Solver, Status
from ..posing.outcome import Outcome
from ..reading.refusals import listed
from .lengths import LengthUnit, is_visible, length_in_words

# Minimum gap of the tip's rotation that can be seen, in radians.
SMALLEST_TIP_GAP = 1e-3
ONE_LEFT = (
    "the tip takes this rotation, so only one bone is left to reach the target; set Rotation"
    " Bone to Hand or Foot, or lengthen the chain"
)
NO_HAND = (
    "no bone takes the target's rotation, because no single bone begins where the tip ends:"
    " lengthen the chain, or switch Rotation off"
)


def outcome_in_words(outcome: Outcome, unit: LengthUnit) -> str:
    """Return the status line of a solve, with lengths as a scene shows them."""
    text = _ending_in_words(outcome, unit)
    if outcome.put_back:
        text = (
            f"This chain poses {listed(outcome.put_back)}, so your change was reverted: move the"
            f" target, or switch to FK to pose by hand. {text}"
        )
    if outcome.lacks_hand:
        text += f"; {NO_HAND}"
    if outcome.connected:
        bones = listed(outcome.connected)
        text += f"; connected bones cannot slide, clear Connected in edit mode: {bones}"
    if outcome.location_locked:
        bones = listed(outcome.location_locked)
        text += f"; bones with a locked location cannot slide, unlock their location: {bones}"
    return text


def _ending_in_words(outcome: Outcome, unit: LengthUnit) -> str:
    """Return how a solve ended."""
    gap = length_in_words(outcome.residual, unit)
    status, is_limited = outcome.status, outcome.status is Status.LIMITED
    if outcome.has_locks and status is not Status.REACHED and not (is_limited and outcome.held_by):
        return (
            f"Held back by locked rotation channels, {gap} left: unlock them, or shorten the chain"
        )
    if status is Status.REACHED:
        text = _reached_in_words(outcome, gap if is_visible(outcome.residual, unit) else "")
    else:
        text = _gap_in_words(outcome, gap)
    if outcome.lacks_stretch and status in (Status.EXTENDED, Status.SOFTENED):
        text += "; to stretch, set IK Stretch on the bones and unlock their Y scale"
    is_there = status is not Status.BLENDED and not is_limited
    if outcome.tip_gap > SMALLEST_TIP_GAP and is_there:
        text += f"; {_tip_in_words(outcome)}"
    return text


def _gap_in_words(outcome: Outcome, gap: str) -> str:
    """Return why an effector is not at its target."""
    status = outcome.status
    if status in (Status.LIMITED, Status.OUTWEIGHED, Status.ITERATIONS_USED_UP):
        return _failure_in_words(outcome, gap)
    if outcome.only_turns and status in (Status.EXTENDED, Status.FOLDED):
        if outcome.why.turns_tip_first:
            return f"Turned like its target, {gap} away"
        return f"Points at its target, {gap} away"
    short = f"{gap} with the target's rotation" if outcome.why.turns_tip_first else gap
    blended = f"Part of the way because of influence, {gap} left"
    if outcome.is_eased:
        blended = f"On its way, {gap} left"
    if outcome.why.is_one_left:
        extended = folded = ONE_LEFT
    else:
        extended, folded = "extended", "folded"
    return {
        Status.EXTENDED: f"Out of reach by {short}: {extended}",
        Status.FOLDED: f"Too near by {short}: {folded}",
        Status.SOFTENED: f"Kept {gap} short of the target by the soft distance",
        Status.BLENDED: blended,
    }[status]


def _reached_in_words(outcome: Outcome, gap: str) -> str:
    """Return that a target is reached, with the iterations and the gap unless it is empty."""
    iterations = _iterations(outcome) if outcome.iterations else ""
    if gap and iterations:
        return f"Reached ({gap}, {iterations})"
    gap = gap or iterations
    return f"Reached ({gap})" if gap else "Reached"


def _failure_in_words(outcome: Outcome, gap: str) -> str:
    """Return why an effector misses a target within the reach of its chain alone and unlimited."""
    options, status = outcome.why.options, outcome.status
    is_used_up = bool(outcome.iterations >= options.iterations)
    is_cut_off = status is Status.ITERATIONS_USED_UP and is_used_up
    if outcome.pins:
        return _pinned_in_words(outcome, gap)
    # Locked joints do not move in any sweep: more iterations or another solver would not help.
    if outcome.why.is_rigid and status is not Status.OUTWEIGHED:
        return f"Held back by locked joints, {gap} left"
    is_bare = options.solver in (Solver.FABRIK, Solver.CCD) and not options.use_finish
    if is_bare and status is not Status.OUTWEIGHED:
        return _bare_in_words(outcome, gap, is_cut_off=is_cut_off)
    if status is Status.LIMITED and outcome.held_by:
        return f"Held back by the limits of {listed(outcome.held_by)}, {gap} left"
    if status is Status.OUTWEIGHED and outcome.outweighed_by:
        return f"Outweighed by {listed(outcome.outweighed_by)}: {gap} off"
    if status is not Status.ITERATIONS_USED_UP and outcome.why.has_locked_joints:
        return f"Held back by locked joints, {gap} left"
    if is_cut_off:
        iterations = _iterations(outcome)
        if options.solver is Solver.NEWTON:
            return f"Stopped {gap} short after {iterations}: raise Iterations"
        return (
            f"Stopped {gap} short after {iterations}: raise Iterations or choose the solver Newton"
        )
    return f"Stopped {gap} short: no nearer pose was found"


def _pinned_in_words(outcome: Outcome, gap: str) -> str:
    """Return which pins and other effectors of its body hold a chain back."""
    pins, others = outcome.pins, outcome.outweighed_by
    if others:
        return f"Held back by {listed(pins)} (pinned), {listed(others)}: {gap}"
    if len(pins) == 2:
        first, second = pins
        return f"Held back by {first} and {second} (pinned): {gap}"
    return f"Held back by {listed(pins)} (pinned): {gap}"


def _bare_in_words(outcome: Outcome, gap: str, *, is_cut_off: bool) -> str:
    """Return why FABRIK or CCD without a finish stops short; Newton would reach the target."""
    text = f"{gap} left because Finish with Newton is off: switch it on"
    if is_cut_off:
        text = (
            f"Stopped {gap} short after {_iterations(outcome)}: switch Finish with Newton on,"
            " or raise Iterations"
        )
    # A joint at its limit need not be the reason: a solve that stops short may be at harmless ones.
    if outcome.held_by:
        text += f". At their limits: {listed(outcome.held_by)}"
    return text


def _tip_in_words(outcome: Outcome) -> str:
    """Return by which angle the tip is off the target's rotation, and why."""
    first = "the position comes first"
    if outcome.why.is_tip_beyond:
        first = "its own joint limits it"
    elif outcome.why.is_at_limits or outcome.why.has_locked_joints:
        first = "position and joints come first"
    degrees = f"{math.degrees(outcome.tip_gap):.1f}"
    angle = f"{degrees} degrees" if degrees != "1.0" else "1 degree"
    return f"the rotation differs from the target's by {angle}, because {first}"


def _iterations(outcome: Outcome) -> str:
    count = outcome.iterations
    return f"{count} iterations" if count != 1 else "1 iteration"
