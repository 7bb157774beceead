"""Every public kernel and function of the kernels has a caller in the engine, or is a name of the public surface."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "kernels" / "lamina_kernels"
PUBLIC = {("_jit", "is_ready"), ("_jit", "warm")}
"""What kernels/README.md offers to a program of its own."""

Name = tuple[str, str]


def module_of(path: Path) -> str:
    """Return the dotted name below the package, without it."""
    parts = path.relative_to(KERNELS).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def imported(tree: ast.AST) -> tuple[dict[str, Name], dict[str, str]]:
    """Return the kernels' names, and modules, that a source imports, by the name that they have there."""
    names, modules = dict[str, Name](), dict[str, str]()
    known = {module_of(path) for path in KERNELS.rglob("*.py")}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "lamina_kernels":
            package = ".".join((node.module or "").split(".")[1:])
            for alias in node.names:
                inner = f"{package}.{alias.name}".strip(".")
                if inner in known:
                    modules[alias.asname or alias.name] = inner
                else:
                    names[alias.asname or alias.name] = (package, alias.name)
    return names, modules


def named(
    tree: ast.AST, names: dict[str, Name], modules: dict[str, str], here: str | None, own: set[str]
) -> Iterator[Name]:
    """Yield the kernels' names that a piece of code uses."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in names:
            yield names[node.id]
        elif isinstance(node, ast.Name) and here is not None and node.id in own:
            yield here, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            yield modules[node.value.id], node.attr


def unreached() -> list[str]:
    uses: dict[Name, set[Name]] = {}
    for path in KERNELS.rglob("*.py"):
        tree, here = ast.parse(path.read_text()), module_of(path)
        names, modules = imported(tree)
        defined = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        own = {node.name for node in defined}
        rest = ast.Module([node for node in tree.body if node not in defined], [])
        at_import = set(named(rest, names, modules, here, own))
        for node in defined:
            # what a module computes when it is imported serves all of its functions
            uses[here, node.name] = set(named(node, names, modules, here, own)) | at_import
    waiting = list(PUBLIC)
    for root in ("engine", "bindings"):
        for path in (ROOT / root).rglob("*.py"):
            text = path.read_text()
            if "lamina_kernels" not in text:  # most files import none: parsing them all takes seconds
                continue
            tree = ast.parse(text)
            names, modules = imported(tree)
            waiting += list(named(tree, names, modules, None, set()))
    reached: set[Name] = set()
    while waiting:
        name = waiting.pop()
        if name in uses and name not in reached:
            reached.add(name)
            waiting += uses[name]
    return sorted(f"{module}.{name}" for module, name in set(uses) - reached)


def test_every_function_of_the_kernels_has_a_caller_in_the_engine() -> None:
    assert unreached() == []
