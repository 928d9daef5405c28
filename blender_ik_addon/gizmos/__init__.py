"""Gizmos of chains, to drag or click in the viewport."""

from ..registration import make_registration

register, unregister = make_registration(__name__, "controls", "limits", "handles")
