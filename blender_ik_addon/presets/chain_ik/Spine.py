"""A spine; the last bone turns with the target."""

import bpy

holder = bpy.context.active_object.chain_ik
settings = holder.chains[holder.active_index]

settings.solver = "NEWTON"
settings.use_rotation = True
settings.rotation_bone = "TIP"
