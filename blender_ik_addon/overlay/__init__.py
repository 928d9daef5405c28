"""Chains in the 3D viewport: drawn only, nothing can be grabbed."""

from ..registering import make_registration

register, unregister = make_registration(__name__, "known", "popover", "viewport")
