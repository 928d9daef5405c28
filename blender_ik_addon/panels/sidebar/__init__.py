"""The tab of the sidebar: the list of chains and the settings of the active one."""

from ...registering import in_order

# From the top down: what everybody needs, then the rest. The panel that comes and goes with shared
# bones is the last, so that no other one moves.
PANELS = (
    *("chain_list", "status", "target", "pole", "rotation", "solver", "force"),
    *("limits", "reach", "advanced", "compare", "matching", "tree"),
)

register, unregister = in_order(__name__, *PANELS)
