"""Gizmos of chains, to drag or click in the viewport."""

from ..registering import in_order

register, unregister = in_order(__name__, "controls", "limits", "handles")
