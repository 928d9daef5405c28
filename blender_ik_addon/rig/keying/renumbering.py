"""Keys, drivers and keying sets follow their chains, and the joints of their chains.

Blender identifies an item of a list by its index: ``chain_ik.chains[1].influence``. Code that
changes indices of chains or joints makes a ``Renumbering`` before, and carries it out afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import bpy

from ..reading.animation import animated_paths, bags_of_action, drivers, held_actions
from ..reading.refusals import RigError

NewIndices = Sequence[int | None]
"""The new index of each item of a list; None for items that are removed."""

# A number or a quoted name in brackets.
ITEM = r'\[(?:(\d+)|"((?:[^"\\]|\\.)*)")\]'


def indices_without(count: int, removed: int) -> list[int | None]:
    """Return the new indices of ``count`` items when one of them is removed."""
    return [None if i == removed else i - (i > removed) for i in range(count)]


class PathRewrite:
    """Changes with which keys, drivers and keying sets follow their items.

    Those of removed items are removed. Drivers of other data that read removed items stay, with a
    path by name that leads nowhere, so that Blender shows that they are broken. A subclass maps the
    paths: ``after`` and ``broken``.
    """

    def __init__(self, armature_object: bpy.types.Object) -> None:
        """Collect the changes for the original object; nothing is changed yet.

        Raises:
            RigError: If keys cannot follow; the message says what to do next.
        """
        self._new_paths: list[tuple[Any, str]] = []
        self._removed: list[tuple[Any, Any]] = []
        self._readers: set[str] = set()
        self._add_keys(armature_object)
        self._add(self._drivers(armature_object))
        users = bpy.data.user_map(subset=[armature_object])[armature_object]
        for user in users | {armature_object}:
            for block in (user, getattr(user, "node_tree", None)):
                self._add_reading(armature_object, block, user.name)
            for keying_set in getattr(user, "keying_sets", ()):
                paths_of_object = [path for path in keying_set.paths if path.id == armature_object]
                self._add(keying_set.paths, paths_of_object)

    def after(self, path: str) -> str | None:
        """Return the new path of an item; None if it is removed; other paths as they are."""
        raise NotImplementedError

    def broken(self, path: str) -> str:
        """Return a path that leads nowhere, for drivers that read a removed item."""
        raise NotImplementedError

    def carry_out(self) -> list[str]:
        """Carry out the changes; return the names of data with drivers that read removed items."""
        for item, path in self._new_paths:
            item.data_path = path
        for holder, item in self._removed:
            holder.remove(item)
        return sorted(self._readers)

    def actions_left(self) -> list[str]:
        """Return the names of actions with keys of the items that no object holds.

        Before ``carry_out``: their keys stay as they are.
        """
        held = {identity_of(*pair) for owner in bpy.data.objects for pair in held_actions(owner)}
        return [
            action.name
            for action in bpy.data.actions
            for slot in getattr(action, "slots", (None,))
            if identity_of(action, slot) not in held
            for bag in bags_of_action(action, slot)
            if any(self.after(curve.data_path) != curve.data_path for curve in bag.fcurves)
        ]

    def _drivers(self, block: Any) -> Sequence[bpy.types.FCurve]:
        """Return the drivers of a data-block that may follow; none for None."""
        return drivers(block)

    def _add(self, holder: Any, items: Sequence[Any] | None = None) -> list[str]:
        """Add the items of a holder whose paths change, and return their former paths."""
        changed = []
        for item in holder if items is None else items:
            path = item.data_path
            new_path = self.after(path)
            if new_path == path:
                continue
            changed.append(path)
            if new_path is None:
                self._removed.append((holder, item))
            else:
                self._new_paths.append((item, new_path))
        return changed

    def _add_keys(self, armature_object: bpy.types.Object) -> None:
        """Add the F-curves of all actions that the object uses, each action and slot once."""
        used = {identity_of(*pair): pair for pair in held_actions(armature_object)}
        for identity, (action, slot) in used.items():
            for bag in bags_of_action(action, slot):
                changed = self._add(bag.fcurves)
                if changed:
                    check_exclusive([armature_object], action, identity, changed)

    def _add_reading(self, armature_object: bpy.types.Object, block: Any, name: str) -> None:
        """Add paths that the drivers of a data-block read, except drivers of removed items."""
        for curve in self._drivers(block):
            if block == armature_object and self.after(curve.data_path) is None:
                continue
            for target in _targets(curve, armature_object):
                path = target.data_path
                new_path = self.after(path)
                if new_path is None:
                    # Set the path even if it does not change: Blender then evaluates it again.
                    self._new_paths.append((target, self.broken(path)))
                    self._readers.add(name)
                elif new_path != path:
                    self._new_paths.append((target, new_path))


def is_animated(armature_object: bpy.types.Object, chain: int) -> bool:
    """Return whether keys or drivers animate a chain."""
    starts = paths_of_chain(armature_object, chain)
    return any(path.startswith(starts) for path, _ in animated_paths(armature_object))


def path_of_setting(armature_object: bpy.types.Object, chain: int, name: str) -> str:
    """Return the path from an object to a setting of one of its chains."""
    path: str = armature_object.chain_ik.chains[chain].path_from_id(name)
    return path


def paths_of_chain(armature_object: bpy.types.Object, chain: int) -> tuple[str, str]:
    """Return the data paths to a chain: by its index, and by its name."""
    name = bpy.utils.escape_identifier(armature_object.chain_ik.chains[chain].name)
    return f"chain_ik.chains[{chain}]", f'chain_ik.chains["{name}"]'


def _targets(curve: bpy.types.FCurve, owner: bpy.types.Object) -> Iterator[bpy.types.DriverTarget]:
    """Yield the targets of a driver that read an object by data path."""
    for variable in curve.driver.variables:
        if variable.type == "SINGLE_PROP":
            yield from (target for target in variable.targets if target.id == owner)


def identity_of(action: bpy.types.Action, slot: bpy.types.ActionSlot | None) -> tuple[int, int]:
    """Return a key that identifies an action and one of its slots."""
    return action.session_uid, 0 if slot is None else slot.handle


def check_exclusive(
    owners: Collection[bpy.types.Object],
    action: bpy.types.Action,
    identity: tuple[int, int],
    paths: Sequence[str],
) -> None:
    """Raise if F-curves of an action cannot be changed, or animate more objects than owners."""
    library = next(iter(owners)).library
    if action.library != library or action.override_library is not None:
        raise RigError(
            "The action '{name}' is linked, so its keys cannot follow the chains: make it local"
            " first.",
            name=action.name,
        )
    for other in bpy.data.user_map(subset=[action])[action]:
        # While an object is appended, its linked original has the same action.
        is_other = other not in owners and other.library == library
        if (
            is_other
            and any(_has_path(other, path) for path in paths)
            and any(identity_of(*pair) == identity for pair in held_actions(other))
        ):
            raise RigError(
                "The action '{name}' also animates '{name2}', so its keys cannot follow the chains"
                " of only one of them: give each its own action first.",
                name=action.name,
                name2=other.name,
            )


def _has_path(owner: bpy.types.ID, path: str) -> bool:
    """Return whether a path leads to anything in an ID."""
    try:
        owner.path_resolve(path)
    except ValueError:
        return False
    return True


class Renumbering(PathRewrite):
    """Changes with which keys, drivers and keying sets follow chains or joints to new indices."""

    def __init__(
        self, armature_object: bpy.types.Object, new_indices: NewIndices, chain: int | None = None
    ) -> None:
        """Collect the changes for new indices of an object's chains; nothing is changed yet.

        With the index of a chain, the new indices are those of its joints.

        Raises:
            RigError: If keys cannot follow; the message says what to do next.
        """
        items = chains = armature_object.chain_ik.chains
        pattern = r"chain_ik\.chains"
        if chain is not None:
            items, name, index_patterns = chains[chain].joints, chains[chain].name, [str(chain)]
            if chains.find(name) == chain:
                index_patterns.append(re.escape(f'"{bpy.utils.escape_identifier(name)}"'))
            pattern += rf"\[(?:{'|'.join(index_patterns)})\]\.joints"
        # Groups: the text before the brackets, a number or a name in them, and the rest.
        self._pattern, self._new_indices = re.compile(f"({pattern}){ITEM}(.*)"), new_indices
        # Names for Blender, and labels for people.
        self._names = [item.name for item in items]
        self._labels = [item.name or item.bone for item in items]
        super().__init__(armature_object)

    def after(self, path: str) -> str | None:
        """Return the new path of an item; other paths, and those to no item, as they are."""
        match = self._match(path)
        if match is None:
            return path
        head, item, rest, is_by_name = match
        new_index = self._new_indices[item]
        if new_index is None:
            return None
        if is_by_name and self._first_index(self._names[item]) == new_index:
            return path
        return f"{head}[{new_index}]{rest}"

    def broken(self, path: str) -> str:
        """Return a path that leads nowhere but names the removed item."""
        match = self._match(path)
        assert match is not None
        head, item, rest, _ = match
        label = self._labels[item]
        while self._first_index(label) is not None:
            label += " (removed)"
        return f'{head}["{bpy.utils.escape_identifier(label)}"]{rest}'

    def _match(self, path: str) -> tuple[str, int, str, bool] | None:
        """Return the parts of a path to an item; None for other paths.

        The text before the brackets, the item's index, the rest, and whether the path has a name.
        """
        match = self._pattern.fullmatch(path)
        if match is None:
            return None
        head, number, name, rest = match.groups()
        if number is None:
            name = bpy.utils.unescape_identifier(name)
            item = self._names.index(name) if name in self._names else None
        else:
            item = int(number) if int(number) < len(self._names) else None
        return None if item is None else (head, item, rest, number is None)

    def _first_index(self, name: str) -> int | None:
        """Return the smallest new index of items with a name; None without."""
        pairs = zip(self._names, self._new_indices, strict=True)
        return min([i for known, i in pairs if known == name and i is not None], default=None)
