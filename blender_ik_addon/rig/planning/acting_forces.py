"""Forces on the bones of a chain: from its settings or a creature, and gravity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...core import Forces
from ...core.algebra.arithmetic import Array
from ..anatomy.creature_files import Creature, Curve, parse_creature
from ..reading.spec import ChainSpec, ForceSpec


def creature_of(force: ForceSpec, name: str = "Creature") -> Creature:
    """Return stiffness, comfort and masses of a chain as a creature.

    ``name`` is that of a creature that was not loaded.

    Raises:
        InvalidCreatureError: If the text of a creature cannot be read, with what to change in it.
    """
    if force.creature:
        return replace(parse_creature(force.creature), gravity=force.gravity)
    # Angles are stored as float32; round them to the degrees that the user typed.
    comfort = np.round(np.degrees(force.comfort), 5)
    return Creature(
        name=name,
        stiffness=_from_root_to_tip(force.stiffness),
        mass=_from_root_to_tip((force.mass, force.mass)),
        gravity=force.gravity,
        comfort=((_from_root_to_tip(-comfort), _from_root_to_tip(comfort)),) * 3,
    )


def forces_on(specs: Sequence[ChainSpec], lengths: Array) -> Forces | None:
    """Return the forces on similar chains, before gravity has a direction; None without any.

    The lengths of the segments of the B chains have the shape (B, m).
    """
    pairs = zip(specs, lengths, strict=True)
    forces = [creature_of(spec.force).forces(row) for spec, row in pairs if spec.force is not None]
    if not forces or specs[0].force is None:
        return None
    arrays = ("stiffness", "masses", "gravity", "comfort_low", "comfort_high")
    stacked = {name: np.array([getattr(one, name) for one in forces]) for name in arrays}
    return Forces(**stacked, mode=specs[0].force.mode, gain=specs[0].force.gain)


def gravity_in_bases(forces: Forces, to_world: Array) -> Array:
    """Return the pulls of masses in the spaces of B chains, shape (B, 3).

    ``to_world`` are the directions of those spaces in world space, shape (B, 3, 3).
    """
    # The gradient of world height: under uneven scale it is not the image of the world -Z axis.
    down = -to_world[:, 2]
    size = np.linalg.norm(down, axis=1, keepdims=True)
    return -forces.gravity[:, 2:] * down / size


def _from_root_to_tip(ends: tuple[float, float] | Array) -> Curve:
    return Curve(np.array([0.0, 1.0]), np.array(ends, dtype=np.float64))
