"""The bases of operators: they say why one cannot run, and turn errors into reports."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterable
from typing import Any, Literal

import bpy

from ..core import IKError
from ..translations import said, translate
from . import selection

# For options that depend on the selection: their last values are not remembered.
ANEW: set[Literal["SKIP_SAVE"]] = {"SKIP_SAVE"}
# Seconds of work until the window gets its turn, and from one timer event to the next.
TURN, PAUSE = 0.03, 0.005

Steps = Generator[int, None, Any]


class ChainOperator(bpy.types.Operator):
    """The base of all operators; a subclass adds ``act``, and ``problem`` for what it needs."""

    bl_options = {"REGISTER", "UNDO"}

    def __init_subclass__(cls) -> None:
        """Name an operator after its class; its tooltip is its docstring unless it has another."""
        super().__init_subclass__()
        if "_OT_" in cls.__name__:
            cls.bl_idname = cls.__name__.lower().replace("_ot_", ".")
            if "bl_description" not in vars(cls):
                cls.bl_description = " ".join((cls.__doc__ or "").split()).removesuffix(".")

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        """Return what keeps it from running, in words; empty if nothing does."""
        return selection.problem_of_chain(context)

    def act(self, context: bpy.types.Context) -> set[str] | None:
        """Do it, where there is no problem; raise an ``IKError`` if it fails.

        Returns:
            As ``execute``, or None where it is finished.
        """
        raise NotImplementedError

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Tell whether it can run; if not, the tooltip says why."""
        problem = cls.problem(context)
        if problem:
            cls.poll_message_set(translate(problem, "tooltips"))
        return not problem

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Do it, and report what fails."""
        try:
            return self.act(context) or {"FINISHED"}
        except IKError as error:
            return self.refuse(error)

    def ask(self, context: bpy.types.Context) -> set[str]:
        """Open a dialog with the settings; its button says what it does, not OK."""
        assert context.window_manager is not None
        opened = context.window_manager.invoke_props_dialog(
            self, confirm_text=self.bl_label, text_ctxt="Operator"
        )
        return set(opened)

    def tell(self, text: object) -> None:
        """Tell the user what has been done."""
        self.report({"INFO"}, said(text))

    def warn(self, problem: object) -> None:
        """Tell the user what is not as it could be."""
        self.report({"WARNING"}, said(problem))

    def refuse(self, problem: object) -> set[str]:
        """Tell the user why nothing is done."""
        self.report({"ERROR"}, said(problem))
        return {"CANCELLED"}

    def warn_of_held(self, names: Iterable[str]) -> None:
        """Warn of controls that something else has kept from where they were put, once each."""
        for name in dict.fromkeys(names):
            sentence = (
                f"Something else, such as a constraint, keeps '{name}' from where the pose has it:"
                " undo this, and mute that first."
            )
            self.report({"WARNING"}, said(sentence))

    def warn_of_readers(self, readers: Iterable[str]) -> None:
        """Warn of data whose drivers read what was removed."""
        names = ", ".join(sorted(readers))
        if names:
            sentence = (
                f"Drivers of {names} read what was removed: give them something else to read."
            )
            self.report({"WARNING"}, said(sentence))


class Stepwise(ChainOperator):
    """Long work in small steps: a window stays alive meanwhile, and Esc stops it.

    A subclass adds ``finish``, and ``progress`` where its steps are not frames.

    The work is a generator that yields after each step, raises an ``IKError`` if it fails, and
    leaves everything as it was when it is closed before its end.
    """

    _work: Steps | None = None
    _timer: bpy.types.Timer | None = None
    _workspace = ""
    _is_asked = False
    _done = _total = 0

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """Do it as somebody has pressed a button."""
        self._is_asked = not bpy.app.background
        return self.execute(context)

    def start(self, context: bpy.types.Context, work: Steps, total: int) -> set[str]:
        """Do all steps now, or a few at each event of a timer if somebody has pressed a button.

        For a script and for *Adjust Last Operation* all has to be done when this returns.

        Args:
            context: To report in.
            work: Its steps.
            total: How many there are.
        """
        is_asked, self._is_asked = self._is_asked, False
        self._work, self._done, self._total = work, 0, total
        if not is_asked:
            return self._go_on(context, math.inf)
        manager = context.window_manager
        self._timer = manager.event_timer_add(PAUSE, window=context.window)
        manager.progress_begin(0, total)
        manager.modal_handler_add(self)
        self._tell(context)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Go on, or stop; no other operator gets events meanwhile."""
        if event.type in {"ESC", "RIGHTMOUSE"} and event.value == "PRESS":
            self.cancel(context)
            self.report({"INFO"}, said(f"{self.bl_label} was stopped, so nothing has changed"))
            return {"CANCELLED"}
        return self._go_on(context, TURN) if event.type == "TIMER" else {"RUNNING_MODAL"}

    def cancel(self, context: bpy.types.Context) -> None:
        """Leave everything as it was.

        Blender calls this as well when it closes the window, and when a dialog is closed before
        there is any work.
        """
        if self._work is not None:
            self._work.close()
        self._tidy(context)

    def finish(self, context: bpy.types.Context, result: Any) -> None:
        """Do what comes after the last step, with the result of the work."""
        raise NotImplementedError

    def progress(self, done: int, total: int) -> str:
        """Return the progress in words, from the number of steps done and of all."""
        # What is done once all frames are played takes steps as well.
        done = min(done, total)
        return f"frame {done} of {total}"

    def _go_on(self, context: bpy.types.Context, seconds: float) -> set[str]:
        end = time.perf_counter() + seconds
        assert self._work is not None
        is_going_on = False
        try:
            while time.perf_counter() <= end:
                next(self._work)
                self._done += 1
            self._tell(context)
            is_going_on = True
        except StopIteration as done:
            self.finish(context, done.value)
            return {"FINISHED"}
        except IKError as error:
            return self.refuse(error)
        finally:
            # Also after an unexpected error.
            if not is_going_on:
                self._tidy(context)
        return {"RUNNING_MODAL"}

    def _tell(self, context: bpy.types.Context) -> None:
        context.window_manager.progress_update(self._done)
        progress = self.progress(self._done, self._total)
        text = f"{self.bl_label}  |  Esc: stop  |  {progress}"
        context.workspace.status_text_set(translate(text))
        self._workspace = context.workspace.name

    def _tidy(self, context: bpy.types.Context) -> None:
        """Remove the timer and the progress that the window shows."""
        if self._timer is None:
            return
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.progress_end()
        self._timer = None
        # By name: the context has none when a window closes.
        workspace = bpy.data.workspaces.get(self._workspace)
        if workspace is not None:
            workspace.status_text_set(None)
