"""The %dp magic."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from IPython.core.error import StdinNotImplementedError, UsageError
from IPython.core.magic import Magics, line_magic, magics_class

from ...errors import DPError
from ...release.session import reset, session

if TYPE_CHECKING:
    from .guard import Guard
    from .live import Live

COMMANDS = ("budget", "guard", "reset")
#: What may follow ``%dp budget`` by name: the arguments of `session`.
TERMS = (
    "epsilon", "delta", "rho", "delta_releases", "accounting", "strict", "experimental", "store",
)  # fmt: skip
FLAGS = {"True": True, "False": False}


@magics_class
class DpMagics(Magics):
    """IPython's container for %dp."""

    def __init__(self, shell: Any, live: Live, guard: Guard) -> None:
        super().__init__(shell)
        self._live = live
        self._guard = guard

    @line_magic
    def dp(self, line: str) -> None:
        """Show the privacy ledger, set a budget, guard the display, or end the session.

        %dp             show the ledger here, live
        %dp budget 2    dp.session(epsilon=2), and show it
        %dp budget 2 delta=1e-6 store=survey.ledger
                        the same with a δ, and a file that keeps the ledger
        %dp budget rho=0.1 delta=1e-6
                        a limit on ρ; all arguments of dp.session may be given like this
        %dp guard on    show the schema, not the rows, of frames of protected sources (off: rows)
        %dp reset       dp.reset(), after asking; nothing is refunded
        %dp reset -y    the same without asking
        """
        command, *arguments = line.split() or [""]
        if command == "" and not arguments:
            self._live.show_session(session())
        elif command == "budget" and arguments:
            self._budget(line.split(maxsplit=1)[1])
        elif command == "guard" and arguments in ([], ["on"], ["off"]):
            self._set_guard(arguments)
        elif command == "reset" and arguments in ([], ["-y"]):
            self._reset(asked=bool(arguments))
        else:
            raise UsageError(
                f"%dp {line} isn't a command. Write %dp, %dp budget 2, %dp guard on or %dp reset; "
                "%dp? explains them."
            )

    def _budget(self, line: str) -> None:
        try:
            values, named = _arguments(line)
            self._live.show(session(*values, **named).ledger)
        except DPError as error:
            raise UsageError(str(error)) from None

    def _set_guard(self, arguments: list[str]) -> None:
        for word in arguments:
            {"on": self._guard.on, "off": self._guard.off}[word]()
        print(
            "The display guard is on: outputs show the schema of protected frames. print, str and "
            "what pandas computes from them are not guarded."
            if self._guard.is_on
            else "The display guard is off: %dp guard on"
        )

    def _reset(self, asked: bool) -> None:
        if asked or self._confirmed():
            reset()
            print("The session has ended. Nothing is refunded: what was released stays released.")
        else:
            print("The session goes on. %dp reset -y ends it without a question.")

    def _confirmed(self) -> bool:
        try:
            answer = input("End the session for good? What it released stays released. [y/N] ")
        except (StdinNotImplementedError, EOFError):
            return False
        return answer.strip().lower() in ("y", "yes")


def _arguments(line: str) -> tuple[list[str], dict[str, Any]]:
    """What a line gives to `session`, which notes that it was refused if it can't be had."""
    words = shlex.shlex(line, posix=True)
    words.whitespace_split = True
    words.escape = words.commenters = ""  # a file may have any name
    values: list[str] = []
    named: dict[str, Any] = {}
    try:
        for word in words:
            name, is_named, value = word.partition("=")
            if not is_named:
                values.append(word)
            elif name in named:
                return [line], {}  # which is no ε
            else:
                is_flag = name in ("strict", "experimental")
                named[name] = FLAGS.get(value, value) if is_flag else value
    except ValueError:  # a quote isn't closed
        return [line], {}
    return values, named


def complete(shell: Any, event: Any) -> list[str]:
    """What can follow %dp."""
    words = event.line.split()
    if len(words) <= (1 if event.line.endswith(" ") else 2):
        found = [f"{command} " for command in COMMANDS]
    elif words[1] == "budget":
        found = [f"{name}=" for name in TERMS]
    else:
        found = {"reset": ["-y"], "guard": ["on", "off"]}.get(words[1], [])
    return [each for each in found if each.startswith(event.symbol)]
