"""Keys and drivers of library overrides follow chains that the library has moved or renamed.

Blender finds a chain of an override by its name, but what animates it by its index. So an override
stores a record of its chains in their order, and its keys are those of the chains in the record.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import bpy

from ..reading.animation import bags_of_action, drivers, held_actions
from ..reading.refusals import RigError
from .renumbering import ITEM, PathRewrite, check_exclusive, identity_of

_LOG = logging.getLogger(__name__)
_CHAIN_PATH = re.compile(rf"(chain_ik\.chains)({ITEM})(.*)")


class ChainRecord(NamedTuple):
    """The name of a chain and its tip bone."""

    name: str
    bone: str


def record_chains(objects: Iterable[bpy.types.Object]) -> None:
    """Record the present chains of the overrides among objects; keys must be theirs already."""
    for owner in filter(is_override, objects):
        record = json.dumps([override_depth(owner), _chains_of(owner)])
        is_used = owner.chain_ik.chains or owner.chain_ik.seen_chains
        if is_used and owner.chain_ik.seen_chains != record:
            owner.chain_ik.seen_chains = record


def follow_library(objects: Iterable[bpy.types.Object]) -> None:
    """Move keys and drivers of overrides back to the chains that they are recorded for.

    Those of chains that are gone stay, without effect. Warnings name them, and keys that cannot
    follow. Objects without a record are left as they are.
    """
    changes = {
        owner: _ListChange(former, _chains_of(owner))
        for owner in filter(is_override, objects)
        if (former := _read(owner)) and former != _chains_of(owner)
    }
    # Objects may share an action, so all paths are read before the first one changes.
    for rewrite in [_LibraryRewrite(owner, changes) for owner in changes]:
        rewrite.carry_out()
    for owner, change in changes.items():
        change.warn_of_losses(owner)
    record_chains(changes)


def find_new_indices(
    former: Sequence[ChainRecord], present: Sequence[ChainRecord]
) -> list[int | None]:
    """Return the present index of each former chain; None for those that are gone.

    If the library and the override have chains of one name, the tip decides. A chain with a new
    name on the same tip was renamed.
    """
    new_indices: dict[int, int] = {}
    for key in (attrgetter("name", "bone"), attrgetter("name"), attrgetter("bone")):
        for i in [i for i in range(len(former)) if i not in new_indices]:
            taken, value = set(new_indices.values()), key(former[i])
            same = [j for j, chain in enumerate(present) if key(chain) == value != ""]
            if free := [j for j in same if j not in taken]:
                new_indices[i] = free[0]
    return [new_indices.get(i) for i in range(len(former))]


def is_override(owner: bpy.types.Object) -> bool:
    """Return whether an object is a library override of an armature."""
    return owner.override_library is not None and owner.type == "ARMATURE"


def _chains_of(owner: bpy.types.Object) -> list[ChainRecord]:
    return [ChainRecord(chain.name, chain.bone) for chain in owner.chain_ik.chains]


def reference_of(block: bpy.types.ID) -> bpy.types.ID | None:
    """Return what an override overrides; None for other data, and if the library is missing."""
    override = block.override_library
    return None if override is None else override.reference


def override_depth(block: bpy.types.ID) -> int:
    """Return the number of overrides from the first library to this one.

    It makes the record of an override of an override differ from that of its library. Blender saves
    no equal values, so the override would later have its library's new record.
    """
    reference = reference_of(block)
    return 0 if reference is None else 1 + override_depth(reference)


def _read(owner: bpy.types.Object) -> list[ChainRecord]:
    """Return the recorded chains; none without a readable record of this very object."""
    try:
        depth, chains = json.loads(owner.chain_ik.seen_chains)
        records = [ChainRecord(name, bone) for name, bone in chains]
    except (ValueError, TypeError, RecursionError):
        return []
    is_text = all(isinstance(text, str) for record in records for text in record)
    return records if is_text and depth == override_depth(owner) else []


def _by_name(chain: ChainRecord) -> str:
    return f'["{bpy.utils.escape_identifier(chain.name)}"]'


class _ListChange:
    """The chains of an object before and after a change of its library."""

    def __init__(self, former: list[ChainRecord], present: list[ChainRecord]) -> None:
        self._former, self._present = former, present
        new_indices = find_new_indices(former, present)
        self._gone = [chain for chain, i in zip(former, new_indices, strict=True) if i is None]
        self._renamed: dict[str, str] = {}
        names = {chain.name for chain in former}
        # The brackets of paths, by the former ones. A chain that is gone gets its name, where
        # Blender finds nothing. If it is there again, or was renamed, the name becomes an index.
        self._brackets = {
            _by_name(chain): f"[{i}]" for i, chain in enumerate(present) if chain.name not in names
        }
        for former_index, chain in enumerate(former):
            i = new_indices[former_index]
            self._brackets[f"[{former_index}]"] = _by_name(chain) if i is None else f"[{i}]"
            if i is not None and present[i].name != chain.name:
                self._brackets[_by_name(chain)] = f"[{i}]"
                self._renamed[chain.name] = present[i].name

    def warn_of_losses(self, owner: bpy.types.Object) -> None:
        """Warn of what Blender has dropped from an override.

        It inserts chains that the override has added after the library's chain before them. If that
        one is gone, and no other has its index, it inserts copies of other chains instead.
        """
        reference = reference_of(owner)
        of_library = {chain.name for chain in reference.chain_ik.chains} if reference else set()
        # The file may have renamed chains of its own, and lost the record of that.
        for name, new_name in self._renamed.items():
            if new_name not in of_library:
                continue
            _LOG.warning(
                "'%s': the library has renamed the chain '%s' to '%s'. Its keys follow it, but"
                " Blender drops what else this file has changed of it: rename it back in the"
                " library before you save this file, or set it again.",
                *(owner.name, name, new_name),
            )
        copies = [len(chains) - len(set(chains)) for chains in (self._former, self._present)]
        if self._gone and copies[0] < copies[1]:
            _LOG.warning(
                "'%s': Blender has lost chains that this file has added, because the library has"
                " removed the last chain before them. Close the file without saving it, and add"
                " that chain to the library again: it can be muted there.",
                owner.name,
            )

    def after(self, path: str) -> str:
        """Return the present path to a setting of a former chain; other paths as they are."""
        match = _CHAIN_PATH.fullmatch(path)
        if match is None:
            return path
        head, bracket, _number, _name, rest = match.groups()
        return f"{head}{self._brackets.get(bracket, bracket)}{rest}"

    def gone_of(self, paths: Sequence[str]) -> list[str]:
        """Return the names of chains that are gone and that present paths name."""
        brackets = {match[2] for path in paths if (match := _CHAIN_PATH.fullmatch(path))}
        return [chain.name for chain in self._gone if _by_name(chain) in brackets]

    def wrong_of(self, paths: Sequence[str]) -> str:
        """Return the names of chains that former paths lead to, each after the right one."""
        indices = {int(i) for path in paths if (i := _CHAIN_PATH.sub(r"\3", path)).isdecimal()}
        present = dict(enumerate([f"'{chain.name}'" for chain in self._present]))
        pairs = [(self._former[i].name, present.get(i, "none")) for i in sorted(indices)]
        return ", ".join([f"'{right}' -> {wrong}" for right, wrong in pairs])


class _LibraryRewrite(PathRewrite):
    """Changes with which the keys and drivers of an override follow its chains."""

    def __init__(
        self, armature_object: bpy.types.Object, changes: Mapping[bpy.types.Object, _ListChange]
    ) -> None:
        """Collect the changes; ``changes`` has those of all objects, which may share actions."""
        self._name, self._changes = armature_object.name, changes
        self._change = changes[armature_object]
        super().__init__(armature_object)

    def after(self, path: str) -> str:
        """Return the new path of an item."""
        return self._change.after(path)

    def carry_out(self) -> list[str]:
        """Carry out the collected changes, and warn of animation of chains that are gone."""
        for chain in self._change.gone_of([path for _, path in self._new_paths]):
            _LOG.warning(
                "'%s': the chain '%s' is gone from the library. Its keys and drivers stay without"
                " effect, under its name: delete them, or give the library this chain again.",
                *(self._name, chain),
            )
        return super().carry_out()

    def _drivers(self, block: Any) -> Sequence[bpy.types.FCurve]:
        """Return the drivers of a data-block that do not come from a library and follow there.

        Blender keeps local drivers of an override only if its library's object has no animation.
        """
        reference = None if block is None else reference_of(block)
        return () if getattr(reference, "animation_data", None) else drivers(block)

    def _add_keys(self, armature_object: bpy.types.Object) -> None:
        """Add the F-curves of the object's actions; warn of actions that must stay as they are."""
        reference = reference_of(armature_object)
        # Those that the library's object holds follow in the library.
        of_library = {action for action, _ in held_actions(reference)} if reference else set()
        for action, slot in held_actions(armature_object):
            bags = bags_of_action(action, slot)
            paths = [curve.data_path for bag in bags for curve in bag.fcurves]
            paths = [path for path in paths if self.after(path) != path]
            is_appended = armature_object.library is not None and action.library is None
            if not paths or is_appended or {action, reference_of(action)} & of_library:
                continue
            alike = [
                owner
                for owner, change in self._changes.items()
                if owner.library == armature_object.library
                and all(change.after(path) == self.after(path) for path in paths)
            ]
            try:
                check_exclusive(alike, action, identity_of(action, slot), paths)
            except RigError as error:
                _LOG.warning(
                    "'%s': the library has changed its list of chains. %s Check its keys, which may"
                    " act on other chains now: %s.",
                    *(self._name, error, self._change.wrong_of(paths)),
                )
                continue
            for bag in bags:
                self._add(bag.fcurves)
