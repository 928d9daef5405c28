"""An arm of two bones; the hand turns with the target."""

import bpy

holder = bpy.context.active_object.chain_ik
settings = holder.chains[holder.active_index]

settings.solver = "TWO_BONE"
settings.use_rotation = True
settings.rotation_bone = "AUTO"
