"""The base classes of operators: they say why one cannot run, and turn errors into reports."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable
from typing import Any, ClassVar, Literal

import bpy

from ..core import IKError
from ..core.model.message import Message
from ..rig.keying.keys import sharing_objects
from ..translations import translate, translate_report
from . import selection

# For options that depend on the selection: Blender does not remember their last values.
SKIP_SAVE: set[Literal["SKIP_SAVE"]] = {"SKIP_SAVE"}
# Seconds of work before Blender handles other events, and seconds between two timer events.
WORK_SECONDS, TIMER_SECONDS = 0.03, 0.005

WorkSteps = Generator[int, None, Any]

SHARED_BY_KEYS = (
    "The keys also play on {names}, because the action is the same: undo this, and give each object"
    " its own action first."
)
SHARED_BY_BAKE = (
    "The keys also play on {names}, because the action is the same: undo this, and use Bake Chains"
    " with Action set to New."
)


class ChainOperator(bpy.types.Operator):
    """The base of all operators; a subclass adds ``act``, and ``problems`` for its preconditions.

    Attributes:
        problems: Functions that return why the operator cannot run, in words, or an empty text.
            Each is called only if those before it found nothing.
    """

    bl_options = {"REGISTER", "UNDO"}
    problems: ClassVar[tuple[Callable[[bpy.types.Context], str], ...]] = (
        selection.problem_of_chain,
    )

    def __init_subclass__(cls) -> None:
        """Name an operator after its class; its docstring is the default of its tooltip."""
        super().__init_subclass__()
        if "_OT_" in cls.__name__:
            cls.bl_idname = cls.__name__.lower().replace("_ot_", ".")
            if "bl_description" not in vars(cls):
                cls.bl_description = " ".join((cls.__doc__ or "").split()).removesuffix(".")

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        """Return why the operator cannot run, in words; empty if it can."""
        return next(filter(None, (find(context) for find in cls.problems)), "")

    def act(self, context: bpy.types.Context) -> set[str] | None:
        """Do the work if there is no ``problem``; raise an ``IKError`` if it fails.

        Returns:
            As ``execute``; None for {"FINISHED"}.
        """
        raise NotImplementedError

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        """Tell whether the operator can run; if not, the tooltip says why."""
        problem = cls.problem(context)
        if problem:
            cls.poll_message_set(translate(problem, "tooltips"))
        return not problem

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Do the work, and report an error if it fails."""
        try:
            return self.act(context) or {"FINISHED"}
        except IKError as error:
            return self.refuse(error.message)

    def ask(self, context: bpy.types.Context) -> set[str]:
        """Open a dialog with the options; its button has the operator's label, not OK."""
        assert context.window_manager is not None
        opened = context.window_manager.invoke_props_dialog(
            self, confirm_text=self.bl_label, text_ctxt="Operator"
        )
        return set(opened)

    def tell(self, text: str, /, **values: object) -> None:
        """Report the result to the user: a message, or its template and values."""
        self.report({"INFO"}, translate_report(Message(text, **values)))

    def warn(self, problem: str, /, **values: object) -> None:
        """Report a problem to the user that did not stop the work."""
        self.report({"WARNING"}, translate_report(Message(problem, **values)))

    def refuse(self, problem: str, /, **values: object) -> set[str]:
        """Report to the user why nothing is done."""
        self.report({"ERROR"}, translate_report(Message(problem, **values)))
        return {"CANCELLED"}

    def warn_of_held(self, names: Iterable[str]) -> None:
        """Warn once for each control that something else keeps from its new place."""
        for name in dict.fromkeys(names):
            self.warn(
                "Something else, for example a constraint, holds '{name}' away from its place in"
                " the pose: undo this, and mute the cause first.",
                name=name,
            )

    def warn_of_sharing(self, owner: bpy.types.Object, text: str = SHARED_BY_KEYS) -> None:
        """Warn of other objects that play the new keys of an object."""
        names = ", ".join(f"'{name}'" for name in sharing_objects(owner))
        if names:
            self.warn(text, names=names)

    def warn_of_readers(self, readers: Iterable[str]) -> None:
        """Warn of data whose drivers read removed properties."""
        names = ", ".join(sorted(readers))
        if names:
            self.warn(
                "Drivers of {names} read settings that were removed: give these drivers another"
                " input.",
                names=names,
            )


