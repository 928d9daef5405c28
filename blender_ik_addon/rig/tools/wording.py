"""The status of a solve, in words for an animator."""

from __future__ import annotations

import math

from ...core import Solver, Status
from ...core.model.message import Message, joined
from ..posing.outcome import Outcome
from ..reading.refusals import listed
from .lengths import LengthUnit, is_visible, length_in_words

# Minimum gap of the tip's rotation that can be seen, in radians.
SMALLEST_TIP_GAP = 1e-3
ONE_LEFT = Message(
    "the tip takes this rotation, so only one bone is left to reach the target; set Rotation"
    " Bone to Hand or Foot, or lengthen the chain"
)
NO_HAND = Message(
    "no bone takes the target's rotation, because no single bone begins where the tip ends:"
    " lengthen the chain, or switch Rotation off"
)


def outcome_in_words(outcome: Outcome, unit: LengthUnit) -> Message:
    """Return the status line of a solve, with lengths as a scene shows them."""
    text = _ending_in_words(outcome, unit)
    if outcome.put_back:
        text = Message(
            "This chain poses {put_back}, so your change was reverted: move the target, or switch"
            " to FK to pose by hand. {text}",
            put_back=listed(outcome.put_back),
            text=text,
        )
    parts = [text, NO_HAND] if outcome.lacks_hand else [text]
    unlock = "bones with a locked location cannot slide, unlock their location: {bones}"
    disconnect = "connected bones cannot slide, clear Connected in edit mode: {bones}"
    for template, bones in ((disconnect, outcome.connected), (unlock, outcome.location_locked)):
        if bones:
            parts.append(Message(template, bones=listed(bones)))
    return joined("; ", parts)


def _ending_in_words(outcome: Outcome, unit: LengthUnit) -> Message:
    """Return how a solve ended."""
    gap = length_in_words(outcome.residual, unit)
    status, is_limited = outcome.status, outcome.status is Status.LIMITED
    if outcome.has_locks and status is not Status.REACHED and not (is_limited and outcome.held_by):
        return Message(
            "Held back by locked rotation channels, {gap} left: unlock them, or shorten the chain",
            gap=gap,
        )
    if status is Status.REACHED:
        text = _reached_in_words(outcome, gap if is_visible(outcome.residual, unit) else "")
    else:
        text = _gap_in_words(outcome, gap)
    parts = [text]
    if outcome.lacks_stretch and status in (Status.EXTENDED, Status.SOFTENED):
        parts.append(Message("to stretch, set IK Stretch on the bones and unlock their Y scale"))
    is_there = status is not Status.BLENDED and not is_limited
    if outcome.tip_gap > SMALLEST_TIP_GAP and is_there:
        parts.append(_tip_in_words(outcome))
    return joined("; ", parts)


def _gap_in_words(outcome: Outcome, gap: str) -> Message:
    """Return why an effector is not at its target."""
    status = outcome.status
    if status in (Status.LIMITED, Status.OUTWEIGHED, Status.ITERATIONS_USED_UP):
        return _failure_in_words(outcome, gap)
    if outcome.only_turns and status in (Status.EXTENDED, Status.FOLDED):
        if outcome.why.turns_tip_first:
            return Message("Turned like its target, {gap} away", gap=gap)
        return Message("Points at its target, {gap} away", gap=gap)
    short: str = gap
    if outcome.why.turns_tip_first:
        short = Message("{gap} with the target's rotation", gap=gap)
    if status is Status.EXTENDED:
        extended = ONE_LEFT if outcome.why.is_one_left else Message("extended")
        return Message("Out of reach by {short}: {extended}", short=short, extended=extended)
    if status is Status.FOLDED:
        folded = ONE_LEFT if outcome.why.is_one_left else Message("folded")
        return Message("Too near by {short}: {folded}", short=short, folded=folded)
    if status is Status.SOFTENED:
        return Message("Kept {gap} short of the target by the soft distance", gap=gap)
    if outcome.is_eased:
        return Message("On its way, {gap} left", gap=gap)
    return Message("Part of the way because of influence, {gap} left", gap=gap)


def _reached_in_words(outcome: Outcome, gap: str) -> Message:
    """Return that a target is reached, with the iterations and the gap unless it is empty."""
    iterations = _iterations(outcome) if outcome.iterations else ""
    if gap and iterations:
        return Message("Reached ({gap}, {iterations})", gap=gap, iterations=iterations)
    gap = gap or iterations
    return Message("Reached ({gap})", gap=gap) if gap else Message("Reached")


