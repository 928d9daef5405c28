"""Points of a body's bones that stay above its floor: heels and toes, hands, knees and elbows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core import Floor
from ...core.algebra.arithmetic import Array, Indices
from ..anatomy.body import Body
from ..anatomy.bone_names import Part
from ..anatomy.soles import soles
from ..planning.live_chain import LiveChain
from ..reading.rows import Alike
from ..reading.spaces import transform_direction

# A pin on one of these decides of all that hangs on it; one on hips or a chest leaves limbs free.
ENDS = frozenset((Part.HAND, Part.FOOT))
# The first bone floats for the core.
AFTER_FLOATING = 1


@dataclass(frozen=True, eq=False)
class AboveFloor:
    """What of a body stays above its floor.

    Attributes:
        rows: Of the bones that carry the points, F of them.
        points: In the spaces of these bones, shape (F, 3).
    """

    rows: tuple[int, ...]
    points: Array

    @classmethod
    def of(
        cls,
        live_chains: Sequence[LiveChain],
        bones: Indices,
        carriers: Sequence[int],
        ends: Array,
    ) -> AboveFloor:
        """Return that of the chains of a body; what hangs on a pinned hand or foot is left out.

        Args:
            live_chains: The chains.
            bones: Those that are solved together, every one after its parent.
            carriers: Rows of the bones that carry effectors.
            ends: These in the spaces of those bones, shape (E, 3).
        """
        row_of = {bone: row for row, bone in enumerate(bones.tolist())}
        skeleton = live_chains[0].skeleton
        body = Body(skeleton, np.ones(len(skeleton.names), dtype=np.bool_))
        found, pinned = list[tuple[int, Array]](), _pinned(live_chains)
        ends_pinned = {bone for bone in pinned if body.parts[bone] in ENDS}
        for live_chain, carrier, end in zip(live_chains, carriers, ends, strict=True):
            spec, plan = live_chain.spec, live_chain.plan
            is_pinned = spec.body is not None and spec.body.is_pinned
            if not ends_pinned.isdisjoint(skeleton.ancestors(plan.root)):
                continue
            joints = [bone for bone in plan.segments[1:].tolist() if bone not in pinned]
            found += [(row_of[bone], np.zeros(3)) for bone in joints]
            if is_pinned:
                continue
            if plan.tip in row_of:
                found += [(row_of[plan.tip], point) for point in _ends(body, plan.tip)]
            else:
                found.append((carrier, end))
        rows = tuple(row for row, _ in found)
        return cls(rows, np.array([point for _, point in found]).reshape(-1, 3))


@dataclass(frozen=True, eq=False)
class BodyFloor(Alike):
    """The floors of b bodies alike, in the spaces that these are solved in.

    Attributes:
        rows: As ``AboveFloor`` has them.
        points: The same of each body, shape (b, F, 3).
        normal: Up from the floor, unit length, shape (b, 3).
        origin: A point of the floor, shape (b, 3).
    """

    rows: tuple[int, ...]
    points: Array
    normal: Array
    origin: Array

    @classmethod
    def of(cls, rows: tuple[int, ...], points: Array, from_world: Array, shown: Array) -> BodyFloor:
        """Return that of bodies whose floors are objects.

        Args:
            rows: As ``AboveFloor`` has them.
            points: The same of each body, shape (b, F, 3).
            from_world: World space to the bodies' spaces, shape (b, 3, 4).
            shown: World matrices of the objects, shape (b, 4, 4).
        """
        axes = from_world[:, :, :3] @ shown[:, :3, :3]
        across = np.cross(axes[:, :, 0], axes[:, :, 1])
        side = np.sign((across * axes[:, :, 2]).sum(axis=1, keepdims=True))
        # What is scaled flat along Z has no other side than that of its other axes, and along these
        # no other way up than Z; what is flat altogether stands as the world does.
        normal = np.where(side == 0.0, across, across * side)
        for other in (axes[:, :, 2], from_world[:, :, 2]):
            normal = np.where(normal.any(axis=1, keepdims=True), normal, other)
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        origin = transform_direction(from_world, shown[:, :3, 3]) + from_world[:, :, 3]
        return cls(rows, points, normal, origin)

    def on(self, matrices: Array, heads: Array) -> Floor:
        """Return the floor for bones (b, k) that have such pose matrices and heads."""
        bones = [AFTER_FLOATING + row for row in self.rows]
        return Floor(bones, self._places(matrices, heads), self.normal, self.origin)

    def heights(self, matrices: Array, heads: Array) -> Array:
        """Return how high the points of such bones are above the floor, shape (b, F)."""
        ways = self._places(matrices, heads) - self.origin[:, None]
        return (ways * self.normal[:, None]).sum(axis=2)

    def _places(self, matrices: Array, heads: Array) -> Array:
        own = list(self.rows)
        return heads[:, own] + transform_direction(matrices[:, own], self.points)


def _pinned(live_chains: Sequence[LiveChain]) -> set[int]:
    """Return the bones that pins place and turn: they win against the floor."""
    return {
        live_chain.plan.tip
        for live_chain in live_chains
        if live_chain.plan.turns_tip
        and live_chain.spec.body is not None
        and live_chain.spec.body.is_pinned
    }


def _ends(body: Body, tip: int) -> Array:
    """Return head and tail of a bone that ends a limb, or heel and toe, in its space, (2, 3)."""
    if body.parts[tip] is Part.FOOT:
        return soles(body.skeleton, tip, body.up)
    return np.array(((0.0, 0.0, 0.0), (0.0, body.skeleton.lengths[tip], 0.0)))
