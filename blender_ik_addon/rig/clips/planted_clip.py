"""A clip with its feet planted, as keys of targets, poles and hips."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array, Counts
from ...core.clips.contacts import Planted, runs
from ...core.clips.footholds import Motion
from ..controls.default_poles import placements
from ..controls.foot_roll import control_above, control_goal, rigid
from ..keying.keys import ChannelKeys, write_keys
from ..keying.renumbering import path_of_setting
from ..planning.known_skeletons import skeleton_of
from ..reading.refusals import RigError
from ..reading.spec import Anchor, ChainSpec, PoleMode
from . import keyed_pins
from .feet import limbs_of
from .moved_controls import carried_by, carriers_of, keys_of
from .planted_limbs import (
    Ground,
    find_planted,
    hold_planted,
    is_too_short,
    lower_hips,
    moves_between,
)
from .played_clip import PlayedClip

# What stays this near to one place in a whole clip does not move, in scene units.
STILL = 1e-6
# As many runs of frames are named of a chain.
MOST_NAMED = 5


@dataclass(frozen=True)
class Planting:
    """What is asked of a clip.

    Attributes:
        frames: All from the first to the last.
        floor: An object whose XY plane contacts lie on; None to stand as high as in the clip.
        platform: An object that contacts go along with; None for the world.
        root: The bone of the hips; empty without one whose location may be written.
        use_hips: Whether they go down for feet to reach.
        use_pins: Whether the pins of chains in a body are keyed as well: on while they stand.
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
        """Return all whose places have to be read."""
        found = [Anchor(each) for each in (self.floor, self.platform) if each is not None]
        found += [Anchor(armature_object, self.root)] if self.root else []
        for spec in chains:
            if spec.target is not None:
                found += [spec.target, control_above(spec.target)]
            found += [spec.pole] if spec.pole is not None else []
        return [Anchor(armature_object), *(Anchor(each.object) for each in found), *found]


