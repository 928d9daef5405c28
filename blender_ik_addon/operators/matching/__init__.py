"""The operators that match FK and IK: snap the controls, keep the pose, switch with keys."""

from ...registering import in_order

register, unregister = in_order(__name__, "snap", "apply", "switch", "switch_space")
