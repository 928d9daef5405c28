"""What chains have to say, read whenever it is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

from ..rig import live
from ..rig.wording import outcome_in_words
from .chains import chain_key
from .records import idle_joints

if TYPE_CHECKING:
    from .settings import ChainSettings


def status(settings: ChainSettings) -> str:
    """Return what the last solve of a chain did, in words, or why there was none."""
    outcome = live.memory.outcome(chain_key(settings))
    if settings.mute:
        return "Muted"
    scene = bpy.context.scene
    if scene is not None and not scene.chain_ik.use_live:
        return "Live is off"
    if outcome is None:
        return "Not solved yet: the armature is in edit mode, at rest or hidden"
    if isinstance(outcome, str):
        return outcome
    text = outcome_in_words(outcome, scene.unit_settings.scale_length if scene else 1.0)
    idle = idle_joints(settings)
    if idle:
        text += f"; not in the chain, so without effect: joint of {', '.join(idle)}"
    return text


def residual(settings: ChainSettings) -> float:
    """Return what the last solve of a chain left to its target; -1 without one."""
    outcome = live.memory.outcome(chain_key(settings))
    return -1.0 if outcome is None or isinstance(outcome, str) else outcome.residual
