"""Chains in the 3D viewport: drawn only, nothing can be grabbed."""

from ..registration import make_registration

register, unregister = make_registration(__name__, "overlay_cache", "popover", "viewport")
