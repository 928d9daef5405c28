"""The settings of chains, and their one way into frozen records."""

from .chains import active_chain, chain_key, chains_of, owner_of
from .forces import creature_text, take_creature
from .joints import RANGED_AXES, STIFF_AXES, JointSettings, has_joint, slides_of, take_over
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
    "ChainSettings",
    "JointSettings",
    "active_chain",
    "bones_of_chain",
    "chain_key",
    "chain_spec",
    "chains_of",
    "check_free",
    "creature_text",
    "has_joint",
    "idle_joints",
    "is_off_its_keys",
    "owner_of",
    "register",
    "release",
    "shares_bones",
    "slides_of",
    "store",
    "sync_anchors",
    "take_creature",
    "take_over",
    "tree_in_words",
    "tree_of",
    "unregister",
]
