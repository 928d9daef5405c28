"""Points of a body that stay above its floor: heels and toes, hands, knees and elbows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core import Floor
from ...core.algebra.arithmetic import Array, Indices
from ..anatomy.body import Body
from ..anatomy.bone_names import BodyPart
from ..anatomy.soles import soles
from ..planning.live_chain import LiveChain
from ..reading.batch_record import BatchRecord
from ..reading.spaces import transform_direction

# Parts whose pin fixes all bones below them as well; a pin on hips or a chest leaves limbs free.
LIMB_ENDS = frozenset((BodyPart.HAND, BodyPart.FOOT))
# Number of bones that the core has before these: the floating one.
FLOATING_BONES = 1


@dataclass(frozen=True, eq=False)
class AboveFloor(BatchRecord):
    """The F points of a body, or of similar bodies, that stay above its floor.

    Attributes:
        rows: Rows of the bones that carry the points.
        points: Points in the spaces of these bones, shape (..., F, 3).
    """

    rows: tuple[int, ...]
    points: Array

    @classmethod
    def of(
        cls, live_chains: Sequence[LiveChain], bones: Indices, carriers: Sequence[int], ends: Array
    ) -> AboveFloor:
        """Return the points of a body, without those of chains below a pinned hand or foot.

        Args:
            live_chains: The chains of the body.
            bones: Indices of the bones that are solved together, every bone after its parent.
            carriers: Rows of the bones that carry effectors.
            ends: Effectors in the spaces of these bones, shape (E, 3).
        """
        row_of = {bone: row for row, bone in enumerate(bones.tolist())}
        skeleton = live_chains[0].skeleton
        body = Body(skeleton, np.ones(len(skeleton.names), dtype=np.bool_))
        points, pinned = list[tuple[int, Array]](), _pinned(live_chains)
        pinned_ends = {bone for bone in pinned if body.parts[bone] in LIMB_ENDS}
        for live_chain, carrier, end in zip(live_chains, carriers, ends, strict=True):
            spec, plan = live_chain.spec, live_chain.plan
            is_pinned = spec.body is not None and spec.body.is_pinned
            if not pinned_ends.isdisjoint(skeleton.ancestors(plan.root)):
                continue
            joints = [bone for bone in plan.segments[1:].tolist() if bone not in pinned]
            points += [(row_of[bone], np.zeros(3)) for bone in joints]
            if is_pinned:
                continue
            if plan.tip in row_of:
                points += [(row_of[plan.tip], point) for point in _ends(body, plan.tip)]
            else:
                points.append((carrier, end))
        rows = tuple(row for row, _ in points)
        return cls(rows, np.array([point for _, point in points]).reshape(-1, 3))


@dataclass(frozen=True, eq=False)
class BodyFloor(BatchRecord):
    """The floors of b similar bodies, in the spaces that these are solved in.

    Attributes:
        above: The points of the bodies.
        normal: Unit vectors up from the floor, shape (b, 3).
        origin: A point of each floor, shape (b, 3).
    """

    above: AboveFloor
    normal: Array
    origin: Array

    @classmethod
    def of(cls, above: AboveFloor, from_world: Array, world: Array) -> BodyFloor:
        """Return the floors of bodies, from the matrices of floor objects.

        Args:
            above: The points of the bodies.
            from_world: World space to the bodies' spaces, shape (b, 3, 4).
            world: World matrices of the floor objects, shape (b, 4, 4).
        """
        axes = from_world[:, :, :3] @ world[:, :3, :3]
        normal_xy = np.cross(axes[:, :, 0], axes[:, :, 1])
        side = np.sign((normal_xy * axes[:, :, 2]).sum(axis=1, keepdims=True))
        # A floor object scaled to zero along Z takes its normal from X and Y, one scaled to zero
        # along X or Y from Z. One without any extent takes the Z axis of the world.
        normal = np.where(side == 0.0, normal_xy, normal_xy * side)
        for other in (axes[:, :, 2], from_world[:, :, 2]):
            normal = np.where(normal.any(axis=1, keepdims=True), normal, other)
        normal /= np.linalg.norm(normal, axis=1, keepdims=True)
        origin = transform_direction(from_world, world[:, :3, 3]) + from_world[:, :, 3]
        return cls(above, normal, origin)

    def on(self, matrices: Array, heads: Array) -> Floor:
        """Return the floor of the core for bones (b, k) with pose matrices and heads."""
        bones = [FLOATING_BONES + row for row in self.above.rows]
        return Floor(bones, self._places(matrices, heads), self.normal, self.origin)

    def heights(self, matrices: Array, heads: Array) -> Array:
        """Return the heights of the points above the floor, for the same bones, shape (b, F)."""
        offsets = self._places(matrices, heads) - self.origin[:, None]
        return (offsets * self.normal[:, None]).sum(axis=2)

    def _places(self, matrices: Array, heads: Array) -> Array:
        rows = list(self.above.rows)
        return heads[:, rows] + transform_direction(matrices[:, rows], self.above.points)


def _pinned(live_chains: Sequence[LiveChain]) -> set[int]:
    """Return the tips that pins both place and turn: a pin wins against the floor."""
    return {
        live_chain.plan.tip
        for live_chain in live_chains
        if live_chain.plan.turns_tip
        and live_chain.spec.body is not None
        and live_chain.spec.body.is_pinned
    }


def _ends(body: Body, tip: int) -> Array:
    """Return the head and tail of a tip bone, or heel and toe of a foot, in its space, (2, 3)."""
    if body.parts[tip] is BodyPart.FOOT:
        return soles(body.skeleton, tip, body.up)
    return np.array(((0.0, 0.0, 0.0), (0.0, body.skeleton.lengths[tip], 0.0)))
