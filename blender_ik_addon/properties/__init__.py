"""The settings of chains, and their one way into frozen records."""

from .chains import (
    ChainGroup,
    active_chain,
    chain_key,
    chains_of,
    free_name,
    names_of_chains,
    owner_of,
)
from .conversion import Conversion, to_chains, to_constraints
from .file_format import mark, upgrade
from .forces import creature_text, take_creature
from .joints import RANGED_AXES, STIFF_AXES, JointSettings, take_over
from .lists import copy_joints, remove_chain, remove_joint
from .records import bones_of_chain, chain_spec, idle_joints, sync_anchors
from .settings import NEGATIVE_SCALES, SOLVERS, ChainSettings, register, unregister
from .sharing import shares_bones
from .status import tree_in_words, tree_of
from .stored import SOURCE, check_free, is_off_its_keys, release, store

__all__ = [
    "NEGATIVE_SCALES",
    "RANGED_AXES",
    "SOLVERS",
    "SOURCE",
    "STIFF_AXES",
    "ChainGroup",
    "ChainSettings",
    "Conversion",
    "JointSettings",
    "active_chain",
    "bones_of_chain",
    "chain_key",
    "chain_spec",
    "chains_of",
    "check_free",
    "copy_joints",
    "creature_text",
    "free_name",
    "idle_joints",
    "is_off_its_keys",
    "mark",
    "names_of_chains",
    "owner_of",
    "register",
    "release",
    "remove_chain",
    "remove_joint",
    "shares_bones",
    "store",
    "sync_anchors",
    "take_creature",
    "take_over",
    "to_chains",
    "to_constraints",
    "tree_in_words",
    "tree_of",
    "unregister",
    "upgrade",
]
