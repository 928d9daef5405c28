"""Solve a limb of bodies by itself, and not again while nothing that it follows has changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

import numpy as np

from ...core.algebra.arithmetic import Array, Indices
from ..frames.chain_poses import ChainPoses
from ..frames.places import Places
from ..posing.frame_solve import FrameSolve
from ..posing.free_solving import SolvedPoses
from ..posing.solved import Asked
from ..reading.channels import Pose
from ..trees.body_limbs import BodyLimb

# A limb is solved where bodies hang, and again where they have gone along.
MOST_KEPT = 2


class LimbSolve:
    """The same limb of B bodies alike, compiled.

    Attributes:
        limb: That of the first body.
    """

    def __init__(
        self, limbs: Sequence[BodyLimb], poses: Sequence[Pose], poled: Sequence[int]
    ) -> None:
        """Compile the limbs, in these poses of their armatures.

        Args:
            limbs: One a body.
            poses: Of the armature objects.
            poled: Numbers of the chains of a body that have poles.
        """
        self.limb = limbs[0]
        self._solve = FrameSolve([limb.driven for limb in limbs], poses)
        chains = self.limb.chains
        self._poled = [column for column, chain in enumerate(poled) if chain in chains]
        self._kept: dict[bytes, SolvedPoses] = {}

    def posed(self, asked: Asked, places: Places, pose: ChainPoses) -> SolvedPoses:
        """Return the limb as it reaches where bodies stand.

        Args:
            asked: What is asked of the bodies.
            places: Where all bodies hang.
            pose: Of the bodies that are asked, but for the limb.
        """
        own = self._asked(asked)
        above, root = self._carrier(places, asked.rows, pose)
        hung = places.hung(asked.rows, above, root, self.limb.chains)
        key = self._bytes_of(own, hung)
        found = self._kept.pop(key, None) or self._solve.posed(own, hung)
        while len(self._kept) >= MOST_KEPT:
            del self._kept[next(iter(self._kept))]
        # The last one is the one that was asked for last.
        self._kept[key] = found
        return found

    def _asked(self, asked: Asked) -> Asked:
        """Return what is asked of the limb."""
        chains, rows = list(self.limb.chains), self.limb.rows
        poles = asked.poles[:, self._poled] if asked.poles is not None and self._poled else None
        present = asked.present[:, rows]
        return Asked(
            asked.rows, asked.targets[:, chains], poles, present, asked.is_followed[chains]
        )

    def _carrier(self, places: Places, rows: Indices, pose: ChainPoses) -> tuple[Array, Array]:
        """Return pose matrices (b, 4, 4) of what carries the limb, and its head, (b, 3)."""
        head, carrier = pose.joints[:, self.limb.rows[0]], self.limb.above
        if carrier < 0:
            return places.above[rows], head
        above = np.tile(np.eye(4), (len(rows), 1, 1))
        above[:, :3, :3] = pose.matrices[:, carrier]
        above[:, :3, 3] = pose.joints[:, carrier]
        return above, head

    def _bytes_of(self, asked: Asked, hung: Places) -> bytes:
        """Return all that a solve depends on, to compare."""
        arrays = [asked.rows, asked.targets, asked.is_followed]
        arrays += [] if asked.poles is None else [asked.poles]
        arrays += [asked.present] if self._solve.settings.is_current else []
        arrays += [getattr(hung, field.name)[asked.rows] for field in fields(hung)]
        return b"".join([array.tobytes() for array in arrays])
