"""What happened, in words for an animator."""

from __future__ import annotations

import math

from ..core import Status
from .outcome import Outcome

# Beyond this a distance is told by its size only: infinite targets are stored as 3.4e38.
FARTHEST = 1e6
# So many holding limits are named.
MOST_NAMES = 3
# Less than this, in radians, is no gap that a person would see.
SMALLEST_TIP_GAP = 1e-3
# From which length in metres a unit is used, its size, its name.
_UNITS = ((0.1, 1.0, "m"), (1e-4, 1e-3, "mm"), (0.0, 1e-6, "um"))


def distance_in_words(distance: float, metres: float = 1.0) -> str:
    """Return a distance in scene units with a fitting metric unit.

    Args:
        distance: In scene units.
        metres: Length of one scene unit.
    """
    value = distance * metres
    if value < 0.5e-9:
        return "0 um"
    _, size, name = next(unit for unit in _UNITS if value >= unit[0])
    count = value / size
    return f"{count:.0f} {name}" if 9.95 <= count <= FARTHEST else f"{count:.2g} {name}"


def outcome_in_words(outcome: Outcome, metres: float = 1.0) -> str:
    """Return the status line of a solve."""
    text = _ending_in_words(outcome, metres)
    if outcome.connected:
        bones = _listed(outcome.connected)
        text += f"; to slide, {bones} must not be connected: disconnect in edit mode"
    if outcome.location_locked:
        text += f"; to slide, unlock the location of {_listed(outcome.location_locked)}"
    return text


def _ending_in_words(outcome: Outcome, metres: float) -> str:
    """Return how a solve has ended."""
    gap = distance_in_words(outcome.residual, metres)
    count = outcome.iterations
    iterations = f"{count} iteration{'s' if count != 1 else ''}"
    sweeps = f", {iterations}" if count else ""
    by_influence = " by influence" if outcome.stepped is None else ""
    texts = {
        Status.REACHED: f"Reached ({gap}{sweeps})",
        Status.EXTENDED: f"Out of reach by {gap}: extended",
        Status.FOLDED: f"Too near by {gap}: folded",
        Status.ITERATIONS_USED_UP: (
            f"Stopped {gap} short after {iterations}: raise the cap or choose NEWTON"
        ),
        Status.LIMITED: f"Held back by limits, {gap} left",
        Status.SOFTENED: f"Kept {gap} short of the target by the soft distance",
        Status.OUTWEIGHED: f"Outweighed by {_outweighing(outcome)}: {gap} off",
        Status.BLENDED: f"On its way{by_influence}, {gap} left",
    }
    if outcome.held_by and outcome.status is not Status.REACHED:
        return f"Held back by the limits of {_listed(outcome.held_by)}, {gap} left"
    if outcome.has_locks:
        return f"Held back by locked rotation channels, {gap} left: unlock them or end the chain"
    text = texts[outcome.status]
    if outcome.lacks_stretch and outcome.status in (Status.EXTENDED, Status.SOFTENED):
        text += "; to stretch, set IK Stretch on the bones and unlock their Y scale"
    if outcome.tip_gap > SMALLEST_TIP_GAP:
        text += f"; limits keep the tip {math.degrees(outcome.tip_gap):.1f} degrees off"
    return text


def _outweighing(outcome: Outcome) -> str:
    return _listed(outcome.outweighed_by) if outcome.outweighed_by else "other chains of its tree"


def _listed(names: tuple[str, ...]) -> str:
    """Return names in one line, the first few of many."""
    shown = names[:MOST_NAMES]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
