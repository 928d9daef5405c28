"""The operators of the extension."""

from ..registering import in_order

register, unregister = in_order(
    __name__,
    *("add", "characters", "chains", "creatures", "joints", "matching"),
    *("presets", "solve", "bake", "convert", "compare", "clips", "drags"),
)
