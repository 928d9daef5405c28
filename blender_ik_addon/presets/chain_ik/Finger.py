"""A finger that bends as little as possible."""

import bpy

holder = bpy.context.active_object.chain_ik
settings = holder.chains[holder.active_index]

settings.solver = "NEWTON"
settings.use_rotation = False
settings.rotation_bone = "TIP"
