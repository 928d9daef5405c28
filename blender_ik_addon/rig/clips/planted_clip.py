"""A clip with its feet planted, as keys of targets, poles and hips."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array, Counts
from ...core.clips.contacts import Planted, runs
from ...core.clips.footholds import END_TIME, Motion, blend, fade_ends
from ...core.model.message import Message
from ..controls.default_poles import placements
from ..controls.foot_roll import control_above, control_goal, rigid
from ..keying.keys import Channel, ChannelKeys, write_keys
from ..keying.renumbering import path_of_setting
from ..planning.known_skeletons import skeleton_of
from ..reading.refusals import RigError
from ..reading.spec import Anchor, ChainSpec, PoleMode
from . import keyed_settings
from .feet import find_limbs
from .keyed_settings import RangeEnds
from .moved_controls import find_carriers, find_carry, make_keys
from .planted_limbs import (
    Ground,
    find_contacts_of,
    find_moves,
    hold_planted,
    is_too_short,
    lower_hips,
)
from .played_clip import PlayedClip

# Largest move of a clip without motion, in scene units.
STILL_DISTANCE = 1e-6
# Largest count of runs of frames that a message names for a chain.
MAX_RUNS = 5


@dataclass(frozen=True)
class PlantingOptions:
    """Options of Plant Feet.

    Attributes:
        frames: All frames from the first to the last.
        floor: Object whose XY plane contacts lie on; None for the heights of the clip.
        platform: Object that carries contacts; None for the world.
        root: Name of the hip bone; empty without one whose location may be written.
        use_hips: Whether the hips go down so that feet reach their places.
        use_pins: Whether to key the pins of chains in a body, which are on in contacts.
    """

    frames: range
    floor: bpy.types.Object | None = None
    platform: bpy.types.Object | None = None
    root: str = ""
    use_hips: bool = True
    use_pins: bool = False

    def anchors(
        self, armature_object: bpy.types.Object, chains: Iterable[ChainSpec]
    ) -> list[Anchor]:
        """Return all objects and bones whose places must be read."""
        anchors = [Anchor(owner) for owner in (self.floor, self.platform) if owner is not None]
        anchors += [Anchor(armature_object, self.root)] if self.root else []
        for spec in chains:
            if spec.target is not None:
                anchors += [spec.target, control_above(spec.target)]
            anchors += [spec.pole] if spec.pole is not None else []
        return [Anchor(armature_object), *(Anchor(owner.object) for owner in anchors), *anchors]


class PlantedClip:
    """A clip that has been played, with its feet planted.

    Attributes:
        kinds: Contacts of the chains by index; chains without contacts are left out.
    """

    def __init__(
        self,
        armature_object: bpy.types.Object,
        chains: Mapping[int, ChainSpec],
        planting: PlantingOptions,
        clip: PlayedClip,
        known: Mapping[int, Counts],
        rate: float,
        ends: RangeEnds,
    ) -> None:
        """Find the contacts, and the places of all controls that hold them.

        Raises:
            IKError: With one sentence that says what to do next.
        """
        self._object, self._clip = armature_object, clip
        self._use_pins, self._ends = planting.use_pins, ends
        self._skeleton = skeleton_of(armature_object)
        shown = np.array([pose.world @ pose.matrices for pose in clip.poses])
        if np.ptp(shown, axis=0).max() <= STILL_DISTANCE:
            raise RigError(
                "Nothing moves in this range, so there is nothing to plant: key the bones, or"
                " choose other frames."
            )
        placed = {
            index: placements(armature_object, spec, clip.poses) for index, spec in chains.items()
        }
        self._limbs = find_limbs(self._skeleton, chains, placed, clip.poses)
        ground = _find_ground(clip, planting)
        share = _fade_ends(ends, rate)
        self.kinds = find_contacts_of(self._limbs, known, ground, rate, share)
        if not self.kinds:
            raise RigError(
                "No foot or hand stands still in this range: key Planted where one stands, or"
                " choose other frames."
            )
        self._hips = Anchor(armature_object, planting.root) if planting.root else None
        held = hold_planted(self._limbs, self.kinds, ground, rate)
        carried = self._find_carried_by_hips(held)
        lowering = carried if planting.use_hips else []
        # Equal shares of both keep feet in reach.
        self._down = share * lower_hips(self._limbs, self.kinds, held, lowering, rate)
        for index, motion in held.items():
            held[index] = blend(self._limbs[index].motion, motion, share)
        self._too_short = {
            index: is_too_short(self._limbs[index], motion, self._down * (index in carried))
            for index, motion in held.items()
        }
        self._goals = self._find_goals(held)

    def counts(self) -> dict[int, int]:
        """Return the count of contacts of each chain, by index."""
        return {
            index: sum(bool(kinds[start]) for start, _ in runs(kinds > 0))
            for index, kinds in self.kinds.items()
        }

    def sentences(self) -> Iterator[str]:
        """Yield messages about chains for the user."""
        for index, is_short in self._too_short.items():
            known = [
                f"{self._clip.frames[start]}-{self._clip.frames[end - 1]}"
                for start, end in runs(is_short & (self.kinds[index] != Planted.NONE))
                if is_short[start] and self.kinds[index][start]
            ]
            if known:
                shown = ", ".join([*known[:MAX_RUNS], *["..."] * (len(known) > MAX_RUNS)])
                yield Message(
                    "Chain '{name}' is too short for its contacts at frames {shown}: change its"
                    " keys of Planted there, and plant again",
                    name=self._limbs[index].spec.name,
                    shown=shown,
                )

    def write(self, *, with_hips: bool) -> None:
        """Key controls, poles and contacts; with ``with_hips`` also hips that stay."""
        keyed: dict[bpy.types.Object, list[ChannelKeys]] = {self._object: []}
        moves = dict(self._moves)
        for control, place in self._find_controls().items():
            keys = make_keys(self._clip, control, place, find_carry(control, moves))
            keyed.setdefault(control.object, []).extend(keys)
            # Scales of the control and of the armature do not move what the control carries.
            world, before = self._clip.world(control), rigid(self._clip.place(control))
            after = rigid(np.linalg.inv(world) @ place)
            moves[control] = world @ after @ np.linalg.inv(before) @ np.linalg.inv(world)
        for index, limb in self._limbs.items():
            if limb.spec.pole is not None:
                pole, place = limb.spec.pole, np.tile(np.eye(4), (len(self._down), 1, 1))
                place[:, :3, 3] = limb.placed.pole
                place = self._find_root_move(index) @ place
                keys = make_keys(self._clip, pole, place, find_carry(pole, moves), with_turns=False)
                keyed.setdefault(pole.object, []).extend(keys)
            elif limb.spec.pole_mode is PoleMode.FOLLOW:
                # The angles with which the moved limb bends as it does in the clip.
                goals = np.linalg.inv(self._find_root_move(index)) @ self._goals[index]
                placed = placements(self._object, limb.spec, self._clip.poses, goals)
                # They are not smoothed: the reference side may turn fast where the limb does not.
                angles = np.unwrap(placed.pole_angle)
                keyed[self._object].append(self._make_setting_keys(index, "pole_angle", angles))
        if self._hips is not None and (with_hips or self._down.any()):
            place = _down(self._down) @ self._clip.world(self._hips) @ self._clip.place(self._hips)
            keys = make_keys(self._clip, self._hips, place, None, with_turns=False)
            keyed[self._object] += keys
        for owner, keys in keyed.items():
            write_keys(owner, keys)
        names = ("planted", "use_pin") if self._use_pins else ("planted",)
        contacts = [self._make_contact_keys(index, name) for index in self.kinds for name in names]
        write_keys(self._object, contacts, "CONSTANT")
        if self._use_pins:
            keyed_settings.note(self._object, self.kinds)

    def _find_carried_by_hips(self, indices: Iterable[int]) -> list[int]:
        """Return those of some chains that are below the hips."""
        if self._hips is None:
            return []
        root, skeleton = self._skeleton.index[self._hips.bone], self._skeleton
        firsts = {index: self._limbs[index].plan.root for index in indices}
        return [index for index, first in firsts.items() if root in skeleton.ancestors(first)]

    def _find_goals(self, held: Mapping[int, Motion]) -> dict[int, Array]:
        """Return the goals of targets, (F, 4, 4) by index of the chain; world space, with shear."""
        goals, self._moves = {}, {}
        if self._hips is not None:
            self._moves[self._hips] = _down(self._down)
        for index, motion in held.items():
            limb = self._limbs[index]
            tip = Anchor(self._object, self._skeleton.names[limb.plan.tip])
            self._moves[tip] = find_moves(limb.motion, motion)
            goals[index] = self._moves[tip] @ limb.placed.target
        for index, limb in self._limbs.items():
            if index not in goals:
                goals[index] = self._find_root_move(index) @ limb.placed.target
        return goals

    def _find_root_move(self, index: int) -> Array:
        """Return the move of the root of a chain, world space, shape (F, 4, 4)."""
        bones = self._skeleton.ancestors(self._limbs[index].plan.root)
        anchors = [Anchor(self._object, self._skeleton.names[bone]) for bone in bones]
        # Keys of the hips move them, also where a chain begins with the hips.
        anchors = anchors if anchors[0] == self._hips else anchors[1:]
        still = np.tile(np.eye(4), (len(self._down), 1, 1))
        return next((self._moves[anchor] for anchor in anchors if anchor in self._moves), still)

    def _find_controls(self) -> dict[Anchor, Array]:
        """Return the goals of the controls of targets, carriers before what they carry."""
        goals = {}
        for index, limb in self._limbs.items():
            target = limb.spec.target
            assert target is not None
            control, goal = control_above(target), self._goals[index]
            if control != target:
                ends = self._clip.place(target), self._clip.place(control)
                goal = control_goal(self._clip.world(target), goal, *ends)
            goals[control] = goal
        order = sorted(goals, key=lambda control: len(list(find_carriers(control))))
        return {control: goals[control] for control in order}

    def _make_setting_keys(self, index: int, name: str, values: Array) -> ChannelKeys:
        path = path_of_setting(self._object, index, name)
        frames = np.array(self._clip.frames, dtype=np.float64)
        return self._ends.keep(index, name, ChannelKeys(Channel("", path), frames, values))

    def _make_contact_keys(self, index: int, name: str) -> ChannelKeys:
        """Return the keys of a setting for contacts, one at each change of its value."""
        kinds = self.kinds[index]
        values = kinds if name == "planted" else kinds > 0
        keys = self._make_setting_keys(index, name, values.astype(np.float64))
        rows = [start for start, _ in runs(keys.values.astype(np.int64))]
        return keys._replace(frames=keys.frames[rows], values=keys.values[rows])


def _fade_ends(ends: RangeEnds, rate: float) -> Array:
    """Return the share of corrections at each frame, (F,), which is 1 somewhere."""
    share = fade_ends(len(ends.frames), rate, ends.continues)
    if not (share == 1.0).any():
        raise RigError(
            "This range is too short to fade in and out: choose {count} frames or more.",
            count=1 + sum(ends.continues) * math.ceil(END_TIME * rate),
        )
    return share


def _find_ground(clip: PlayedClip, planting: PlantingOptions) -> Ground:
    """Return the ground below feet; a platform carries the floor."""
    frames = np.tile(np.eye(4), (len(clip.frames), 1, 1))
    if planting.floor is not None:
        frames = rigid(clip.place(Anchor(planting.floor)))
    if planting.platform is not None:
        moving = rigid(clip.place(Anchor(planting.platform)))
        frames = moving @ np.linalg.inv(moving[0]) @ frames[0]
    return Ground(frames, planting.floor is not None)


def _down(drop: Array) -> Array:
    """Return matrices (F, 4, 4) that move down."""
    matrices = np.tile(np.eye(4), (len(drop), 1, 1))
    matrices[:, 2, 3] = -drop
    return matrices
