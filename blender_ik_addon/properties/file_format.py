"""Upgrade of settings from files of older versions."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import bpy

# 1: Finish with Newton is a setting. Before, at most ``MAX_BARE_SWEEPS`` iterations left it out.
FORMAT = 1
_LOG = logging.getLogger(__name__)
MAX_BARE_SWEEPS = 20


def upgrade(objects: Iterable[bpy.types.Object]) -> None:
    """Upgrade the settings of objects from files to the present format."""
    for owner in objects:
        settings = owner.chain_ik
        if not settings.chains or settings.format >= FORMAT:
            continue
        for chain in settings.chains:
            if chain.solver in ("FABRIK", "CCD") and chain.iterations <= MAX_BARE_SWEEPS:
                chain.use_finish = False
        _LOG.info(
            "'%s': settings converted from format %d to %d", owner.name, settings.format, FORMAT
        )
        settings.format = FORMAT


def mark(objects: Iterable[bpy.types.Object]) -> None:
    """Mark objects, before they are saved, as having settings in the present format."""
    for owner in objects:
        settings = owner.chain_ik
        if settings.chains and settings.format != FORMAT:
            settings.format = FORMAT
