"""The tab of the sidebar: the list of chains and the settings of the active one."""

from ...registering import in_order

# From the top down: what everybody needs, then the rest. The panels that come and go, with
# shared bones and with a comparison, are the last, so that no other one moves.
PANELS = (
    *("chain_list", "status", "matching", "target", "pole", "rotation", "solver", "force"),
    *("limits", "reach", "advanced", "whole_body", "tree", "compare"),
)

register, unregister = in_order(__name__, *PANELS)