def chains_in_words(count: int) -> Message:
    """Return a number of chains, in words."""
    return Message("1 chain" if count == 1 else "{count} chains", count=count)


class Stepwise(ChainOperator):
    """The base of operators with long work in small steps: windows stay alive, and Esc stops it.

    A subclass adds ``finish``, and ``progress`` if its steps are not frames.

    The work is a generator. It yields after each step, raises an ``IKError`` if it fails, and
    restores the former state if it is closed before its end.
    """

    _work: WorkSteps | None = None
    _timer: bpy.types.Timer | None = None
    _workspace = ""
    _is_interactive = False
    _done = _total = 0

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        """Start the work after a user has pressed a button."""
        self._is_interactive = not bpy.app.background
        return self.execute(context)

    def start(self, context: bpy.types.Context, work: WorkSteps, total: int) -> set[str]:
        """Do all steps now, or, after a user has pressed a button, some at each timer event.

        A script and *Adjust Last Operation* need the finished work when this returns. ``total`` is
        the number of steps.
        """
        is_interactive, self._is_interactive = self._is_interactive, False
        self._work, self._done, self._total = work, 0, total
        if not is_interactive:
            return self._run_steps(context, math.inf)
        manager = context.window_manager
        self._timer = manager.event_timer_add(TIMER_SECONDS, window=context.window)
        manager.progress_begin(0, total)
        manager.modal_handler_add(self)
        self._show_progress(context)
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        """Do the next steps, or stop; no other operator gets events meanwhile."""
        if event.type in {"ESC", "RIGHTMOUSE"} and event.value == "PRESS":
            self.cancel(context)
            label = Message(self.bl_label)
            self.tell("{label} was stopped, so nothing has changed", label=label)
            return {"CANCELLED"}
        return (
            self._run_steps(context, WORK_SECONDS) if event.type == "TIMER" else {"RUNNING_MODAL"}
        )

    def cancel(self, context: bpy.types.Context) -> None:
        """Restore the former state.

        Blender calls this as well when it closes the window, and when a user closes a dialog
        before the work has begun.
        """
        if self._work is not None:
            self._work.close()
        self._end_progress(context)

    def finish(self, context: bpy.types.Context, result: Any) -> None:
        """Handle the result of the work after its last step."""
        raise NotImplementedError

    def progress(self, done: int, total: int) -> str:
        """Return the progress in words, from the number of finished steps and of all."""
        # The work after the last frame takes steps as well.
        done = min(done, total)
        return Message("frame {done} of {total}", done=done, total=total)

    def _run_steps(self, context: bpy.types.Context, seconds: float) -> set[str]:
        end = time.perf_counter() + seconds
        assert self._work is not None
        has_more = False
        try:
            while time.perf_counter() <= end:
                next(self._work)
                self._done += 1
            self._show_progress(context)
            has_more = True
        except StopIteration as done:
            self.finish(context, done.value)
            return {"FINISHED"}
        except IKError as error:
            return self.refuse(error.message)
        finally:
            # Do this after an unexpected error as well.
            if not has_more:
                self._end_progress(context)
        return {"RUNNING_MODAL"}

    def _show_progress(self, context: bpy.types.Context) -> None:
        context.window_manager.progress_update(self._done)
        label, progress = Message(self.bl_label), self.progress(self._done, self._total)
        text = Message("{label}  |  Esc: stop  |  {progress}", label=label, progress=progress)
        context.workspace.status_text_set(translate(text))
        self._workspace = context.workspace.name

    def _end_progress(self, context: bpy.types.Context) -> None:
        """Remove the timer and the progress that the window shows."""
        if self._timer is None:
            return
        context.window_manager.event_timer_remove(self._timer)
        context.window_manager.progress_end()
        self._timer = None
        # By name, because the context has no workspace when a window closes.
        workspace = bpy.data.workspaces.get(self._workspace)
        if workspace is not None:
            workspace.status_text_set(None)
