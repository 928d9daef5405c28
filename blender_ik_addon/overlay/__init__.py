"""Chains in the 3D viewport: drawn only, nothing can be grabbed."""

from ..registering import in_order

register, unregister = in_order(__name__, "known", "popover", "viewport")
