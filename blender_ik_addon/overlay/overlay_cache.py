"""The cache of the overlay between draws, and the handlers that mark its entries as outdated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import bpy

from ..core.clips.contacts import Planted
from ..events import Handler, make_handler_registration
from ..properties.chains import body_of, chains_of, is_idle
from ..properties.records import bones_spec, target_and_pole
from ..properties.status import constrained_bones
from ..rig.planning.known_skeletons import skeleton_of
from ..rig.planning.live_chain import LiveChain
from ..rig.reading.chain_plan import ChainPlan, plan_or_none
from ..rig.reading.skeleton import Skeleton
from ..rig.reading.spec import Anchor, get_bone_settings
from ..rig.reading.world import uids_in
from ..rig.shapes.chain_lines import ChainRows
from ..rig.shapes.chain_shape import CompiledShape

# With more changes than this in one update, reading all rigs again is faster than looking at each.
MAX_CHANGES = 30
FullName = tuple[str, str | None]
"""Name and library file of an object: a linked object may have the name of a local one."""


@dataclass(frozen=True, slots=True)
class DrawnChain:
    """A chain that has bones and is drawn.

    Attributes:
        index: Its index in the list of its armature object.
        target: Its target; None without.
        solved: Its index, but -1 for an idle chain, which leaves its bones alone.
        is_pinned: Whether it is pinned in a body.
        is_constrained: Whether constraints may move its tip after the solve.
    """

    index: int
    target: Anchor | None
    solved: int
    is_pinned: bool
    is_constrained: bool


@dataclass
class CachedRig:
    """The chains of one armature object.

    Attributes:
        skeleton: Its bones.
        plans: The requested bones and the plan of every chain in the list; the plan is None
            without bones.
        drawn: The chains that are drawn.
        rows: Their joints.
        planted_bones: The tip bones that are planted at this frame, and which parts of them.
        compiled: The shapes of chains that were active, by index, each with the live chain that
            it was compiled from; None for a chain that is not solved.
    """

    skeleton: Skeleton
    plans: list[tuple[object, ChainPlan | None]] = field(default_factory=list)
    drawn: list[DrawnChain] = field(default_factory=list)
    rows: ChainRows | None = None
    planted_bones: list[tuple[int, Planted]] = field(default_factory=list)
    compiled: dict[int, tuple[LiveChain | None, CompiledShape]] = field(default_factory=dict)

    def read(self, armature_object: bpy.types.Object) -> None:
        """Read the settings of the chains again; bones and plans only if they have changed."""
        skeleton = skeleton_of(armature_object, self.skeleton)
        cached = self.plans if skeleton is self.skeleton else []
        self.skeleton, settings = skeleton, chains_of(armature_object)
        shapes = self.compiled.items() if cached else ()
        self.compiled = {index: pair for index, pair in shapes if pair[0] is not None}
        requests = [get_bone_settings(chain) for chain in settings]
        if [request for request, _ in cached] != requests or not cached:
            self.plans = [
                (request, plan_or_none(skeleton, bones_spec(chain)))
                for request, chain in zip(requests, settings, strict=True)
            ]
            self.rows = self._rows_of(range(len(self.plans)))
        is_body, self.drawn, self.planted_bones = body_of(armature_object) is not None, [], []
        for index, (chain, (_, plan)) in enumerate(zip(settings, self.plans, strict=True)):
            if plan is None:
                continue
            target, is_solved, kind = target_and_pole(chain)[0], not is_idle(chain), chain.planted
            # If its root leads, constraints of the tip do not matter.
            is_led_by_root = chain.solver == "FOLLOW" and chain.follow_lead == "ROOT"
            is_constrained = not is_led_by_root and bool(constrained_bones(armature_object, plan))
            is_pinned = is_body and is_solved and chain.use_pin
            solved = index if is_solved else -1
            self.drawn.append(DrawnChain(index, target, solved, is_pinned, is_constrained))
            if Planted[kind]:
                self.planted_bones.append((plan.tip, Planted[kind]))

    def _rows_of(self, chains: Iterable[int]) -> ChainRows | None:
        """Return the joints of those chains that have bones; None without any."""
        plans = [plan for i in chains if (plan := self.plans[i][1]) is not None]
        return ChainRows.of(plans) if plans else None

    def only(self, places: Sequence[int]) -> CachedRig:
        """Return a copy that has only the chains at these places of ``drawn``."""
        drawn = [self.drawn[i] for i in places]
        return replace(self, drawn=drawn, rows=self._rows_of([chain.index for chain in drawn]))


@dataclass
class OverlayCache:
    """The cache of the overlay; cleared on load, undo and unregister.

    Attributes:
        names: Full names of armature objects with chains, by scene and view layer.
        scene_uids: Session uids of a scene's objects, by that of the scene.
        rigs: Armature objects with chains, by session uid.
        drawn: Batches, by the view that they show.
        joined: The rows of the armature objects, and the same rows joined to one.
        last_drawn: Content that ``draw_in_scene`` drew, for ``draw_on_screen`` right after it.
        outdated: Session uids of armature objects that have changed since they were read.
        is_changed: Whether anything has changed since the last draw.
    """

    names: dict[tuple[int, str], tuple[FullName, ...]] = field(default_factory=dict)
    scene_uids: dict[int, frozenset[int]] = field(default_factory=dict)
    rigs: dict[int, CachedRig] = field(default_factory=dict)
    drawn: dict[tuple[object, ...], Any] = field(default_factory=dict)
    joined: tuple[list[ChainRows], ChainRows] | None = None
    last_drawn: Any = None
    outdated: set[int] = field(default_factory=set)
    is_changed: bool = False

    def clear(self) -> None:
        """Forget everything."""
        for entries in (self.names, self.scene_uids, self.rigs, self.drawn, self.outdated):
            entries.clear()
        self.joined, self.last_drawn, self.is_changed = None, None, False

    def note(self, depsgraph: bpy.types.Depsgraph, *, is_new_frame: bool) -> None:
        """Note the changes of an update; before the first draw nothing is cached."""
        if not self.names:
            return
        self.is_changed = True
        updates = depsgraph.updates
        if is_new_frame:
            self.outdated.update(self.rigs)
            return
        if len(updates) > MAX_CHANGES or depsgraph.id_type_updated(id_type="COLLECTION"):
            # Objects may have been added or removed, and rigs may have got their first chain.
            self.clear()
            return
        for update in updates:
            changed = update.id.original
            if not isinstance(changed, bpy.types.Object) or changed.type != "ARMATURE":
                continue
            is_known = any(full_name(changed) in names for names in self.names.values())
            if len(changed.chain_ik.chains) and not is_known:
                # It may have its first chain or another name now.
                self.clear()
            elif changed.session_uid in self.rigs:
                self.outdated.add(changed.session_uid)

    def settle(self) -> None:
        """Drop outdated batches before a draw."""
        if self.is_changed:
            self.drawn.clear()
            self.is_changed = False

    def find_rigs(
        self, scene: bpy.types.Scene, layer: bpy.types.ViewLayer
    ) -> list[bpy.types.Object]:
        """Return the armature objects of a view layer that have chains.

        They are cached by name, because an undo makes references invalid.
        """
        key = scene.session_uid, layer.name
        if key in self.names:
            # ``Any``: the stubs do not know that full names are keys of objects.
            objects: Any = bpy.data.objects
            cached = [objects.get(name) for name in self.names[key]]
            if all(cached):
                return cached
            # One has been removed, or its library has another path now.
            self.clear()
        rigs = [rig for rig in layer.objects if rig.type == "ARMATURE" and len(rig.chain_ik.chains)]
        self.names[key] = tuple([full_name(rig) for rig in rigs])
        return rigs

    def find_scene_uids(self, depsgraph: bpy.types.Depsgraph) -> frozenset[int]:
        """Return the session uids of the objects of a depsgraph's scene, after ``find_rigs``."""
        scene = depsgraph.scene
        assert scene is not None
        uid = scene.session_uid
        if uid not in self.scene_uids:
            self.scene_uids[uid] = uids_in(scene)
        return self.scene_uids[uid]

    def join(self, rigs: Sequence[CachedRig]) -> ChainRows:
        """Return the joints of all chains of armature objects; cached while none changes."""
        parts = [rig.rows for rig in rigs if rig.rows is not None]
        cached = [] if self.joined is None else self.joined[0]
        if self.joined is None or list(map(id, cached)) != list(map(id, parts)):
            counts = [len(rig.skeleton.names) for rig in rigs]
            self.joined = parts, ChainRows.join(parts, counts)
        return self.joined[1]

    def rig(self, armature_object: bpy.types.Object) -> CachedRig:
        """Return the chains of an armature object, read again if it has changed."""
        uid = armature_object.session_uid
        cached = self.rigs.get(uid)
        if cached is None:
            cached = self.rigs[uid] = CachedRig(skeleton_of(armature_object))
        elif uid not in self.outdated:
            return cached
        cached.read(armature_object)
        self.outdated.discard(uid)
        return cached


