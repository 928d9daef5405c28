"""Solve trees side by side: targets in, rotation channels out, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from ...core import Chains, Goals
from ...core.algebra import rotation
from ..frames.bases import points_in_base
from ..frames.bone_channels import BoneChannels
from ..frames.chain_frames import ChainFrames
from ..frames.chain_joints import ChainJoints
from ..frames.chain_poses import LENGTHS_AGREE, ChainPoses
from ..frames.framing import rest_by_generation
from ..frames.tips import Tips
from ..frames.tree_places import TreePlaces
from ..planning.tree_plan import TreePlan
from ..reading import spaces
from ..reading.bone_joints import free_bones
from ..reading.channels import Pose
from ..reading.refusals import scaled_flat
from ..reading.spaces import InheritScale, RestFrames
from .free_solving import Posing
from .jointed_solving import AGREES, JointedPoses, chains_for_core, solve_with_joints, turn_tips
from .solved import name_ending

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TreesAsked:
    """What is asked of some of B trees, b of them.

    Attributes:
        rows: Which trees, shape (b,).
        places: Where they hang.
        targets: World matrices of the targets, shape (b, E, 4, 4).
        poles: World positions of the poles of the chains that have any, shape (b, P, 3).
        weights: Of the effectors, shape (b, E).
        is_followed: Which chains have all that they follow, shape (E,).
        present: Rotation channels as they stand on the bones, shape (b, k, 4).
    """

    rows: Indices
    places: TreePlaces
    targets: Array
    poles: Array
    weights: Array
    is_followed: Flags
    present: Array


@dataclass(frozen=True)
class SolvedTrees:
    """What a solve of b trees of k bones and E chains did.

    Attributes:
        channels: Rotation channels, shape (b, k, 4).
        is_kept: Which bones locked channels keep from following, shape (b, k).
        residuals: From effectors to targets in scene units, shape (b, E).
        iterations: Sweeps used, shape (b,).
        status_codes: Indices into ``core.STATUSES``, shape (b, E).
        holds: As ``core.Solutions``, shape (b, n, 3).
        tip_gaps: Radians that are left to the wanted orientations of tips, shape (b, E).
    """

    channels: Array
    is_kept: Flags
    residuals: Array
    iterations: Indices
    status_codes: npt.NDArray[np.int8]
    holds: Flags
    tip_gaps: Array

    def put(self, rows: Indices, part: SolvedTrees) -> SolvedTrees:
        """Return this with what another solve did to some of the trees."""
        for field in fields(self):
            getattr(self, field.name)[rows] = getattr(part, field.name)
        return self


class TreeSolve:
    """B trees alike, compiled. Arrays with one row a tree unless said otherwise."""

    def __init__(self, plans: Sequence[TreePlan], poses: Sequence[Pose], *, is_even: bool) -> None:
        """Compile trees that have the same ``batch_key``, in these poses.

        Args:
            plans: The trees.
            poses: Of their armature objects.
            is_even: Whether they are solved in the spaces of their root bones.
        """
        self._like, self._hang = plans[0], plans[0].hanging
        options = [plan.options for plan in plans]
        specs = [[live_chain.job.spec for live_chain in plan.live_chains] for plan in plans]
        self._options = replace(
            options[0],
            iterations=np.array([int(each.iterations) for each in options]),
            tolerance=np.array([float(each.tolerance) for each in options]),
            soft_distance=np.array([float(each.soft_distance) for each in options]),
        )
        self._accepted = np.array([[float(s.options.tolerance) for s in own] for own in specs])
        self._pole_angle = np.array([[s.pole_angle for s in own] for own in specs])
        self._use_flip = np.array([[bool(s.options.use_flip_bend) for s in own] for own in specs])
        self._frames = _framed(plans, is_even=is_even)
        self._joints = ChainJoints.of(
            [plan.joints or free_bones(len(plan.bones)) for plan in plans]
        )
        self._levers = np.array([plan.levers for plan in plans])
        self._channels = BoneChannels.of(
            [(pose, plan.bones) for plan, pose in zip(plans, poses, strict=True)],
            [plan.stored for plan in plans],
            [plan.influence for plan in plans],
            None if self._like.joints is None else self._joints,
        )
        self._start = self._channels.local_of(np.array([plan.start for plan in plans]))
        # The start poses of all trees, where they hung then, and how the core takes them.
        self._begun: tuple[TreePlaces, Array, ChainPoses, Chains] | None = None

    def solved(self, asked: TreesAsked) -> SolvedTrees:
        """Return what brings some of the trees to their targets.

        Raises:
            IKError: If one of them cannot be solved; the text says what to do next.
        """
        rows, places = asked.rows, asked.places
        if places.is_flat.any():
            raise scaled_flat()
        frames = replace(self._frames.take(rows), parent=places.parent, root=places.root)
        assert self._joints is not None
        joints, tips = self._joints.take(rows), self._tips(asked)
        start, chains = self._begin(asked, frames, joints)
        options = self._options.take(rows)
        options = replace(
            options,
            tolerance=options.tolerance / places.unit,
            soft_distance=options.soft_distance / places.unit,
        )
        posing = Posing(frames, start, self._goals(asked, start), options, tips, chains=chains)
        found = solve_with_joints(posing, joints, None)
        if self._like.joints is None:
            found = self._rolled(asked, posing, found)
        own = None if self._like.joints is None else joints
        return self._finished(asked, posing, turn_tips(posing, found, own))

    def _begin(
        self, asked: TreesAsked, frames: ChainFrames, joints: ChainJoints
    ) -> tuple[ChainPoses, Chains]:
        """Return the start poses, and how the core takes them; kept while they stay the same."""
        rows, places, local = asked.rows, asked.places, self._start[asked.rows]
        if self._like.is_current.any():
            there = self._channels.begun(rows, asked.present)
            local = np.where(self._like.is_current[:, None], there, local)
        if self._begun is not None:
            where, known, start, chains = self._begun
            is_same = np.array_equal(known[rows], local)
            is_same = is_same and np.array_equal(where.parent[rows], places.parent)
            if is_same and np.array_equal(where.root[rows], places.root):
                return (
                    (start, chains)
                    if len(rows) == len(known)
                    else (start.take(rows), chains.take(rows))
                )
        start = frames.posed(rotation.matrix_from_quaternion(local))
        chains = chains_for_core(frames, start, joints)
        if len(rows) == len(self._start):
            self._begun = places, local, start, chains
        return start, chains

    def _tips(self, asked: TreesAsked) -> Tips | None:
        """Return the orientations that tips shall take, in the spaces of the trees."""
        chains = [chain for chain in self._like.turning if asked.is_followed[chain]]
        if not chains:
            return None
        turns = asked.places.from_world[:, None, :, :3] @ asked.targets[:, chains, :3, :3]
        shares = [self._like.live_chains[chain].job.spec.options.orient_weight for chain in chains]
        return Tips(tuple(chains), spaces.orientation(turns), tuple(shares))

    def _goals(self, asked: TreesAsked, start: ChainPoses) -> Goals:
        """Return the goals, without the turns of tips."""
        from_world, stays = asked.places.from_world, ~asked.is_followed
        places = points_in_base(from_world, asked.targets[:, :, :3, 3])
        if stays.any():
            places[:, stays] = start.joints[:, self._hang.count :][:, stays]
        poles, has_poles = None, np.zeros(len(stays), dtype=np.bool_)
        if self._like.poled:
            poles, poled = places.copy(), list(self._like.poled)
            has_poles[poled] = asked.is_followed[poled]
            kept = has_poles[poled]
            poles[:, has_poles] = points_in_base(from_world, asked.poles)[:, kept]
        angle = self._pole_angle[asked.rows]
        return Goals(
            target_position=places,
            weight=asked.weights,
            pole_position=poles,
            has_pole=has_poles.tolist(),
            pole_angle=np.where(asked.places.keeps, -angle, angle)
            + np.pi * self._use_flip[asked.rows],
        )

    def _rolled(self, asked: TreesAsked, posing: Posing, found: JointedPoses) -> JointedPoses:
        """Return poses without needless rolls, unless uneven scales make effectors feel them."""
        hang, frames, poses = self._hang, posing.frames, found.poses
        kept = ~self._levers.any(axis=(0, 2))
        if posing.tips is not None:
            kept[[hang.carriers[chain] for chain in posing.tips.chains]] = True
        poled = [chain for chain in self._like.poled if asked.is_followed[chain]]
        kept[[hang.limb_root(chain) for chain in poled]] = True
        rolled = frames.rolled(posing.start, poses, self._levers[asked.rows], kept)
        moved = np.abs(rolled.joints - poses.joints)[:, hang.count :].max(axis=(1, 2))
        same = np.flatnonzero(moved <= AGREES * frames.lengths(posing.start).max(axis=1))
        return found._replace(poses=poses.put(same, rolled.take(same)))

    def _finished(self, asked: TreesAsked, posing: Posing, found: JointedPoses) -> SolvedTrees:
        """Return what influence and locks leave of solved poses, measured on what is left."""
        rows, frames, shown = asked.rows, posing.frames, found.poses
        local = rotation.quaternion_from_matrix(shown.rotations)
        near = np.where(self._like.is_current[:, None], asked.present, self._channels.stored[rows])
        channels, is_kept, is_moved = self._channels.finished(rows, local, near)
        if is_moved.any():
            moved = np.flatnonzero(is_moved)
            there = rotation.matrix_from_quaternion(self._channels.local_of(channels[moved]))
            shown = shown.put(moved, frames.take(moved).posed(there))
        world, from_world = asked.places.to_world, asked.places.from_world
        places = points_in_base(from_world, asked.targets[:, :, :3, 3])
        gaps = (shown.joints[:, self._hang.count :] - places) @ world.swapaxes(-1, -2)
        residuals = np.where(asked.is_followed, np.linalg.norm(gaps, axis=2), 0.0)
        # Less what float32 parents make of a solve that has arrived.
        exact = residuals - LENGTHS_AGREE * frames.lengths(shown, world)
        has_arrived, solutions = exact <= self._accepted[rows], found.solutions
        influence = self._channels.influence[rows]
        least = np.stack([influence[:, own].min(axis=1) for own in self._hang.rows], axis=1)
        assert solutions.holds is not None
        return SolvedTrees(
            channels=channels,
            is_kept=is_kept,
            residuals=residuals,
            iterations=solutions.iterations,
            status_codes=name_ending(
                solutions.status_code, has_arrived, least < 1.0, np.ones_like(has_arrived)
            ),
            holds=solutions.holds,
            tip_gaps=found.tip_gaps,
        )


def _framed(plans: Sequence[TreePlan], *, is_even: bool) -> ChainFrames:
    """Return what of trees stays while their bones rotate, but for where they hang."""
    hang, count = plans[0].hanging, len(plans)
    rest = rest_by_generation(hang, [plan.skeleton.frames.take(plan.bones) for plan in plans])
    if is_even:
        # The root turns in the very space that the tree is solved in.
        nothing = np.tile(np.eye(3), (count, 1, 1, 1))
        takes_all = np.ones((count, 1), dtype=np.bool_)
        whole = np.full((count, 1), InheritScale.FULL, dtype=np.int32)
        rest = (RestFrames(nothing, nothing, takes_all, whole), *rest[1:])
    return ChainFrames(
        hanging=hang,
        rest=rest,
        scale=np.array([plan.scale for plan in plans]),
        ways=np.array([plan.ways for plan in plans]),
        ends=np.array([plan.ends for plan in plans]),
        parent=np.tile(np.eye(3), (count, 1, 1)),
        root=np.zeros((count, 3)),
        hints=np.array([plan.bends for plan in plans]),
        is_bent=np.ones((count, len(hang.carriers)), dtype=np.bool_),
        compiled=count,
    )
