"""Chain IK: chains of bones that follow targets.

Importing this package imports no Blender module, so that ``core`` works in any Python.
"""

from .registration import make_registration

register, unregister = make_registration(
    __name__,
    *("translations", "properties", "preferences", "operators"),
    *("panels", "overlay", "gizmos", "handlers", "active_chain", "cli"),
)
