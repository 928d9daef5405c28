"""Write docs/reference_blender.md: the properties and operators as registered in Blender.

    python3 scripts/docs_reference.py

A test fails if the page differs from what this script writes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import environment
from common.console import ROOT

if TYPE_CHECKING:
    import bpy

PAGE = ROOT / "docs" / "reference_blender.md"
HEAD = """# Properties and operators

As scripts see them; made by `python3 scripts/docs_reference.py` from what Blender shows as
tooltips. [Scripting](scripting.md) has examples.
"""
PACKAGE = "blender_ik_addon"
GROUPS = {
    "ObjectSettings": ("An armature object", "`object.chain_ik`"),
    "BodySettings": ("The body of its chains", "`object.chain_ik.body`"),
    "ChainSettings": ("A chain", "`object.chain_ik.chains[...]`, on an armature object."),
    "JointSettings": ("A joint of the chain's own", "`chain.joints[...]`. Angles are in radians."),
    "ForceSettings": ("Force", "`chain.force`, for the solver Force."),
    "SceneSettings": ("The scene", "`scene.chain_ik`"),
    "ComparedChain": ("The last comparison", "`window_manager.chain_ik`; in no file."),
    "ComparedSolver": ("A solver in it", "`window_manager.chain_ik.solvers[...]`"),
    "ComparedPoint": ("A joint of its pose", "`solver.joints[...]`"),
}
"""Titles of property groups, and where scripts find them; other groups show their docstrings."""


# Properties that the page leaves out: Blender adds them, or scripts do not set them.
LEFT_OUT = ("rna_type", "filter_glob", "check_existing", "active_joint_index")


def make_page() -> str:
    return "\n".join((HEAD, *_list_lines()))


def _list_lines() -> Iterator[str]:
    import bpy

    from common.blender_process import list_types

    groups = {group.__name__: group for group in list_types(bpy.types.PropertyGroup, PACKAGE)}
    for name in (*GROUPS, *sorted(groups.keys() - GROUPS.keys())):
        group = groups[name]
        title, where = GROUPS.get(name, (group.__doc__.split("\n")[0].rstrip("."), ""))
        yield f"## {title}\n\n{where}\n"
        yield from _make_table("property", [p for p in group.bl_rna.properties if p.is_runtime])
    yield "## Operators\n\n`bpy.ops.pose.chain_ik_...`, most of them for the active chain.\n"
    operators = list_types(bpy.types.Operator, PACKAGE)
    for operator in sorted(operators, key=lambda operator: operator.bl_idname):
        module, _, name = operator.bl_idname.partition(".")
        kind = getattr(getattr(bpy.ops, module), name).get_rna_type()
        yield f"### {kind.name}\n\n`{module}.{name}`: {kind.description}.\n"
        yield from _make_table("argument", kind.properties)


def _make_table(word: str, props: Iterable[bpy.types.Property]) -> Iterator[str]:
    if props := [prop for prop in props if prop.identifier not in LEFT_OUT]:
        yield f"| {word} | label | kind, default | |\n|---|---|---|---|"
        for prop in props:
            label = f"*{prop.name}*" if prop.name not in ("", prop.identifier) else ""
            yield f"| `{prop.identifier}` | {label} | {_describe_kind(prop)} | {prop.description} |"
        yield ""


def _describe_kind(prop: bpy.types.Property) -> str:
    """Return the kind of a property, the identifiers of an enum's values, and its default."""
    kind = prop.type.lower()
    if prop.type == "ENUM":
        items = ", ".join(f"`{item.identifier}`" for item in prop.enum_items)
        if not items:
            return "one of what there is"
        default = " ".join(sorted(prop.default_flag)) if prop.is_enum_flag else prop.default
        return f"{items}; `{default}`" if default else items
    if prop.type == "POINTER":
        return f"`{prop.fixed_type.name}`"
    if prop.type in ("COLLECTION", "STRING") or prop.is_readonly:
        return kind
    default = f"{prop.default:.6g}" if prop.type == "FLOAT" else str(prop.default)
    return f"{kind}, {default}"


def main() -> int:
    """Start this script again in an environment with Blender as a module, which writes the page."""
    if "--write" not in sys.argv:
        return environment.run_in("bpy-5.2", __file__, "--write")
    import blender_ik_addon
    from common import blender_process

    blender_ik_addon.register()
    blender_process.run(lambda: PAGE.write_text(make_page(), encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
