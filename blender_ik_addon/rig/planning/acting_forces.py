"""What acts on the bones of a chain: its settings or a creature, and gravity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...core import Forces
from ...core.algebra.arithmetic import Array
from ..anatomy.creature_files import Creature, Curve, parse_creature
from ..reading.spec import ChainSpec, ForceSpec


def creature_of(force: ForceSpec, name: str = "Creature") -> Creature:
    """Return what a chain resists and weighs, as a creature.

    Args:
        force: The settings.
        name: Of the creature, where none has been loaded.

    Raises:
        InvalidCreatureError: If the text of a creature cannot be read, with what to change in it.
    """
    if force.creature:
        return replace(parse_creature(force.creature), gravity=force.gravity)
    # Degrees as a person types them: angles are stored as float32.
    comfort = np.round(np.degrees(force.comfort), 5)
    return Creature(
        name=name,
        stiffness=_from_root_to_tip(force.stiffness),
        mass=_from_root_to_tip((force.mass, force.mass)),
        gravity=force.gravity,
        comfort=((_from_root_to_tip(-comfort), _from_root_to_tip(comfort)),) * 3,
    )


def forces_on(specs: Sequence[ChainSpec], lengths: Array) -> Forces | None:
    """Return what acts on chains alike, before gravity has a direction; None where nothing does.

    Args:
        specs: Of B chains.
        lengths: Of their segments, shape (B, m).
    """
    pairs = zip(specs, lengths, strict=True)
    each = [creature_of(spec.force).forces(own) for spec, own in pairs if spec.force is not None]
    if not each or specs[0].force is None:
        return None
    arrays = ("stiffness", "masses", "gravity", "comfort_low", "comfort_high")
    stacked = {name: np.array([getattr(one, name) for one in each]) for name in arrays}
    return Forces(**stacked, mode=specs[0].force.mode, gain=specs[0].force.gain)


def gravity_in_bases(forces: Forces, to_world: Array) -> Array:
    """Return the pulls of masses in the spaces of B chains, shape (B, 3).

    Args:
        forces: As ``forces_on``.
        to_world: Directions of those spaces to world space, shape (B, 3, 3).
    """
    # How world heights fall with points of a space: under uneven scale that is not where world
    # space's own -Z axis comes to lie.
    down = -to_world[:, 2]
    size = np.linalg.norm(down, axis=1, keepdims=True)
    return -forces.gravity[:, 2:] * down / size


def _from_root_to_tip(ends: tuple[float, float] | Array) -> Curve:
    return Curve(np.array([0.0, 1.0]), np.array(ends, dtype=np.float64))