def _failure_in_words(outcome: Outcome, gap: str) -> Message:
    """Return why an effector misses a target within the reach of its chain alone and unlimited."""
    options, status = outcome.why.options, outcome.status
    is_used_up = bool(outcome.iterations >= options.iterations)
    is_cut_off = status is Status.ITERATIONS_USED_UP and is_used_up
    if outcome.pins:
        return _pinned_in_words(outcome, gap)
    # Locked joints do not move in any sweep: more iterations or another solver would not help.
    if outcome.why.is_rigid and status is not Status.OUTWEIGHED:
        return Message("Held back by locked joints, {gap} left", gap=gap)
    is_bare = options.solver in (Solver.FABRIK, Solver.CCD) and not options.use_finish
    if status is Status.LIMITED and outcome.held_by:
        text = _limited_in_words(outcome, gap)
        if not is_bare:
            return text
        return joined(". ", (text, Message("Finish with Newton may find a nearer pose")))
    if is_bare and status is not Status.OUTWEIGHED:
        return _bare_in_words(outcome, gap, is_cut_off=is_cut_off)
    if status is Status.OUTWEIGHED and outcome.outweighed_by:
        return Message(
            "Outweighed by {outweighed_by}: {gap} off",
            outweighed_by=listed(outcome.outweighed_by),
            gap=gap,
        )
    if status is not Status.ITERATIONS_USED_UP and outcome.why.has_locked_joints:
        return Message("Held back by locked joints, {gap} left", gap=gap)
    if is_cut_off:
        template = "Stopped {gap} short after {iterations}: raise Iterations"
        if options.solver is not Solver.NEWTON:
            template = (
                "Stopped {gap} short after {iterations}: raise Iterations or choose the solver"
                " Newton"
            )
        return Message(template, gap=gap, iterations=_iterations(outcome))
    return Message("Stopped {gap} short: no nearer pose was found", gap=gap)


def _limited_in_words(outcome: Outcome, gap: str) -> Message:
    """Return which limits hold a chain back, after the other chains of its body that do."""
    held_by, others = listed(outcome.held_by), outcome.outweighed_by
    if outcome.gives_way and others:
        template = "Outweighed by {others}, and held back by the limits of {held_by}: {gap} off"
        return Message(template, others=listed(others), held_by=held_by, gap=gap)
    return Message("Held back by the limits of {held_by}, {gap} left", held_by=held_by, gap=gap)


def _pinned_in_words(outcome: Outcome, gap: str) -> Message:
    """Return which pins and other effectors of its body hold a chain back."""
    pins, others = outcome.pins, outcome.outweighed_by
    if others:
        return Message(
            "Held back by {pins} (pinned), {others}: {gap}",
            pins=listed(pins),
            others=listed(others),
            gap=gap,
        )
    if len(pins) == 2:
        first, second = pins
        return Message(
            "Held back by {first} and {second} (pinned): {gap}", first=first, second=second, gap=gap
        )
    return Message("Held back by {pins} (pinned): {gap}", pins=listed(pins), gap=gap)


def _bare_in_words(outcome: Outcome, gap: str, *, is_cut_off: bool) -> Message:
    """Return why FABRIK or CCD without a finish stops short; Newton would reach the target."""
    template = "{gap} left because Finish with Newton is off: switch it on"
    if is_cut_off:
        template = (
            "Stopped {gap} short after {outcome}: switch Finish with Newton on, or raise Iterations"
        )
    return Message(template, gap=gap, outcome=_iterations(outcome))


def _tip_in_words(outcome: Outcome) -> Message:
    """Return by which angle the tip is off the target's rotation, and why."""
    first = "the position comes first"
    if outcome.why.is_tip_beyond:
        first = "its own joint limits it"
    elif outcome.why.is_at_limits or outcome.why.has_locked_joints:
        first = "position and joints come first"
    degrees = f"{math.degrees(outcome.tip_gap):.1f}"
    angle = Message("{degrees} degrees" if degrees != "1.0" else "1 degree", degrees=degrees)
    text = "the rotation differs from the target's by {angle}, because {first}"
    return Message(text, angle=angle, first=Message(first))


def _iterations(outcome: Outcome) -> Message:
    count = outcome.iterations
    return Message("{count} iterations" if count != 1 else "1 iteration", count=count)
