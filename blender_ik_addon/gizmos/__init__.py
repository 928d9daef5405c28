"""Gizmos of chains: what can be dragged or clicked in the viewport."""

from ..registering import in_order

register, unregister = in_order(__name__, "controls", "limits", "handles")
