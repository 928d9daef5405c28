"""The operators for clips as a whole."""

from ...registering import in_order

register, unregister = in_order(__name__, "plant")
