"""The overloads of methods that answer: `python tests/overloads.py` writes them.

A method is written once, with its docstring. Above it stand pairs of overloads for type checkers:
the first is for a call without a loss, whose question waits, the second for one with a loss, which
is answered. What each returns is written by hand, and so is a type of an argument that decides it.
For a new method write the first, with nothing but `self` and what it returns; this adds the rest.
Other overloads stay as they are: see docs/adr/0054-types-by-overload.md.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

HOUSE = Path(__file__).parent.parent / "dppandas"
WIDTH = 100
#: How a method takes the options of a release, and how an overload does.
OPTIONS = {
    "AskOptions": "AskOptions", "TargetAskOptions": "TargetAskOptions",
    "ReleaseOptions": "AskOptions",
}  # fmt: skip
#: What waits for a loss.
WAITING = ("Unreleased", "ReleaseBundle")
#: What the decorators of methods say themselves, and what an overload has among its options.
NOT_OWN = ("said", "named", "epsilon")

Arguments = dict[str, tuple[str, str]]


def is_overload(function: ast.FunctionDef) -> bool:
    """jedi takes `typing.overload` for no overload, and shows the method itself, as it should."""
    return any(ast.unparse(each) == "typing.overload" for each in function.decorator_list)


def options_of(function: ast.FunctionDef) -> str:
    """How a public function takes its loss; "" for one that doesn't."""
    kwarg = function.args.kwarg
    said = "" if kwarg is None else ast.unparse(kwarg.annotation or ast.Constant(""))
    return OPTIONS.get(said.removeprefix("Unpack[").removesuffix("]"), "")


def answering(body: list[ast.stmt]) -> Iterator[tuple[list[ast.FunctionDef], ast.FunctionDef]]:
    """The functions that wait for a loss if they get none, with their overloads."""
    before: list[ast.FunctionDef] = []
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from answering(node.body)
        if not isinstance(node, ast.FunctionDef):
            continue
        if is_overload(node):
            before.append(node)
            continue
        decorators = [ast.unparse(each) for each in node.decorator_list]
        if options_of(node) and {"release_method", "with_options_named"} & {*decorators}:
            yield before, node
        before = []


def arguments_of(function: ast.FunctionDef) -> tuple[Arguments, Arguments]:
    """The arguments by place and those by name, each with its type and its default."""
    args = function.args
    ends = [None] * (len(args.args) - len(args.defaults)) + list(args.defaults)

    def written(arg: ast.arg, default: ast.expr | None) -> tuple[str, str]:
        both = (arg.annotation, default)
        kind, value = ("" if e is None else ast.unparse(e).replace("'", '"') for e in both)
        return kind, value

    by_place = {a.arg: written(a, d) for a, d in zip(args.args, ends, strict=True)}
    by_name = {a.arg: written(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True)}
    return by_place, {n: said for n, said in by_name.items() if n not in NOT_OWN}


def merged(own: Arguments, stated: Arguments) -> Arguments:
    """The arguments of a method, with what an overload says of them."""
    found = {}
    for name, (kind, default) in own.items():
        said, has = stated.get(name, (kind, default))
        found[name] = said, default if has else has
    return found


def written(name: str, by_place: Arguments, by_name: Arguments, rest: str, answer: str) -> str:
    """An overload, as ruff formats it."""

    def one(argument: str, kind: str, default: str) -> str:
        said = f"{argument}: {kind}" if kind else argument
        return f"{said} = {default}" if default and kind else said

    each = [one(argument, *said) for argument, said in by_place.items()]
    each += ["*"] * bool(by_name) + [one(argument, *said) for argument, said in by_name.items()]
    each += [rest] * bool(rest)
    indent = "    " if "self" in by_place else ""
    inside, head, tail = ", ".join(each), f"{indent}def {name}(", f") -> {answer}: ..."
    if len(head + inside + tail) <= WIDTH:
        lines = [head + inside + tail]
    elif len(indent) + 4 + len(inside) <= WIDTH:
        lines = [head, f"{indent}    {inside}", indent + tail]
    else:
        lines = [head, *(f"{indent}    {argument}," for argument in each), indent + tail]
    return "\n".join([f"{indent}@typing.overload", *lines])


def overloads_of(source: str, before: list[ast.FunctionDef], method: ast.FunctionDef) -> list[str]:
    """The overloads of a method, made anew."""
    made, places = [], arguments_of(method)
    has_names = any(arg.arg == "named" for arg in method.args.kwonlyargs)
    waiting = None
    for overload in before:
        answer = "" if overload.returns is None else ast.unparse(overload.returns)
        waits = answer.startswith(WAITING)
        if waits and not has_names:
            waiting = overload
            own, stated = places, arguments_of(overload)
            shown = [merged(*pair) for pair in zip(own, stated, strict=True)]
            options = {n: said for n, said in stated[1].items() if n not in own[1]}
            made.append(written(method.name, shown[0], {**shown[1], **options}, "", answer))
            released = _inside(overload.returns)
            following = before[before.index(overload) + 1 :][:1]
            if following and options_of(following[0]):
                released = ast.unparse(following[0].returns or ast.Constant("Any"))
            rest = f"**ways: Unpack[{options_of(method)}]"
            made.append(written(method.name, shown[0], shown[1], rest, released))
        elif waiting is None or not options_of(overload) or has_names:
            lines = source.splitlines()[overload.lineno - 2 : overload.end_lineno]
            made.append("\n".join(lines))
    return made


def _inside(waiting: ast.expr | None) -> str:
    """What a question becomes."""
    while isinstance(waiting, ast.BinOp):
        waiting = waiting.left
    return ast.unparse(waiting.slice) if isinstance(waiting, ast.Subscript) else "Any"


def remade(source: str) -> str:
    """The source of a module with its overloads made anew."""
    lines, tree = source.splitlines(), ast.parse(source)
    for before, method in reversed([*answering(tree.body)]):
        if not before:
            continue
        made = "\n".join(overloads_of(source, before, method)).splitlines()
        lines[before[0].lineno - 2 : before[-1].end_lineno] = made
    return "\n".join(lines) + "\n"


def sources() -> Iterator[tuple[Path, str]]:
    """The modules that answer."""
    for path in sorted(HOUSE.rglob("*.py")):
        source = path.read_text("utf-8")
        if "Options" in source:
            yield path, source


if __name__ == "__main__":
    for path, source in sources():
        if (new := remade(source)) != source:
            path.write_text(new, "utf-8")
            sys.stdout.write(f"{path.relative_to(HOUSE)}\n")
