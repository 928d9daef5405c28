"""A rope or chain, dragged as a whole by its tip."""

import bpy

holder = bpy.context.active_object.chain_ik
settings = holder.chains[holder.active_index]

settings.solver = "FOLLOW"
settings.follow_lead = "TIP"
settings.use_anchor = False
