"""What a person sees of chains beside the viewport. Draws only."""

from ..registering import in_order

register, unregister = in_order(__name__, "sidebar", "bone", "menus")
