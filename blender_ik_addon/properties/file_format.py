"""Settings from files of older versions, brought to what they mean now."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import bpy

# 1: Finish with Newton is a setting. Before, a cap of so few sweeps left it out.
FORMAT = 1
_LOG = logging.getLogger(__name__)
BARE_CAP = 20


def upgrade(objects: Iterable[bpy.types.Object]) -> None:
    """Bring the settings of objects that come from files to the present format."""
    for owner in objects:
        settings = owner.chain_ik
        if not settings.chains or settings.format >= FORMAT:
            continue
        for chain in settings.chains:
            if chain.solver in ("FABRIK", "CCD") and chain.iterations <= BARE_CAP:
                chain.use_finish = False
        _LOG.info(
            "'%s': settings brought from format %d to %d", owner.name, settings.format, FORMAT
        )
        settings.format = FORMAT


def mark(objects: Iterable[bpy.types.Object]) -> None:
    """Note on objects, before they are saved, that their settings have the present format."""
    for owner in objects:
        settings = owner.chain_ik
        if settings.chains and settings.format != FORMAT:
            settings.format = FORMAT
