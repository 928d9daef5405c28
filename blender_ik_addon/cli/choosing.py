"""Which chains are meant: by patterns for their names, and for those of their armatures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import bpy

from ..core import IKError
from ..properties.chains import ChainGroup, chains_of
from ..properties.records import chain_spec, live_rigs
from ..rig.keying.baking import may_move
from ..rig.keying.going_on import going_on
from ..rig.reading.spec import ChainSpec
from .errors import CommandError, of_armature

MOST_NAMES = 5


@dataclass(frozen=True)
class Chosen:
    """Chains of one armature object.

    Attributes:
        object: The original armature object.
        chains: Names by index.
        goes_on: Whether frames depend on those before, by these or other chains of the scene.
    """

    object: bpy.types.Object
    chains: dict[int, str]
    goes_on: bool

    def settings(self, index: int) -> ChainGroup:
        """Return the settings of a chain; not to be kept."""
        return chains_of(self.object)[index]

    def specs(self) -> dict[int, ChainSpec]:
        """Return the settings of all as records, by index.

        Raises:
            CommandError: If one of them is not sound.
        """
        found = {}
        for index, name in self.chains.items():
            try:
                found[index] = chain_spec(self.settings(index), with_stored=False)
            except IKError as error:
                why = f"Chain '{name}' cannot be baked: {error}"
                raise of_armature(self.object.name_full, why) from error
        return found


def choose(
    scene: bpy.types.Scene,
    armatures: Sequence[str],
    chains: Sequence[str],
    *,
    with_muted: bool = False,
) -> list[Chosen]:
    """Return the live chains of a scene whose names match, in the scene's order.

    Args:
        scene: Where to look.
        armatures: Patterns of which one has to match the armature object; none for all.
        chains: The same for chains.
        with_muted: Whether muted ones are meant as well.

    Raises:
        CommandError: If a pattern matches nothing, or all that match are muted.
    """
    rigs = [each for each in scene.objects if each.type == "ARMATURE" and chains_of(each)]
    if not rigs:
        raise CommandError(f"Scene '{scene.name}' has no chains: add one, or save another scene.")
    _check(armatures, [rig.name for rig in rigs], "armature object with chains", "armature objects")
    rigs = [rig for rig in rigs if _is_meant(rig.name, armatures)]
    names = [settings.name for rig in rigs for settings in chains_of(rig)]
    _check(chains, names, "chain", "chains")
    dependent = going_on(live_rigs(scene))
    found = []
    for rig in rigs:
        meant = {
            index: settings.name
            for index, settings in enumerate(chains_of(rig))
            if _is_meant(settings.name, chains) and (with_muted or may_move(rig, index))
        }
        if meant:
            found.append(Chosen(rig, meant, rig.session_uid in dependent))
    if not found:
        raise CommandError("All chosen chains are muted, so they move nothing: unmute them first.")
    return found


def _check(patterns: Iterable[str], names: list[str], what: str, those: str) -> None:
    for pattern in patterns:
        if not any(_is_meant(name, [pattern]) for name in names):
            known = list(dict.fromkeys(names))
            shown = ", ".join(f"'{name}'" for name in known[:MOST_NAMES])
            more = " and others" if len(known) > MOST_NAMES else ""
            raise CommandError(f"No {what} is called '{pattern}': the {those} are {shown}{more}.")


def _is_meant(name: str, patterns: Sequence[str]) -> bool:
    # Names may have brackets, which mean something in patterns.
    return not patterns or any(name == each or fnmatchcase(name, each) for each in patterns)
