"""Many trees whose bones hang together in one way, in their start poses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .kinematics.compiled_joints import put_rows_last
from .kinematics.kinematic_tree import TURN, KinematicTree, compile_tree, measure_paths
from .kinematics.posed import Posed
from .kinematics.start_pose import StartPose, compile_start_poses
from .kinematics.topology import Topology
from .model.errors import IKError, InvalidChainError, InvalidGoalError
from .model.joints import Joints, free_joints
from .model.records import check_shape
from .solving.unconstrained_start import StraightRun, find_straight_runs
from .vectors import NO_DIRECTION, Array, Counts, norm, taken

# Offsets whose rows span less than this share of a cube of their size have lost a direction.
LEAST_VOLUME = 1e-9


@dataclass(frozen=True)
class Trees:
    """B trees of n bones and E effectors in their start poses; as ``Tree``, one a row.

    Attributes:
        parents: The same for all, shape (n,).
        head_positions: Shape (B, n, 3).
        effector_bones: The same for all, shape (E,).
        effector_positions: Shape (B, E, 3).
        joints: With B as leading axis; None where all turn freely.
        bend_directions: Shape (B, n, 3), zero for no hint.
    """

    parents: Counts
    head_positions: Array
    effector_bones: Counts
    effector_positions: Array
    joints: Joints | None = None
    bend_directions: Array | None = None

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        heads = checked_rows(self.head_positions, None, 3, "heads", InvalidChainError, 3)
        leading = heads.shape[:2]
        parents = _indices(self.parents, leading[1:], "parents")
        if (parents >= np.arange(len(parents))).any() or (parents < -1).any():
            raise InvalidChainError(
                "A bone of the tree stands before its parent: list parents first, -1 for none."
            )
        bones = _indices(self.effector_bones, np.shape(self.effector_bones), "effector bones")
        if bones.ndim != 1 or not bones.size or (bones < 0).any() or (bones >= leading[1]).any():
            raise InvalidChainError(
                "The effectors of a tree need bones of it: give at least one index of a bone."
            )
        shape = (*leading[:1], len(bones))
        ends = checked_rows(
            self.effector_positions, shape, 3, "effector positions", InvalidChainError
        )
        for name, values in zip(
            ("parents", "effector_bones", "head_positions", "effector_positions"),
            (parents, bones, heads, ends),
            strict=True,
        ):
            object.__setattr__(self, name, values)
        if self.bend_directions is not None:
            bends = checked_rows(
                self.bend_directions, leading, 3, "bend directions", InvalidChainError
            )
            object.__setattr__(self, "bend_directions", bends)
        if self.joints is not None:
            check_shape(self.joints.shape, leading, "joints", InvalidChainError, "give one a bone")
            _check_offsets(self.joints)
        self._check_levers()

    def _check_levers(self) -> None:
        for effector, path in enumerate(self.topology.paths):
            joints = np.concatenate(
                (self.head_positions[:, path], self.effector_positions[:, effector, None]), axis=1
            )
            if (np.linalg.norm(np.diff(joints, axis=1), axis=2).sum(axis=1) <= 0.0).any():
                raise InvalidChainError(
                    f"Effector {effector} of the tree stands on the head of a root bone, which"
                    " never moves: give it another point."
                )

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.head_positions)

    def take(self, rows: Counts) -> Trees:
        """Return some of the trees, compiled already."""
        bends, (tree, posed, unit, root) = self.bend_directions, self.compiled
        some = object.__new__(Trees)
        # Rows of checked and compiled records need neither again.
        some.__dict__.update(
            parents=self.parents,
            head_positions=self.head_positions[rows],
            effector_bones=self.effector_bones,
            effector_positions=self.effector_positions[rows],
            joints=None if self.joints is None else self.joints.take(rows),
            bend_directions=None if bends is None else bends[rows],
            topology=self.topology,
            compiled=(tree.take(rows), posed.take(rows), unit[rows], taken(root, rows)),
            reaches=tuple(taken(each, rows) for each in self.reaches),
            standing=taken(self.standing, rows),
            limbs=self.limbs,
            limb_starts=tuple(start and start.take(rows) for start in self.limb_starts),
            straight_runs=tuple(run.take(rows) for run in self.straight_runs),
        )
        return some

    @cached_property
    def topology(self) -> Topology:
        """How the bones hang together."""
        return Topology(tuple(self.parents.tolist()), tuple(self.effector_bones.tolist()))

    @cached_property
    def own_joints(self) -> Joints:
        """The joints, free ones where there are none."""
        if self.joints is not None:
            return self.joints
        leading = self.head_positions.shape[:2]
        start = np.zeros((*leading, 4))
        start[..., 0] = 1.0
        return free_joints(np.broadcast_to(np.eye(3), (*leading, 3, 3)), start)

    @cached_property
    def compiled(self) -> tuple[KinematicTree, Posed, Array, Array]:
        """The trees as solvers take them, where their bones start, units (B,), roots (3, B)."""
        heads, tips = put_rows_last(self.head_positions), put_rows_last(self.effector_positions)
        root = heads[0]
        _, most = measure_paths(self.topology, heads, tips)
        unit = np.ldexp(1.0, np.frexp(most.max(axis=0))[1])
        heads, tips = (heads - root) / unit, (tips - root) / unit
        return *compile_tree(self.topology, self.own_joints, heads, tips, unit), unit, root

    @property
    def tree(self) -> KinematicTree:
        """The trees as the solvers take them; compiled on first use."""
        return self.compiled[0]

    @property
    def start_posed(self) -> Posed:
        """Where the start poses put the bones."""
        return self.compiled[1]

    @cached_property
    def standing(self) -> Array:
        """The states of the start poses, brought to what the joints allow."""
        joints = self.tree.joints
        start = joints.inner(self.own_joints.start_wxyz)
        return self.tree.make_state(start if joints.is_free else joints.begun(start))

    @cached_property
    def reaches(self) -> tuple[Array, Array]:
        """How near effectors get to their roots and how far from them at the most, (E, B) each."""
        return measure_paths(self.topology, self.start_posed.heads, self.start_posed.tips)

    @cached_property
    def limb_starts(self) -> tuple[StartPose | None, ...]:
        """The limbs of the effectors as start poses of chains; None for those of one bone."""
        posed, hints = self.start_posed, self.hints
        found: list[StartPose | None] = []
        for effector, limb in enumerate(self.limbs):
            bones = list(limb)
            points = np.concatenate((posed.heads[bones], posed.tips[effector][None]))
            has_lengths = (norm(np.diff(points, axis=0)) > NO_DIRECTION).all()
            is_limb = len(limb) > 1 and bool(has_lengths)
            found.append(compile_start_poses(points, hints[bones].sum(axis=0)) if is_limb else None)
        return tuple(found)

    @cached_property
    def limbs(self) -> tuple[tuple[int, ...], ...]:
        """The bones that bend to poles: of each limb those whose heads are not its effector."""
        found = []
        for effector, limb in enumerate(self.topology.limbs):
            way = self.effector_positions[:, effector] - self.head_positions[:, limb[-1]]
            found.append(limb if way.any() else limb[:-1])
        return tuple(found)

    @cached_property
    def hints(self) -> Array:
        """Where bones in one line bend, zero for no hint, shape (n, 3, B)."""
        if self.bend_directions is None:
            return np.zeros((*self.head_positions.shape[1:], len(self)))
        return np.ascontiguousarray(self.bend_directions.transpose(1, 2, 0))

    @cached_property
    def straight_runs(self) -> tuple[StraightRun, ...]:
        """The runs that lie in one line; from there some targets need a bend to begin with."""
        posed = self.tree.posed(self.standing)
        return find_straight_runs(self.tree, posed, self.standing[:-1, :TURN], self.hints)


def checked_rows(
    values: npt.ArrayLike,
    leading: tuple[int, ...] | None,
    size: int,
    name: str,
    error: type[IKError] = InvalidGoalError,
    dimensions: int | None = None,
) -> Array:
    """Return a frozen copy of rows (..., size), or of plain numbers for size 0.

    Raises:
        IKError: If they are not finite numbers in the wanted shape.
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise error(f"The {name} are not made of numbers: give an array of floats.") from None
    trailing = (size,) if size else ()
    is_shaped = array.ndim >= 2 and array.shape[-1:] == trailing and array.size > 0
    if leading is not None:
        is_shaped = array.shape == (*leading, *trailing)
    if not is_shaped or (dimensions is not None and array.ndim != dimensions):
        wanted = "(..., E, 3)" if leading is None else f"{(*leading, *trailing)}"
        raise error(f"The {name} of a tree need shape {wanted}, not {array.shape}: give them so.")
    if not np.isfinite(array).all():
        raise error(f"The {name} are not all finite: check the transforms that they come from.")
    array.setflags(write=False)
    return array


def _indices(values: npt.ArrayLike, shape: tuple[int, ...], name: str) -> Counts:
    array = np.array(values)
    if array.shape != shape or array.dtype.kind not in "iu":
        raise InvalidChainError(
            f"The {name} of a tree need to be {shape} whole numbers: give one index a row."
        )
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array


def _check_offsets(joints: Joints) -> None:
    if joints.slide_low.any() or joints.slide_high.any():
        raise InvalidChainError(
            "Bones that several chains share cannot stretch: take the stretch off, or solve the"
            " chains one by one."
        )
    sizes = np.linalg.norm(joints.offsets, axis=-1).max(axis=-1)
    if (np.abs(np.linalg.det(joints.offsets)) <= LEAST_VOLUME * sizes**3).any():
        raise InvalidChainError("A bone of the tree is scaled to nothing: give it a scale.")
