"""Keys, drivers and keying sets follow the chains, and the joints of chains, that they are for.

Blender tells what lies in a list by its place: ``chain_ik.chains[1].influence``. Whoever changes
the places of chains or joints asks for a ``Renumbering`` before, and has it carried out afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import bpy

from ..reading.animation import animated_paths, bags_of_action, held_actions
from ..reading.refusals import RigError

Places = Sequence[int | None]
"""For each item of a list the place that it gets; None for those that go."""

# Inside the brackets is a number or a quoted name.
_ITEM = r'\[(?:(\d+)|"((?:[^"\\]|\\.)*)")\]'


def places_without(count: int, removed: int) -> list[int | None]:
    """Return the places of ``count`` items once the one at ``removed`` is gone."""
    return [None if i == removed else i - (i > removed) for i in range(count)]


class Rewriting:
    """What is to change for keys, drivers and keying sets to stay with what they are for.

    What is for things that go is removed. Drivers of other data that read such things stay, but
    read what is not there, by its name, so that Blender shows that they are broken. A subclass says
    what becomes of paths: ``after`` and ``broken``.
    """

    def __init__(self, armature_object: bpy.types.Object) -> None:
        """Find out what is to change of the original object; nothing is changed yet.

        Raises:
            RigError: If keys cannot follow; the message says what to do next.
        """
        self._renamed: list[tuple[Any, str]] = []
        self._removed: list[tuple[Any, Any]] = []
        self._readers: set[str] = set()
        self._add_keys(armature_object)
        data = armature_object.animation_data
        if data is not None:
            self._add(data.drivers)
        users = bpy.data.user_map(subset=[armature_object])[armature_object]
        for user in users | {armature_object}:
            for block in (user, getattr(user, "node_tree", None)):
                self._add_reading(armature_object, block, user.name)
            for keying_set in getattr(user, "keying_sets", ()):
                paths_of_object = [path for path in keying_set.paths if path.id == armature_object]
                self._add(keying_set.paths, paths_of_object)

    def after(self, path: str) -> str | None:
        """Return the path to the same thing afterwards; None if it goes, others as they are."""
        raise NotImplementedError

    def broken(self, path: str) -> str:
        """Return a path that leads nowhere, for what reads a thing that goes."""
        raise NotImplementedError

    def carry_out(self) -> list[str]:
        """Change what is to change.

        Returns:
            The names of data with drivers that read what has been removed.
        """
        for item, path in self._renamed:
            item.data_path = path
        for holder, item in self._removed:
            holder.remove(item)
        return sorted(self._readers)

    def _add(self, holder: Any, items: Sequence[Any] | None = None) -> list[str]:
        """Add the items of a holder whose paths change, and return these paths."""
        changed = []
        for item in holder if items is None else items:
            path = item.data_path
            renamed = self.after(path)
            if renamed == path:
                continue
            changed.append(path)
            if renamed is None:
                self._removed.append((holder, item))
            else:
                self._renamed.append((item, renamed))
        return changed

    def _add_keys(self, armature_object: bpy.types.Object) -> None:
        """Add the F-curves of all actions that the object holds, each action and slot once."""
        held = {_key(*pair): pair for pair in held_actions(armature_object)}
        for key, (action, slot) in held.items():
            for bag in bags_of_action(action, slot):
                changed = self._add(bag.fcurves)
                if changed:
                    _check_own(armature_object, action, key, changed)

    def _add_reading(self, armature_object: bpy.types.Object, block: Any, name: str) -> None:
        """Add what the drivers of a data-block read, but for those of items that go."""
        data = getattr(block, "animation_data", None)
        for curve in data.drivers if data is not None else ():
            if block == armature_object and self.after(curve.data_path) is None:
                continue
            for target in _targets(curve, armature_object):
                path = target.data_path
                renamed = self.after(path)
                if renamed is None:
                    # Set also where it is so named already: Blender then looks at it anew.
                    self._renamed.append((target, self.broken(path)))
                    self._readers.add(name)
                elif renamed != path:
                    self._renamed.append((target, renamed))


def is_animated(armature_object: bpy.types.Object, chain: int) -> bool:
    """Return whether keys or drivers animate a chain, whoever has left them there."""
    starts = paths_of_chain(armature_object, chain)
    return any(path.startswith(starts) for path, _ in animated_paths(armature_object))


def path_of_setting(armature_object: bpy.types.Object, chain: int, name: str) -> str:
    """Return the path from an object to a setting of one of its chains."""
    path: str = armature_object.chain_ik.chains[chain].path_from_id(name)
    return path


def paths_of_chain(armature_object: bpy.types.Object, chain: int) -> tuple[str, str]:
    """Return the data paths to a chain: by its place in the list, and by its name."""
    name = bpy.utils.escape_identifier(armature_object.chain_ik.chains[chain].name)
    return f"chain_ik.chains[{chain}]", f'chain_ik.chains["{name}"]'


def _targets(curve: bpy.types.FCurve, owner: bpy.types.Object) -> Iterator[bpy.types.DriverTarget]:
    """Yield what a driver reads of an object by data path."""
    for variable in curve.driver.variables:
        if variable.type == "SINGLE_PROP":
            yield from (target for target in variable.targets if target.id == owner)


def _key(action: bpy.types.Action, slot: bpy.types.ActionSlot | None) -> tuple[int, int]:
    """Return what tells an action and one of its slots from all others."""
    return action.session_uid, 0 if slot is None else slot.handle


def _check_own(
    armature_object: bpy.types.Object,
    action: bpy.types.Action,
    key: tuple[int, int],
    paths: Sequence[str],
) -> None:
    """Raise if F-curves of an action cannot be changed, or are those of another object as well."""
    if not action.is_editable or action.override_library is not None:
        raise RigError(
            f"The action '{action.name}' is linked, so its keys cannot follow the chains:"
            " make it local first."
        )
    for other in bpy.data.user_map(subset=[action])[action]:
        if other == armature_object or not any(_has(other, path) for path in paths):
            continue
        if any(_key(*pair) == key for pair in held_actions(other)):
            raise RigError(
                f"The action '{action.name}' animates '{other.name}' as well, so its keys cannot"
                " follow the chains of one alone: give each of them its own action first."
            )


def _has(owner: bpy.types.ID, path: str) -> bool:
    """Return whether an ID has what a path leads to."""
    try:
        owner.path_resolve(path)
    except ValueError:
        return False
    return True


class Renumbering(Rewriting):
    """What is to change for keys, drivers and keying sets to stay with chains or joints."""

    def __init__(
        self, armature_object: bpy.types.Object, places: Places, chain: int | None = None
    ) -> None:
        """Find out what is to change; nothing is changed yet.

        Args:
            armature_object: The original object.
            places: Of its chains, or of the joints of one of them.
            chain: Index of the chain whose joints get other places; by default the chains do.

        Raises:
            RigError: If keys cannot follow; the message says what to do next.
        """
        items = chains = armature_object.chain_ik.chains
        pattern = r"chain_ik\.chains"
        if chain is not None:
            items, name, told = chains[chain].joints, chains[chain].name, [str(chain)]
            if chains.find(name) == chain:
                told.append(re.escape(f'"{bpy.utils.escape_identifier(name)}"'))
            pattern += rf"\[(?:{'|'.join(told)})\]\.joints"
        # Its groups are what comes before the brackets, a number or a name in them, and the rest.
        self._pattern, self._places = re.compile(f"({pattern}){_ITEM}(.*)"), places
        # By which Blender knows the items, and by which a person does.
        self._names = [item.name for item in items]
        self._labels = [item.name or item.bone for item in items]
        super().__init__(armature_object)

    def after(self, path: str) -> str | None:
        """As ``Rewriting`` says; paths to items that do not exist stay as they are."""
        found = self._found(path)
        if found is None:
            return path
        head, item, rest, is_by_name = found
        place = self._places[item]
        if place is None:
            return None
        if is_by_name and self._first(self._names[item]) == place:
            return path
        return f"{head}[{place}]{rest}"

    def broken(self, path: str) -> str:
        """Return a path that leads nowhere but says by name which item was meant."""
        found = self._found(path)
        assert found is not None
        head, item, rest, _ = found
        label = self._labels[item]
        while self._first(label) is not None:
            label += " (removed)"
        return f'{head}["{bpy.utils.escape_identifier(label)}"]{rest}'

    def _found(self, path: str) -> tuple[str, int, str, bool] | None:
        """Return the item that a path leads to, None if to none.

        What comes before its brackets, its place, what comes after, and whether it is named.
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

    def _first(self, name: str) -> int | None:
        """Return the place of the first item that has a name afterwards; None if none has."""
        found = zip(self._names, self._places, strict=True)
        return min([at for each, at in found if each == name and at is not None], default=None)
