"""The steps of the session in the window, in their order. Imports nothing, so that pytest may."""

SOLVERS = ("TWO_BONE", "NEWTON", "FABRIK", "CCD", "FORCE", "FOLLOW")

STEPS = (
    *("install", "add_rig", "add_chain", "drag_target", "undo_and_redo", "flip_and_mute"),
    "bake",
    *("save", "reopen", "play", "render"),
    *(f"switch_to_{solver.lower()}" for solver in SOLVERS),
    *("unfold_panels", "open_panels", "open_menus", "open_preferences"),
    *("adjust_last_operation", "compare"),
    *("disable", "go_on_without", "enable_again"),
)

# What is printed before each step, so that the console can be read step by step.
MARK = "CHAIN_IK_STEP "
# What is printed before the sentence of an operator that could do nothing: no complaint.
REFUSED = "CHAIN_IK_REFUSED "
RESULTS = "results.jsonl"
