"""What the overlay keeps from one draw to the next, and when that is out of date."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import bpy

from ..core.clips.contacts import Planted
from ..events import Handler, listening
from ..properties.chains import ChainGroup, body_of, chains_of, is_idle
from ..properties.records import bones_spec, target_and_pole
from ..properties.status import constrained_bones
from ..rig.planning.live_chain import LiveChain
from ..rig.reading.chain_plan import ChainPlan, plan_or_none
from ..rig.reading.skeleton import Skeleton, compiled
from ..rig.reading.spec import Anchor, bones_asked
from ..rig.reading.world import uids_in
from ..rig.shapes.chain_lines import ChainRows
from ..rig.shapes.chain_shape import CompiledShape

# With more changes than this it is faster to read all rigs again than to look at each change.
MANY = 30
FullName = tuple[str, str | None]
"""Name and library file of an object: a linked object may have the name of a local one."""


@dataclass
class KnownRig:
    """The chains of one armature object.

    Attributes:
        skeleton: Its bones.
        plans: For each chain in the list what it asks for, and its plan, None without bones.
        chains: Indices of the chains that have bones and are drawn.
        rows: Their joints.
        anchors: Their targets.
        solved: The same as ``chains``, but -1 for chains that leave their bones alone.
        pinned: Which of the chains are pinned in a body.
        tied: Which of them may have constraints that move the tip after the chain.
        standing: The bones that stand at this frame, and what of them does.
        compiled: For chains that were active: the live chain, None if it is not solved, and the
            shape that was compiled of it.
    """

    skeleton: Skeleton
    plans: list[tuple[object, ChainPlan | None]] = field(default_factory=list)
    chains: tuple[int, ...] = ()
    rows: ChainRows | None = None
    anchors: list[Anchor | None] = field(default_factory=list)
    solved: tuple[int, ...] = ()
    pinned: tuple[bool, ...] = ()
    tied: tuple[bool, ...] = ()
    standing: list[tuple[int, Planted]] = field(default_factory=list)
    compiled: dict[int, tuple[LiveChain | None, CompiledShape]] = field(default_factory=dict)

    def read(self, armature_object: bpy.types.Object) -> None:
        """Read the settings of the chains again; bones and plans only if they have changed."""
        skeleton = compiled(armature_object, self.skeleton)
        known = self.plans if skeleton is self.skeleton else []
        self.skeleton, settings = skeleton, chains_of(armature_object)
        kept = self.compiled.items() if known else ()
        self.compiled = {index: pair for index, pair in kept if pair[0] is not None}
        asked = [bones_asked(each) for each in settings]
        if [each for each, _ in known] != asked or not known:
            self.plans = [
                (wanted, plan_or_none(skeleton, bones_spec(each)))
                for wanted, each in zip(asked, settings, strict=True)
            ]
            self.chains, self.rows = self._drawn(range(len(self.plans)))
        self.anchors = [target_and_pole(settings[i])[0] for i in self.chains]
        self.solved = tuple([-1 if is_idle(settings[i]) else i for i in self.chains])
        is_body = body_of(armature_object) is not None
        self.pinned = tuple([is_body and i >= 0 and settings[i].use_pin for i in self.solved])
        own = [(settings[i], self.plans[i][1]) for i in self.chains]
        self.tied = tuple([_is_tied(armature_object, *each) for each in own])
        planted = [(i, Planted[settings[i].planted]) for i in self.chains]
        plans = [(self.plans[i][1], kind) for i, kind in planted if kind]
        self.standing = [(plan.tip, kind) for plan, kind in plans if plan is not None]

    def _drawn(self, chains: Iterable[int]) -> tuple[tuple[int, ...], ChainRows | None]:
        """Return the indices of chains that have bones, and their joints, None without any."""
        found = {i: plan for i in chains if (plan := self.plans[i][1]) is not None}
        rows = ChainRows.of(list(found.values())) if found else None
        return tuple(found), rows

    def only(self, places: Sequence[int]) -> KnownRig:
        """Return a copy that has only these places of ``chains``."""
        chains, rows = self._drawn([self.chains[i] for i in places])
        anchors = [self.anchors[i] for i in places]
        pinned = tuple([self.pinned[i] for i in places])
        solved = tuple([self.solved[i] for i in places])
        tied = tuple([self.tied[i] for i in places])
        found = replace(self, chains=chains, rows=rows, anchors=anchors, solved=solved)
        return replace(found, pinned=pinned, tied=tied)


def _is_tied(owner: bpy.types.Object, settings: ChainGroup, plan: ChainPlan | None) -> bool:
    """Tell whether constraints may move the tip of a chain after it; not one led by its root."""
    is_led_by_root = settings.solver == "FOLLOW" and settings.follow_lead == "ROOT"
    return plan is not None and not is_led_by_root and bool(constrained_bones(owner, plan))


@dataclass
class Known:
    """Everything that the overlay keeps; cleared on load, undo and unregister.

    Attributes:
        names: Full names of armature objects with chains, by scene and view layer.
        present: Session uids of a scene's objects, by that of the scene.
        rigs: By session uid.
        drawn: Batches, by the view that they show.
        joined: The rows of several armature objects, and these joined to one.
        found: What ``draw_in_scene`` has drawn, for ``draw_on_screen`` right after it.
        listed: Session uids of armature objects that have changed since they were read.
        is_changed: Whether anything has changed since it was drawn.
    """

    names: dict[tuple[int, str], tuple[FullName, ...]] = field(default_factory=dict)
    present: dict[int, frozenset[int]] = field(default_factory=dict)
    rigs: dict[int, KnownRig] = field(default_factory=dict)
    drawn: dict[tuple[object, ...], Any] = field(default_factory=dict)
    joined: tuple[list[ChainRows], ChainRows] | None = None
    found: Any = None
    listed: set[int] = field(default_factory=set)
    is_changed: bool = False

    def clear(self) -> None:
        """Forget everything."""
        for each in (self.names, self.present, self.rigs, self.drawn, self.listed):
            each.clear()
        self.joined, self.found, self.is_changed = None, None, False

    def note(self, depsgraph: bpy.types.Depsgraph, *, is_new_frame: bool) -> None:
        """Note what an update has changed; before the first draw nothing can be out of date."""
        if not self.names:
            return
        self.is_changed = True
        updates = depsgraph.updates
        if is_new_frame:
            self.listed.update(self.rigs)
            return
        if len(updates) > MANY or depsgraph.id_type_updated(id_type="COLLECTION"):
            # Objects may have come or gone, and rigs may have got their first chain.
            self.clear()
            return
        for update in updates:
            changed = update.id.original
            if isinstance(changed, bpy.types.Object) and changed.type == "ARMATURE":
                self._note_rig(changed)

    def _note_rig(self, changed: bpy.types.Object) -> None:
        """Note a changed armature object, which may have its first chain or another name now."""
        if len(changed.chain_ik.chains) and not any(
            full_name(changed) in names for names in self.names.values()
        ):
            self.clear()
        elif changed.session_uid in self.rigs:
            self.listed.add(changed.session_uid)

    def settle(self) -> None:
        """Drop what is out of date, before something is drawn."""
        if self.is_changed:
            self.drawn.clear()
            self.is_changed = False

    def find_rigs(
        self, scene: bpy.types.Scene, layer: bpy.types.ViewLayer
    ) -> list[bpy.types.Object]:
        """Return the armature objects of a view layer that have chains.

        Kept by name: references would be invalid after an undo.
        """
        key = scene.session_uid, layer.name
        if key in self.names:
            # ``Any``: the stubs do not know that objects can be found by their full names.
            objects: Any = bpy.data.objects
            found = [objects.get(name) for name in self.names[key]]
            if all(found):
                return found
            # One has been removed, or its library has another path now.
            self.clear()
        rigs = [
            each for each in layer.objects if each.type == "ARMATURE" and len(each.chain_ik.chains)
        ]
        self.names[key] = tuple([full_name(rig) for rig in rigs])
        return rigs

    def find_present(self, depsgraph: bpy.types.Depsgraph) -> frozenset[int]:
        """Return the session uids of the objects of a scene, of which rigs have been found."""
        scene = depsgraph.scene
        assert scene is not None
        uid = scene.session_uid
        if uid not in self.present:
            self.present[uid] = uids_in(scene)
        return self.present[uid]

    def join(self, rigs: Sequence[KnownRig]) -> ChainRows:
        """Return the joints of all chains of armature objects; cached while none changes."""
        parts = [rig.rows for rig in rigs if rig.rows is not None]
        known = [] if self.joined is None else self.joined[0]
        if self.joined is None or list(map(id, known)) != list(map(id, parts)):
            counts = [len(rig.skeleton.names) for rig in rigs]
            self.joined = parts, ChainRows.join(parts, counts)
        return self.joined[1]

    def rig(self, armature_object: bpy.types.Object) -> KnownRig:
        """Return what is known of an armature object, read again if it has changed."""
        uid = armature_object.session_uid
        known = self.rigs.get(uid)
        if known is None:
            known = self.rigs[uid] = KnownRig(compiled(armature_object))
        elif uid not in self.listed:
            return known
        known.read(armature_object)
        self.listed.discard(uid)
        return known


def full_name(member: bpy.types.Object) -> FullName:
    """Return a name that no other object has at the moment."""
    library = member.library
    return member.name, None if library is None else library.filepath


known = Known()


def is_on(scene: bpy.types.Scene) -> bool:
    """Tell whether anything is drawn at all."""
    return bool(scene.chain_ik.overlay.show_overlay)


def on_update(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Note what has changed."""
    _note(scene, depsgraph, is_new_frame=False)


def on_frame(scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Note that everything may have changed."""
    _note(scene, depsgraph, is_new_frame=True)


def _note(
    scene: bpy.types.Scene, depsgraph: bpy.types.Depsgraph | None, *, is_new_frame: bool
) -> None:
    if depsgraph is None or depsgraph.mode != "VIEWPORT":
        return
    if is_on(scene):
        known.note(depsgraph, is_new_frame=is_new_frame)
    else:
        # Changes are not noted while it is off, so nothing that was kept can be trusted.
        known.clear()


def on_history(*_arguments: object) -> None:
    """Forget what is known of data that has just been replaced: load, undo, redo."""
    known.clear()


_HANDLERS: dict[str, Handler] = {
    "depsgraph_update_post": on_update,
    "frame_change_post": on_frame,
    "load_post": on_history,
    "undo_post": on_history,
    "redo_post": on_history,
}


register, unregister = listening(_HANDLERS, known.clear)
