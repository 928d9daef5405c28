"""The choice of chains by patterns for their names and for the names of their armatures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

import bpy

from ..core import IKError
from ..properties.chains import ChainGroup, chains_of
from ..properties.records import live_rigs, specs_to_bake
from ..rig.keying.baking import may_move
from ..rig.keying.frame_dependence import frame_dependent_rigs
from ..rig.reading.spec import ChainSpec
from .errors import CommandError, armature_error

MAX_LISTED_NAMES = 5


@dataclass(frozen=True)
class ChosenChains:
    """Chains of one armature object.

    Attributes:
        object: The original armature object.
        chains: Names by index.
        goes_on: Whether its frames depend on earlier frames, through any chains of the scene.
    """

    object: bpy.types.Object
    chains: dict[int, str]
    goes_on: bool

    def settings(self, index: int) -> ChainGroup:
        """Return the settings of a chain; the reference is valid until Blender changes data."""
        return chains_of(self.object)[index]

    def specs(self) -> dict[int, ChainSpec]:
        """Return the settings of all chains as records, by index.

        Raises:
            CommandError: If the settings of a chain are invalid, or it has no bones.
        """
        try:
            return specs_to_bake(self.object, self.chains)
        except IKError as error:
            raise armature_error(self.object.name_full, error) from error


def choose(
    scene: bpy.types.Scene,
    armatures: Sequence[str],
    chains: Sequence[str],
    *,
    with_muted: bool = False,
) -> list[ChosenChains]:
    """Return the live chains of a scene whose names match, in the scene's order.

    The patterns are for names of armature objects and of chains. One of them must match, and
    without patterns all names do.

    Raises:
        CommandError: If a pattern matches nothing, or all matching chains are muted.
    """
    rigs = [rig for rig in scene.objects if rig.type == "ARMATURE" and chains_of(rig)]
    if not rigs:
        raise CommandError(
            f"Scene '{scene.name}' has no chains: add one, or save with another scene active."
        )
    _check(armatures, [rig.name for rig in rigs], "armature object with chains", "armature objects")
    rigs = [rig for rig in rigs if _matches(rig.name, armatures)]
    names = [settings.name for rig in rigs for settings in chains_of(rig)]
    _check(chains, names, "chain", "chains")
    dependent = frame_dependent_rigs(live_rigs(scene))
    chosen = []
    for rig in rigs:
        matching = {
            index: settings.name
            for index, settings in enumerate(chains_of(rig))
            if _matches(settings.name, chains) and (with_muted or may_move(rig, index))
        }
        if matching:
            chosen.append(ChosenChains(rig, matching, rig.session_uid in dependent))
    if not chosen:
        raise CommandError("All chosen chains are muted, so they move nothing: unmute them first.")
    return chosen


def _check(patterns: Iterable[str], names: list[str], singular: str, plural: str) -> None:
    for pattern in patterns:
        if not any(_matches(name, [pattern]) for name in names):
            unique_names = list(dict.fromkeys(names))
            shown = ", ".join(f"'{name}'" for name in unique_names[:MAX_LISTED_NAMES])
            more = " and others" if len(unique_names) > MAX_LISTED_NAMES else ""
            raise CommandError(
                f"No {singular} matches '{pattern}': the {plural} are {shown}{more}."
            )


def _matches(name: str, patterns: Sequence[str]) -> bool:
    # Equal names match as well: brackets in names have a meaning in patterns.
    return not patterns or any(
        name == pattern or fnmatchcase(name, pattern) for pattern in patterns
    )
