"""What the panels and menus ask Blender to draw, told without a window."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace

import bpy

from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_objects

ROOT_PANEL = "VIEW3D_PT_chain_ik"
INSIDE = ("row", "column", "split", "grid_flow", "menu_pie")


@dataclass
class Drawn:
    """One thing that a layout was asked to draw: "prop", "label", ..., and what it says."""

    kind: str
    name: str
    is_active: bool
    text: str = ""
    is_split: bool = False
    is_animatable: bool = False
    is_enabled: bool = True
    icon: str = ""


@dataclass
class RecordingLayout:
    """Stands for ``UILayout``, of which Blender makes none without a window; draws on a list.

    It refuses what Blender would refuse: names of properties, operators, menus and panels,
    arguments that a method does not have, and icons.
    """

    drawn: list[Drawn] = field(default_factory=list)
    parent: RecordingLayout | None = None
    active: bool = True
    enabled: bool = True
    use_property_split: bool = False
    emboss: str = "NORMAL"

    def __getattr__(self, kind: str) -> partial:
        if kind not in bpy.types.UILayout.bl_rna.functions:
            raise AttributeError(kind)
        return partial(self._call, kind)

    def _call(self, kind: str, *given: object, **named: object) -> object:
        known = bpy.types.UILayout.bl_rna.functions[kind].parameters
        names = [each.identifier for each in known if not each.is_output]
        told = {**dict(zip(names, given, strict=False)), **named}
        assert told.keys() <= set(names), f"{kind}: {told.keys() - set(names)}"
        text, icon = told.get("text", ""), told.get("icon", "")
        assert not icon or icon in known["icon"].enum_items
        if kind in INSIDE:
            assert 0.0 < told.get("factor", 0.5) < 1.0
            return RecordingLayout(self.drawn, self, use_property_split=self.use_property_split)
        if kind == "label":
            self._note(kind, text, icon=icon)
        elif kind in ("prop", "prop_search"):
            setting = told["data"].bl_rna.properties[told["property"]]
            searched = told.get("search_data", told["data"]).bl_rna.properties
            assert told.get("search_property", told["property"]) in searched
            self._note("prop", setting.identifier, told.get("text", setting.name), icon)
            self.drawn[-1].is_animatable = setting.is_animatable
        elif kind in ("operator", "operator_menu_enum"):
            operator = operator_type(told["operator"])
            assert kind == "operator" or told["property"] in operator.properties
            self._note("operator", told["operator"], told.get("text", operator.name), icon)
            return OperatorProperties(operator)
        elif kind in ("menu", "menu_contents"):
            if kind == "menu":
                self._note(kind, told["menu"], text, icon)
            # What it holds is one click away.
            menu = getattr(bpy.types, told["menu"])
            menu.draw(FakePanel(bpy.types.Menu, self), bpy.context)
        elif kind == "popover":
            assert hasattr(bpy.types, told["panel"])
            self._note(kind, told["panel"], text)
        elif kind == "template_list":
            assert told["rows"] <= max(told.get("maxrows", 5), 5)
            assert hasattr(bpy.types, told["listtype_name"])
            assert told["propname"] in told["dataptr"].bl_rna.properties
            assert told["active_propname"] in told["active_dataptr"].bl_rna.properties
            self._note("list", told["propname"])
        else:
            assert kind == "separator", kind
        return None

    def _note(self, kind: str, name: str, text: str = "", icon: str = "") -> None:
        layout, is_active, is_enabled = self, True, True
        while layout is not None:
            is_active &= layout.active
            is_enabled &= layout.enabled
            layout = layout.parent
        split = self.use_property_split
        drawn = Drawn(kind, name, is_active, text, split, is_enabled=is_enabled, icon=icon)
        self.drawn.append(drawn)


class OperatorProperties(SimpleNamespace):
    """What a layout gives back for a button: only what the operator has can be set."""

    def __init__(self, operator: bpy.types.Struct) -> None:
        super().__init__()
        self.__dict__["operator"] = operator

    def __setattr__(self, name: str, value: object) -> None:
        assert name in self.__dict__["operator"].properties
        super().__setattr__(name, value)


def operator_type(name: str) -> bpy.types.Struct:
    module, _, function = name.partition(".")
    return getattr(getattr(bpy.ops, module), function).get_rna_type()


class FakePanel:
    """Stands for an instance of a class that Blender makes only to draw in a window."""

    def __init__(self, panel: type, layout: RecordingLayout | None) -> None:
        self.panel, self.layout = panel, layout

    def __getattr__(self, name: str) -> object:
        found = getattr(self.panel, name)
        return partial(found, self) if callable(found) else found


def panels() -> list[type]:
    """Return the panels of the sidebar tab, as registered, the one that holds the others first."""
    found = [getattr(bpy.types, name) for name in dir(bpy.types) if name.startswith(ROOT_PANEL)]
    return sorted(
        [panel for panel in found if panel.bl_region_type == "UI"],
        key=lambda panel: hasattr(panel, "bl_parent_id"),
    )


def draw_panel(panel: type, context: bpy.types.Context | None = None) -> list[Drawn]:
    """Return what a panel shows, header included, and what is behind its buttons; with a poll."""
    context = bpy.context if context is None else context
    layout = RecordingLayout()
    if hasattr(panel, "poll") and not panel.poll(context):
        return []
    fake = FakePanel(panel, layout)
    for part in ("draw_header", "draw_header_preset"):
        if hasattr(panel, part):
            getattr(panel, part)(FakePanel(panel, RecordingLayout(layout.drawn)), context)
    panel.draw(fake, context)
    return layout.drawn


def draw(*, only: str = "") -> list[Drawn]:
    return [item for panel in panels() if only in panel.bl_label for item in draw_panel(panel)]


def draw_details() -> list[Drawn]:
    """Return what the button beside the title of the status opens."""
    (name,) = (each.name for each in draw(only="Status") if each.kind == "popover")
    return draw_panel(getattr(bpy.types, name))


def names(drawn: list[Drawn], kind: str = "prop") -> set[str]:
    return {item.name for item in drawn if item.kind == kind}


def make_active_arm(**settings: object) -> tuple[bpy.types.Object, bpy.types.PropertyGroup]:
    ob, _ = rigs.make_arm(**settings)
    select_objects(active=ob)
    return ob, ob.chain_ik.chains[0]


def row_of(chain: bpy.types.PropertyGroup) -> list[Drawn]:
    row = RecordingLayout()
    bpy.types.CHAINIK_UL_chains.draw_item(None, bpy.context, row, None, chain, 0, None, "", 0)
    return row.drawn


def compared_cells(index: int) -> list[Drawn]:
    kept, layout = bpy.context.window_manager.chain_ik, RecordingLayout()
    draw_item = bpy.types.CHAINIK_UL_compared.draw_item
    draw_item(None, bpy.context, layout, kept, kept.solvers[index], 0, kept, "active_index", index)
    return layout.drawn
