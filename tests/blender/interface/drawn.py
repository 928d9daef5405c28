"""The items that panels and menus draw, recorded without a window."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace

import bpy

from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_objects

ROOT_PANEL = "VIEW3D_PT_chain_ik"
NESTED_LAYOUTS = ("row", "column", "split", "grid_flow", "menu_pie")


@dataclass
class DrawnItem:
    """One item that a layout draws, for example of kind "prop" or "label", and its text."""

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
    """A replacement for ``UILayout``, which needs a window; records drawn items in a list.

    It fails where Blender would fail: at unknown properties, operators, menus, panels, arguments
    and icons.
    """

    drawn: list[DrawnItem] = field(default_factory=list)
    parent: RecordingLayout | None = None
    active: bool = True
    enabled: bool = True
    use_property_split: bool = False
    emboss: str = "NORMAL"

    def __getattr__(self, kind: str) -> partial:
        if kind not in bpy.types.UILayout.bl_rna.functions:
            raise AttributeError(kind)
        return partial(self._call, kind)

    def _call(self, kind: str, *positional: object, **keywords: object) -> object:
        parameters = bpy.types.UILayout.bl_rna.functions[kind].parameters
        names = [parameter.identifier for parameter in parameters if not parameter.is_output]
        values = {**dict(zip(names, positional, strict=False)), **keywords}
        assert values.keys() <= set(names), f"{kind}: {values.keys() - set(names)}"
        text, icon = values.get("text", ""), values.get("icon", "")
        assert not icon or icon in parameters["icon"].enum_items
        if kind in NESTED_LAYOUTS:
            assert 0.0 < values.get("factor", 0.5) < 1.0
            return RecordingLayout(self.drawn, self, use_property_split=self.use_property_split)
        if kind == "label":
            self._record(kind, text, icon=icon)
        elif kind in ("prop", "prop_search"):
            setting = values["data"].bl_rna.properties[values["property"]]
            searched = values.get("search_data", values["data"]).bl_rna.properties
            assert values.get("search_property", values["property"]) in searched
            self._record("prop", setting.identifier, values.get("text", setting.name), icon)
            self.drawn[-1].is_animatable = setting.is_animatable
        elif kind in ("operator", "operator_menu_enum"):
            operator = operator_type(values["operator"])
            assert kind == "operator" or values["property"] in operator.properties
            self._record("operator", values["operator"], values.get("text", operator.name), icon)
            return OperatorProperties(operator)
        elif kind in ("menu", "menu_contents"):
            if kind == "menu":
                self._record(kind, values["menu"], text, icon)
            # The entries of the menu are one click away, so they count as drawn.
            menu = getattr(bpy.types, values["menu"])
            menu.draw(FakePanel(bpy.types.Menu, self), bpy.context)
        elif kind == "popover":
            assert hasattr(bpy.types, values["panel"])
            self._record(kind, values["panel"], text)
        elif kind == "template_list":
            assert values["rows"] <= max(values.get("maxrows", 5), 5)
            assert hasattr(bpy.types, values["listtype_name"])
            assert values["propname"] in values["dataptr"].bl_rna.properties
            assert values["active_propname"] in values["active_dataptr"].bl_rna.properties
            self._record("list", values["propname"])
        else:
            assert kind == "separator", kind
        return None

    def _record(self, kind: str, name: str, text: str = "", icon: str = "") -> None:
        layout, is_active, is_enabled = self, True, True
        while layout is not None:
            is_active &= layout.active
            is_enabled &= layout.enabled
            layout = layout.parent
        split = self.use_property_split
        item = DrawnItem(kind, name, is_active, text, split, is_enabled=is_enabled, icon=icon)
        self.drawn.append(item)


class OperatorProperties(SimpleNamespace):
    """The result of drawing a button: only properties of the operator can be set on it."""

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
    """A replacement for an instance of a panel or menu, which Blender makes only in a window."""

    def __init__(self, panel: type, layout: RecordingLayout | None) -> None:
        self.panel, self.layout = panel, layout

    def __getattr__(self, name: str) -> object:
        value = getattr(self.panel, name)
        return partial(value, self) if callable(value) else value


def panels() -> list[type]:
    """Return the registered panels of the sidebar tab, the parent panel first."""
    classes = [getattr(bpy.types, name) for name in dir(bpy.types) if name.startswith(ROOT_PANEL)]
    return sorted(
        [panel for panel in classes if panel.bl_region_type == "UI"],
        key=lambda panel: hasattr(panel, "bl_parent_id"),
    )


def draw_panel(panel: type, context: bpy.types.Context | None = None) -> list[DrawnItem]:
    """Return all items of a panel, with header and button menus; none if its poll fails."""
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


def draw(*, only: str = "") -> list[DrawnItem]:
    return [item for panel in panels() if only in panel.bl_label for item in draw_panel(panel)]


def draw_details() -> list[DrawnItem]:
    """Return the items of the popover that the button in the status header opens."""
    (name,) = (item.name for item in draw(only="Status") if item.kind == "popover")
    return draw_panel(getattr(bpy.types, name))


def names(drawn: list[DrawnItem], kind: str = "prop") -> set[str]:
    return {item.name for item in drawn if item.kind == kind}


def make_active_arm(**settings: object) -> tuple[bpy.types.Object, bpy.types.PropertyGroup]:
    ob, _ = rigs.make_arm(**settings)
    select_objects(active=ob)
    return ob, ob.chain_ik.chains[0]


def draw_row(chain: bpy.types.PropertyGroup) -> list[DrawnItem]:
    row = RecordingLayout()
    bpy.types.CHAINIK_UL_chains.draw_item(None, bpy.context, row, None, chain, 0, None, "", 0)
    return row.drawn


def draw_cells(index: int) -> list[DrawnItem]:
    data, layout = bpy.context.window_manager.chain_ik, RecordingLayout()
    draw_item = bpy.types.CHAINIK_UL_compared.draw_item
    draw_item(None, bpy.context, layout, data, data.solvers[index], 0, data, "active_index", index)
    return layout.drawn
