"""Chains of jointed bones: where turns and slides put them, and how their effectors answer.

Layout as in ``vectors``, in the units of the start poses. A *state* is one array (n + 1, 7, B), so
that the one loop of ``iterate`` carries it: a row a bone with the turn wxyz, the slide, 1 where the
joint stands on an edge of its range, and which edges the last step has kept to, by powers of two;
and a last row with the *output*, what of the pose the target is compared with: the effector, and
below it whatever else is aimed at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from . import limits, rotation, swings, turns, vectors
from .aims import Aims
from .joints import JointKind
from .kinematics.swing_twist import SwingTwist, SwingTwistRange
from .posed import Posed, moved_by_turns, turned_outside
from .vectors import Array, Counts, Flags, across, cross, dot, norm, taken

STATE_COLUMNS = 7
# What a radian of orientation or of the bend's side weighs beside the chain's length. First as much
# as leads there quickly, then so little that the position hardly gives way where they cannot be had
# together; it is then solved again, alone.
AIM_WEIGHTS = (0.1, 0.003)
# Nearer than this share of the reach a pose is not bettered by another start, whatever is asked.
NEAR = 1e-7
# Aims are met to so many radians.
AIM_TOLERANCE = 1e-5
# Iterations for them with each weight; those that cannot be met end in a compromise.
ENOUGH_TO_AIM = (16, 30)
# Iterations that NEWTON takes from one start; what it has not finished by then it will not.
ENOUGH = 60
# A chain that stays farther than this from the side of its pole, in radians, tries others too.
ASIDE = 0.02
# A bulge smaller than this share of the chain has no side.
NO_SIDE = 1e-6


# What chains have been found to need when they were compiled.
GATES = (
    "has_edges",
    "has_stiffness",
    "has_zeros",
    "held_bones",
    "free_axes",
    "free_shares",
    "_least_mobility",
)


@dataclass(frozen=True)
class Jointed:
    """B chains of n jointed bones.

    Attributes:
        kinds: One a bone.
        offsets: As ``Joints.offsets``, with ``zero`` in them, shape (n, 3, 3, B).
        zero: What joints count from: local rotations are turns from here, shape (n, 4, B).
        segments: From each joint to the next in the axes of the posed bone, shape (n, 3, B).
        low: Shape (n, 3, B).
        high: Shape (n, 3, B).
        ranges: The same, compiled, and without room about locked axes.
        mobility: Shape (n, 3, B).
        slide_low: Shape (n, B).
        slide_high: Shape (n, B).
        reach: Sums of the segments' lengths, shape (B,).
        slide_axes: What slides of one move heads by, in the posed axes of the bones before, shape
            (n, 3, B); None where nothing slides.
        slide_room: How much longer slides make the chain at most, each by itself, shape (n, B).
        aims: None for the effector's position alone.
    """

    kinds: tuple[JointKind, ...]
    offsets: Array
    zero: Array
    segments: Array
    low: Array
    high: Array
    ranges: SwingTwistRange
    mobility: Array
    slide_low: Array
    slide_high: Array
    reach: Array
    slide_axes: Array | None = None
    slide_room: Array | None = None
    aims: Aims | None = None

    def take(self, chains: Counts | Flags) -> Jointed:
        """Return some of the chains."""
        some = Jointed(
            kinds=self.kinds,
            offsets=taken(self.offsets, chains),
            zero=taken(self.zero, chains),
            segments=taken(self.segments, chains),
            low=taken(self.low, chains),
            high=taken(self.high, chains),
            ranges=self.ranges.take(chains),
            mobility=taken(self.mobility, chains),
            slide_low=taken(self.slide_low, chains),
            slide_high=taken(self.slide_high, chains),
            reach=self.reach[chains],
            slide_axes=None if self.slide_axes is None else taken(self.slide_axes, chains),
            slide_room=None if self.slide_room is None else taken(self.slide_room, chains),
            aims=None if self.aims is None else self.aims.take(chains),
        )
        # What holds of all holds of some, and the way that they are solved stays the same.
        some.__dict__.update({name: getattr(self, name) for name in GATES})
        return some

    def aiming(self, aims: Aims | None) -> Jointed:
        """Return the chains with other aims."""
        other = replace(self, aims=aims)
        other.__dict__.update({name: getattr(self, name) for name in GATES})
        return other

    @property
    def has_slides(self) -> bool:
        """Whether any bone slides."""
        return self.slide_axes is not None

    @cached_property
    def resting_slide(self) -> Array:
        """The slides of start poses, brought to what the joints allow, shape (n, B)."""
        return np.clip(np.zeros_like(self.slide_low), self.slide_low, self.slide_high)

    @property
    def can_swivel(self) -> bool:
        """Whether the root swings to all sides: others hardly choose the side that they bend to."""
        return self.kinds[0] in (JointKind.BALL, JointKind.SWING)

    @cached_property
    def is_unlimited(self) -> Flags:
        """Which chains have joints that turn freely, all of them, shape (B,)."""
        is_free = ~(np.isfinite(self.low) | np.isfinite(self.high)).any(axis=(0, 1))
        unlimited: Flags = is_free & all(kind is JointKind.BALL for kind in self.kinds)
        return unlimited

    @cached_property
    def has_edges(self) -> bool:
        """Whether any joint has an end to its range, or a lock that its kind does not tell."""
        has_ends = (self.ranges.has_ends & ~self.ranges.is_held).any()
        return bool(has_ends) or self.held_bones.size > 0

    @cached_property
    def no_edges(self) -> swings.Edges:
        """What joints without edges stand on: nothing."""
        shape = (len(self.kinds), 3, self.reach.size)
        off = np.zeros(shape, dtype=np.bool_)
        return swings.Edges(np.zeros((*shape[:2], 3, shape[2])), off, self.ranges.is_held)

    @cached_property
    def has_stiffness(self) -> bool:
        """Whether any bone turns less readily than others."""
        return bool((self.mobility < 1.0).any())

    @cached_property
    def readiness(self) -> Array:
        """Mobilities compared with the greatest of each chain, shape (n, 3, B)."""
        relative: Array = self.mobility / self.mobility.max(axis=(0, 1))
        return relative

    @cached_property
    def has_zeros(self) -> bool:
        """Whether any joint counts from elsewhere than its local rotation does."""
        return bool((self.zero[:, 0] != 1.0).any())

    def inner(self, local_wxyz: Array) -> Array:
        """Return local rotations (B, n, 4) as turns (n, 4, B)."""
        return turns.multiply(turns.conjugate(self.zero), np.moveaxis(local_wxyz, 0, -1))

    def outer(self, turn: Array) -> Array:
        """Return turns (n, 4, B) as local rotations (B, n, 4)."""
        local = turns.multiply(self.zero, turn) if self.has_zeros else turn
        return np.ascontiguousarray(np.moveaxis(local, -1, 0))

    def begun(self, turn: Array) -> Array:
        """Return turns (n, 4, B) of any sort brought to what the joints allow."""
        pairs = zip(self.kinds, turn, self.low, self.high, strict=True)
        return np.array([limits.clamped(*each) for each in pairs])

    def clamped(self, turn: Array) -> Array:
        """Return turns (n, 4, B) brought inside their ranges."""
        return swings.clamped(self.ranges, turn)

    def clamped_at(self, bone: int, turn: Array) -> Array:
        """Return turns (4, B) of one bone brought inside their ranges."""
        return swings.clamped(self.ranges.at(bone), turn)

    @cached_property
    def _least_mobility(self) -> Array:
        """Mobilities of hinges and fixed joints, identity for the others, shape (n, 3, 3, 1)."""
        found = np.tile(np.eye(3), (len(self.kinds), 1, 1))
        for bone, kind in enumerate(self.kinds):
            if kind in limits.HINGES or kind is JointKind.FIXED:
                found[bone] = np.diag(np.array(limits.FREE[kind], dtype=np.float64))
        return found[..., None]

    @cached_property
    def free_axes(self) -> Counts:
        """The axes about which joints turn, of three a bone, as far as their kinds tell."""
        return np.flatnonzero(np.einsum("niib->nib", self._least_mobility).ravel())

    @cached_property
    def held_bones(self) -> Counts:
        """The bones whose locks ``_least_mobility`` does not know, all if some are stiff."""
        is_known = [kind in limits.HINGES or kind is JointKind.FIXED for kind in self.kinds]
        is_held = self.ranges.is_held.any(axis=(1, 2))
        return np.flatnonzero(is_held & (self.has_stiffness | ~np.array(is_known)))

    @cached_property
    def free_shares(self) -> Array | None:
        """1 for the axes about which joints turn, 0 for the others, shape (n, 3, 1).

        None if some are stiff, or locked in a way that their kinds do not tell.
        """
        if self.has_stiffness or self.held_bones.size:
            return None
        shares: Array = np.einsum("niib->nib", self._least_mobility)
        return shares

    def turned_by(self, turn: Array, edges: swings.Edges | None) -> Callable[[Array], Array]:
        """Return what tells how joints turn under torques (n, any, 3, B), but for their limits.

        Args:
            turn: Shape (n, 4, B).
            edges: As ``standing_edges`` has them.
        """
        shares = self.free_shares
        if shares is None:
            assert edges is not None or not self.held_bones.size
            mobility = self.mobilities(turn, self.no_edges if edges is None else edges)
            return lambda torques: np.einsum("nkab,nacb->nkcb", torques, mobility)
        if shares.all():
            return lambda torques: torques
        return lambda torques: torques * shares[:, None]

    def mobilities(self, turn: Array, edges: swings.Edges) -> Array:
        """Return how torques turn the joints but for their limits, shape (n, 3, 3, B)."""
        if self.has_stiffness:
            mobility = swings.stiff(turn, self.mobility)
        else:
            shape = (len(turn), 3, 3, turn.shape[-1])
            mobility = np.broadcast_to(self._least_mobility, shape)
        bones = self.held_bones
        if bones.size:
            mobility = np.array(mobility)
            for edge in range(3):
                mobility[bones] = swings.blocked(
                    mobility[bones], edges.normals[bones, edge], edges.is_held[bones, edge]
                )
        return mobility

    def standing_edges(self, state: Array) -> swings.Edges | None:
        """Return the edges that the joints of a state stand on; None where none does."""
        stands = state[:-1, 5] > 0.0
        if not (self.held_bones.size or stands.any()):
            return None
        edges = self.edges(state[:-1, :4])
        return replace(edges, is_on=edges.is_on & ~edges.is_held & stands[:, None])

    def edges(self, turn: Array) -> swings.Edges:
        """Return the edges of their ranges that joints stand on."""
        if not self.has_edges:
            return self.no_edges
        return swings.edges(self.ranges, swings.placed(self.ranges, turn))

    def state(self, turn: Array, slide: Array) -> Array:
        """Return the state of turns (n, 4, B) and slides (n, B), with its output."""
        at = swings.placed(self.ranges, turn) if self.has_edges else None
        return self._state(turn, slide, at, None)

    def clamped_state(self, turn: Array, slide: Array, active: Array | None = None) -> Array:
        """Return the state of turns (n, 4, B) and slides (n, B) brought inside their ranges.

        Args:
            turn: Of any sort.
            slide: The same.
            active: The edges that have been kept to, by powers of two, shape (n, B); None for none.
        """
        at = swings.placed(self.ranges, turn)
        if self.slide_axes is not None:
            slide = np.clip(slide, self.slide_low, self.slide_high)
        return self._state(swings.turned(at), slide, at, active)

    def _state(
        self, turn: Array, slide: Array, at: SwingTwist | None, active: Array | None
    ) -> Array:
        state = np.zeros((len(turn) + 1, STATE_COLUMNS, turn.shape[-1]))
        state[:-1, :4], state[:-1, 4] = turn, slide
        if at is not None and self.has_edges:
            state[:-1, 5] = swings.stands(self.ranges, at)
        if active is not None:
            state[:-1, 6] = active
        posed = self._posed(state)
        state[-1] = self.output(posed)
        self._keep(state, posed)
        return state

    def _keep(self, state: Array, posed: Posed) -> None:
        """Keep where a state puts the bones: an iteration goes on from one of the last two."""
        known = self.__dict__.get("_known", ())
        self.__dict__["_known"] = ((state, posed), *known[:1])

    def posed(self, state: Array) -> Posed:
        """Return where a state puts the bones."""
        for known, posed in self.__dict__.get("_known", ()):
            if known is state:
                found: Posed = posed
                return found
        posed = self._posed(state)
        self._keep(state, posed)
        return posed

    def chosen(self, is_first: Flags, first: Array, second: Array) -> Array:
        """Return the first state where flagged (B,), else the second."""
        if is_first.all():
            return first
        if not is_first.any():
            return second
        state = np.where(is_first, first, second)
        one, other = self.posed(first), self.posed(second)
        pairs = (one.frames, other.frames), (one.own, other.own), (one.points, other.points)
        self._keep(state, Posed(*(np.where(is_first, *pair) for pair in pairs)))
        return state

    def _posed(self, state: Array) -> Posed:
        own = turns.matrices(state[:-1, :4])
        turned = np.einsum("nijb,njb->nib", own, self.segments_after(state[:-1, 4]))
        links = np.empty_like(own)
        links[0] = self.offsets[0]
        np.einsum("nijb,njkb->nikb", own[:-1], self.offsets[1:], out=links[1:])
        frames = vectors.products(links)
        points = vectors.laid(np.einsum("nijb,njb->nib", frames, turned))
        if self.slide_axes is not None:
            points += self.root_after(state[:-1, 4])
        return Posed(frames, own, points)

    def effectors(self, turn: Array, slide: Array) -> Array:
        """Return where several turns (n, 4, B, each) and slides (n, B) put effectors.

        Shape (3, B, each).
        """
        own = turns.matrices(turn.reshape(*turn.shape[:2], -1))
        own = own.reshape(len(turn), 3, 3, *turn.shape[2:])
        segments, beyond = self.segments_after(slide)[..., None], np.zeros((3, *turn.shape[2:]))
        for i in reversed(range(len(turn))):
            beyond = np.einsum("ijbe,jbe->ibe", own[i], segments[i] + beyond)
            beyond = np.einsum("ijb,jbe->ibe", self.offsets[i], beyond)
        return beyond + self.root_after(slide)[..., None]

    def segments_after(self, slide: Array) -> Array:
        """Return the segments (n, 3, B) to next heads that slides (n, B) have moved."""
        if self.slide_axes is None:
            return self.segments
        segments = self.segments.copy()
        segments[:-1] += self.slide_axes[1:] * slide[1:, None]
        return segments

    def root_after(self, slide: Array) -> Array:
        """Return where slides (n, B) put the first heads, shape (3, B)."""
        if self.slide_axes is None:
            return np.zeros_like(self.segments[0])
        root: Array = self.slide_axes[0] * slide[0]
        return root

    def slid(self, posed: Posed) -> Array:
        """Return how effectors move with the slides of each bone, shape (n, 3, B)."""
        if self.slide_axes is None:
            return np.zeros_like(self.segments)
        slid = self.slide_axes.copy()
        slid[1:] = np.einsum("nijb,njkb,nkb->nib", posed.frames[:-1], posed.own[:-1], slid[1:])
        return slid

    def output(self, posed: Posed) -> Array:
        """Return what the target is compared with, shape (7, B)."""
        output = np.zeros((STATE_COLUMNS, posed.points.shape[-1]))
        output[:3] = posed.points[-1]
        aims = self.aims
        if aims is None:
            return output
        if aims.side is not None:
            output[3] = aims.weight * self.side_angle(posed, aims)
        if aims.tip is not None:
            output[4:] = aims.weight * self._tip_error(posed, aims)
        return output

    def side_angle(self, posed: Posed, aims: Aims) -> Array:
        """Return the angles about the chord from the wanted side to the present one, (B,)."""
        assert aims.side is not None
        offset = self._bulge(posed, aims)
        has_side = norm(offset) > NO_SIDE * self.reach
        angle = np.arctan2(dot(cross(aims.side, offset), aims.chord), dot(aims.side, offset))
        return np.where(has_side, angle, 0.0)

    def _bulge(self, posed: Posed, aims: Aims) -> Array:
        """Return the mean offsets of inner joints from chords through the heads, (3, B)."""
        middle = posed.middle
        if self.slide_axes is not None:
            middle = middle - posed.points[0]
        return across(middle, aims.chord)

    def _tip_error(self, posed: Posed, aims: Aims) -> Array:
        """Return the turns that tip bones are past their wanted orientation, vectors (3, B)."""
        assert aims.tip is not None
        present = np.einsum("ijb,jkb->bik", posed.frames[-1], posed.own[-1])
        wanted = np.einsum("ijb,jkb->bik", turns.matrices(aims.tip), aims.tip_start)
        past = rotation.quaternion_from_matrix(present @ np.linalg.inv(wanted))
        return turns.vectors_of(past.T)

    @property
    def rows(self) -> int:
        """How much of the output is compared: the effector, the side too, or all seven."""
        if self.aims is None:
            return 3
        return 4 if self.aims.tip is None else STATE_COLUMNS

    def answers(self, posed: Posed) -> Array:
        """Return how outputs change with the turns of each joint, shape (n, rows, 3, B)."""
        moved = moved_by_turns(posed.frames, posed.levers)
        aims, count = self.aims, len(moved)
        if aims is None:
            return moved
        answers = np.zeros((count, self.rows, 3, moved.shape[-1]))
        answers[:, :3] = moved
        if aims.side is not None and count > 1:
            offset = self._bulge(posed, aims)
            size = norm(offset)
            has_side = size > NO_SIDE * self.reach
            scale = np.where(has_side, aims.weight / np.where(has_side, size * size, 1.0), 0.0)
            growth = cross(aims.chord, offset) * (scale / (count - 1))
            moved = moved_by_turns(posed.frames, posed.inner_levers)
            answers[:, 3] = np.einsum("ib,nikb->nkb", growth, moved)
        if aims.tip is not None:
            answers[:, 4:] = aims.weight * turned_outside(posed.frames)
        return answers