def full_name(member: bpy.types.Object) -> FullName:
    """Return a name that no other object has at the moment."""
    library = member.library
    return member.name, None if library is None else library.filepath


cache = OverlayCache()


def is_on(scene: bpy.types.Scene) -> bool:
    """Tell whether anything is drawn at all."""
    return bool(scene.chain_ik.overlay.show_overlay)


def on_update(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Note the changes of an update."""
    _note(scene, depsgraph, is_new_frame=False)


def on_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Note that a new frame may have changed every rig."""
    _note(scene, depsgraph, is_new_frame=True)


def _note(
    scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None, *, is_new_frame: bool
) -> None:
    if depsgraph is None or depsgraph.mode != "VIEWPORT":
        return
    if is_on(scene):
        cache.note(depsgraph, is_new_frame=is_new_frame)
    else:
        # While the overlay is off, changes are not noted, so the cache may be outdated.
        cache.clear()


def on_history(*_arguments: object) -> None:
    """Clear the cache after a load, undo or redo has replaced the data."""
    cache.clear()


_HANDLERS: tuple[tuple[str, Handler], ...] = (
    ("depsgraph_update_post", on_update),
    ("frame_change_post", on_frame),
    ("load_post", on_history),
    ("undo_post", on_history),
    ("redo_post", on_history),
)


register, unregister = make_handler_registration(_HANDLERS, cache.clear)
