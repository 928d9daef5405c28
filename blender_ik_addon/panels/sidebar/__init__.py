"""The tab of the sidebar: the list of chains and the settings of the active one."""

from ...registration import make_registration

# From the top down: panels that everybody needs, then the rest. The panels of shared bones and of
# a comparison appear and disappear. They are the last, so that no other panel moves.
PANELS = (
    *("chain_list", "status", "matching", "target", "pole", "rotation", "solver", "force"),
    *("limits", "reach", "advanced", "whole_body", "tree", "compare"),
)

register, unregister = make_registration(__name__, *PANELS)
