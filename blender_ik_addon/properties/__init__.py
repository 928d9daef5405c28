"""The settings of chains, and their one way into frozen records."""

from ..registering import in_order
from .chains import (
    LONGEST_NAME,
    ChainGroup,
    active_armature,
    active_chain,
    chain_key,
    chains_of,
    free_name,
    is_idle,
    names_of_chains,
    owner_of,
)
from .choices import NEGATIVE_SCALES, OWN_WORDS, SOLVERS, STARTS, uses
from .compared import (
    COMPARED,
    ComparedChain,
    ComparedSolver,
    compare_solvers,
    compared_chain,
    find_marked,
    forget_compared,
    ghost_joints,
    is_in_use,
    keep_compared,
    kept_of,
    mark_of,
)
from .conversion import Conversion, to_chains, to_constraints
from .file_format import mark, upgrade
from .forces import creature_name, creature_text, take_creature
from .joints import RANGED_AXES, STIFF_AXES, JointSettings, take_over
from .joints.ends import bone_of_joint, end_setting, move_limit_end
from .joints.selected import JointChanges, copy_joint, set_presets
from .lists import (
    NewChain,
    activate_chain_of,
    add_chain,
    copy_joints,
    own_controls,
    remove_chain,
    remove_joint,
)
from .mirroring import check_opposite, copy_mirrored
from .object_settings import SHOWN, ShownSettings
from .records import (
    anchors_of,
    bones_of_chain,
    bones_of_chains,
    bones_spec,
    chain_spec,
    idle_joints,
    live_rigs,
    sync_anchors,
    target_and_pole,
)
from .renaming import follow_listed
from .settings import ChainSettings
from .sharing import shares_bones
from .status import (
    ChainState,
    paths_in_words,
    state,
    state_of_ending,
    status_with,
    tree_in_words,
    tree_of,
)
from .stored import SOURCE, check_free, is_off_its_keys, release, store

__all__ = [
    "COMPARED",
    "LONGEST_NAME",
    "NEGATIVE_SCALES",
    "OWN_WORDS",
    "RANGED_AXES",
    "SHOWN",
    "SOLVERS",
    "SOURCE",
    "STARTS",
    "STIFF_AXES",
    "ChainGroup",
    "ChainSettings",
    "ChainState",
    "ComparedChain",
    "ComparedSolver",
    "Conversion",
    "JointChanges",
    "JointSettings",
    "NewChain",
    "ShownSettings",
    "activate_chain_of",
    "active_armature",
    "active_chain",
    "add_chain",
    "anchors_of",
    "bone_of_joint",
    "bones_of_chain",
    "bones_of_chains",
    "bones_spec",
    "chain_key",
    "chain_spec",
    "chains_of",
    "check_free",
    "check_opposite",
    "compare_solvers",
    "compared_chain",
    "copy_joint",
    "copy_joints",
    "copy_mirrored",
    "creature_name",
    "creature_text",
    "end_setting",
    "find_marked",
    "follow_listed",
    "forget_compared",
    "free_name",
    "ghost_joints",
    "idle_joints",
    "is_idle",
    "is_in_use",
    "is_off_its_keys",
    "keep_compared",
    "kept_of",
    "live_rigs",
    "mark",
    "mark_of",
    "move_limit_end",
    "names_of_chains",
    "own_controls",
    "owner_of",
    "paths_in_words",
    "register",
    "release",
    "remove_chain",
    "remove_joint",
    "set_presets",
    "shares_bones",
    "state",
    "state_of_ending",
    "status_with",
    "store",
    "sync_anchors",
    "take_creature",
    "take_over",
    "target_and_pole",
    "to_chains",
    "to_constraints",
    "tree_in_words",
    "tree_of",
    "unregister",
    "upgrade",
    "uses",
]

register, unregister = in_order(__name__, "object_settings", "compared")
