"""Drivers that Blender has stopped because the settings of chains did not exist."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ..reading.animation import drivers

_SETTINGS = "chain_ik."


def restart_drivers(objects: Iterable[bpy.types.Object]) -> None:
    """Start stopped drivers of chain settings again, and those that read chain settings.

    While the extension is off, Blender stops each driver whose setting it does not find, and does
    not try it again before the file is opened. Drivers of linked data stay stopped.
    """
    rigs = {owner for owner in objects if owner.type == "ARMATURE" and owner.chain_ik.chains}
    users = bpy.data.user_map(subset=rigs) if rigs else {}
    for owner in rigs.union(*users.values()):
        if owner.library is None:
            for block in (owner, getattr(owner, "node_tree", None)):
                for curve in drivers(block):
                    if not curve.driver.is_valid and _uses(curve):
                        # A new type, also the same one, makes Blender find its inputs again.
                        curve.driver.type = curve.driver.type


def _uses(curve: bpy.types.FCurve) -> bool:
    """Return whether a driver sets or reads a setting of chains."""
    read = [target.data_path for it in curve.driver.variables for target in it.targets]
    return any(path.startswith(_SETTINGS) for path in (curve.data_path, *read))
