"""The settings of chains, and their one way into frozen records."""

from .chains import ChainGroup, active_chain, chain_key, chains_of, owner_of
from .file_format import mark, upgrade
from .forces import creature_text, take_creature
from .joints import RANGED_AXES, STIFF_AXES, JointSettings, take_over
from .lists import copy_joints, remove_chain, remove_joint
from .records import bones_of_chain, chain_spec, idle_joints, sync_anchors
from .settings import NEGATIVE_SCALES, SOLVERS, ChainSettings, register, unregister
from .sharing import shares_bones
from .status import status_with, tree_in_words, tree_of
from .stored import SOURCE, check_free, is_off_its_keys, release, store

__all__ = [
    "NEGATIVE_SCALES",
    "RANGED_AXES",
    "SOLVERS",
    "SOURCE",
    "STIFF_AXES",
    "ChainGroup",
    "ChainSettings",
    "JointSettings",
    "active_chain",
    "bones_of_chain",
    "chain_key",
    "chain_spec",
    "chains_of",
    "check_free",
    "copy_joints",
    "creature_text",
    "idle_joints",
    "is_off_its_keys",
    "mark",
    "owner_of",
    "register",
    "release",
    "remove_chain",
    "remove_joint",
    "shares_bones",
    "status_with",
    "store",
    "sync_anchors",
    "take_creature",
    "take_over",
    "tree_in_words",
    "tree_of",
    "unregister",
    "upgrade",
]