class PlantedClip:
    """A clip that has been played, with its feet planted.

    Attributes:
        kinds: What of the chains stands, by index; chains that never stand are left out.
    """

    def __init__(
        self,
        armature_object: bpy.types.Object,
        chains: Mapping[int, ChainSpec],
        planting: Planting,
        clip: PlayedClip,
        known: Mapping[int, Counts],
        rate: float,
    ) -> None:
        """Find what stands, and where all is to be for it to stand.

        Raises:
            IKError: With one sentence that says what to do next.
        """
        self._object, self._clip = armature_object, clip
        self._use_pins = planting.use_pins
        self._skeleton = skeleton_of(armature_object)
        shown = np.array([pose.world @ pose.matrices for pose in clip.poses])
        if np.ptp(shown, axis=0).max() <= STILL:
            raise RigError(
                "Nothing moves in this range, so there is nothing to plant: key the bones, or"
                " choose other frames."
            )
        placed = {
            index: placements(armature_object, self._skeleton, spec, clip.poses)
            for index, spec in chains.items()
        }
        self._limbs = limbs_of(self._skeleton, chains, placed, clip.poses)
        ground = _ground(clip, planting)
        self.kinds = find_planted(self._limbs, known, ground, rate)
        if not self.kinds:
            raise RigError(
                "No foot and no hand stands in this range: key Planted where one does, or choose"
                " other frames."
            )
        self._hips = Anchor(armature_object, planting.root) if planting.root else None
        held = hold_planted(self._limbs, self.kinds, ground, rate)
        carried = self._carried_by_hips(held)
        lowering = carried if planting.use_hips else []
        self._down = lower_hips(self._limbs, self.kinds, held, lowering, rate)
        self._too_short = {
            index: is_too_short(self._limbs[index], motion, self._down * (index in carried))
            for index, motion in held.items()
        }
        self._goals = self._goals_of(held)

    def counts(self) -> dict[int, int]:
        """Return how often each chain stands, by index."""
        return {
            index: sum(bool(kinds[start]) for start, _ in runs(kinds > 0))
            for index, kinds in self.kinds.items()
        }

    def sentences(self) -> Iterator[str]:
        """Yield what users should know of chains."""
        for index, is_short in self._too_short.items():
            known = [
                f"{self._clip.frames[start]}-{self._clip.frames[end - 1]}"
                for start, end in runs(is_short & (self.kinds[index] != Planted.NONE))
                if is_short[start] and self.kinds[index][start]
            ]
            if known:
                shown = ", ".join([*known[:MOST_NAMED], *["..."] * (len(known) > MOST_NAMED)])
                yield (
                    f"Chain '{self._limbs[index].spec.name}' is too short for its contacts at"
                    f" frames {shown}: change its keys of Planted there, and plant again"
                )

    def write(self, *, with_hips: bool) -> None:
        """Key controls, poles and hips, and what stands.

        Args:
            with_hips: Whether to key the hips where they stay as well.
        """
        found: dict[bpy.types.Object, list[ChannelKeys]] = {self._object: []}
        moves = dict(self._moves)
        for control, place in self._controls().items():
            keys = keys_of(self._clip, control, place, carried_by(control, moves))
            found.setdefault(control.object, []).extend(keys)
            # Its own scale and that of the armature do not move what it carries.
            world, before = self._clip.world(control), rigid(self._clip.place(control))
            after = rigid(np.linalg.inv(world) @ place)
            moves[control] = world @ after @ np.linalg.inv(before) @ np.linalg.inv(world)
        for index, limb in self._limbs.items():
            if limb.spec.pole is not None:
                pole, place = limb.spec.pole, np.tile(np.eye(4), (len(self._down), 1, 1))
                place[:, :3, 3] = limb.placed.pole
                place = self._carried(index) @ place
                keys = keys_of(self._clip, pole, place, carried_by(pole, moves), with_turns=False)
                found.setdefault(pole.object, []).extend(keys)
            elif limb.spec.pole_mode is PoleMode.FOLLOW:
                angles = self._angles(index)
                found[self._object].append(self._setting(index, "pole_angle", angles))
        if self._hips is not None and (with_hips or self._down.any()):
            place = _down(self._down) @ self._clip.world(self._hips) @ self._clip.place(self._hips)
            keys = keys_of(self._clip, self._hips, place, None, with_turns=False)
            found[self._object] += keys
        for owner, keys in found.items():
            write_keys(owner, keys)
        names = ("planted", "use_pin") if self._use_pins else ("planted",)
        standing = [self._standing(index, name) for index in self.kinds for name in names]
        write_keys(self._object, standing, "CONSTANT")
        if self._use_pins:
            keyed_pins.note(self._object, self.kinds)

    def _carried_by_hips(self, indices: Iterable[int]) -> list[int]:
        """Return the chains among others that hang on the hips."""
        if self._hips is None:
            return []
        root, skeleton = self._skeleton.index[self._hips.bone], self._skeleton
        firsts = {index: self._limbs[index].plan.root for index in indices}
        return [index for index, first in firsts.items() if root in skeleton.ancestors(first)]

    def _goals_of(self, held: Mapping[int, Motion]) -> dict[int, Array]:
        """Return where the targets of chains belong, (F, 4, 4) by index; world space, sheared."""
        goals, self._moves = {}, {}
        if self._hips is not None:
            self._moves[self._hips] = _down(self._down)
        for index, motion in held.items():
            limb = self._limbs[index]
            tip = Anchor(self._object, self._skeleton.names[limb.plan.tip])
            self._moves[tip] = moves_between(limb.motion, motion)
            goals[index] = self._moves[tip] @ limb.placed.target
        for index, limb in self._limbs.items():
            if index not in goals:
                goals[index] = self._carried(index) @ limb.placed.target
        return goals

    def _carried(self, index: int) -> Array:
        """Return how the root of a chain is moved, world space, shape (F, 4, 4)."""
        first, *above = self._skeleton.ancestors(self._limbs[index].plan.root)
        found = [Anchor(self._object, self._skeleton.names[bone]) for bone in (first, *above)]
        # Hips are moved by keys of their own, also where a chain begins with them.
        found = found if found[0] == self._hips else found[1:]
        still = np.tile(np.eye(4), (len(self._down), 1, 1))
        return next((self._moves[each] for each in found if each in self._moves), still)

    def _controls(self) -> dict[Anchor, Array]:
        """Return where the controls of targets belong, those first that carry others."""
        found = {}
        for index, limb in self._limbs.items():
            target = limb.spec.target
            assert target is not None
            control, goal = control_above(target), self._goals[index]
            if control != target:
                ends = self._clip.place(target), self._clip.place(control)
                goal = control_goal(self._clip.world(target), goal, *ends)
            found[control] = goal
        order = sorted(found, key=lambda control: len(list(carriers_of(control))))
        return {control: found[control] for control in order}

    def _angles(self, index: int) -> Array:
        """Return pole angles (F,) with which a limb bends where it is now as in the clip."""
        limb = self._limbs[index]
        goals = np.linalg.inv(self._carried(index)) @ self._goals[index]
        placed = placements(self._object, self._skeleton, limb.spec, self._clip.poses, goals)
        # Not smoothed: the side they are told from may turn fast where the limb itself does not.
        return np.unwrap(placed.pole_angle)

    def _setting(self, index: int, name: str, values: Array) -> ChannelKeys:
        path = path_of_setting(self._object, index, name)
        return ChannelKeys("", path, 0, np.array(self._clip.frames, dtype=np.float64), values)

    def _standing(self, index: int, name: str) -> ChannelKeys:
        """Return the keys of a setting that tells what stands, or whether: where it changes."""
        kinds = self.kinds[index]
        told = kinds if name == "planted" else kinds > 0
        rows = [start for start, _ in runs(told)]
        keys = self._setting(index, name, told.astype(np.float64))
        return keys._replace(frames=keys.frames[rows], values=keys.values[rows])


def _ground(clip: PlayedClip, planting: Planting) -> Ground:
    """Return what feet stand on: a floor goes along with the platform."""
    frames = np.tile(np.eye(4), (len(clip.frames), 1, 1))
    if planting.floor is not None:
        frames = rigid(clip.place(Anchor(planting.floor)))
    if planting.platform is not None:
        moving = rigid(clip.place(Anchor(planting.platform)))
        frames = moving @ np.linalg.inv(moving[0]) @ frames[0]
    return Ground(frames, planting.floor is not None)


def _down(way: Array) -> Array:
    """Return matrices (F, 4, 4) that move down."""
    found = np.tile(np.eye(4), (len(way), 1, 1))
    found[:, 2, 3] = -way
    return found
