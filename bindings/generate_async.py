"""Generator of ``lamina/aio.py``: the awaitable twins of the vault and its accessors.

``python bindings/generate_async.py`` writes the file; a test compares it with what this script makes.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent / "lamina"
TARGET: Final = PACKAGE / "aio.py"
CLASSES: Final = {
    "vault": "Vault", "facts": "Facts", "links": "Links", "topics": "Topics", "sessions": "Sessions", "context": "Context",
    "freshness": "Freshness",
}  # fmt: skip
_OWN: Final = {"Vault": {"path", "__enter__", "__exit__", "__repr__", "__init__"}}

_HEAD: Final = '''"""The awaitable vault: the surface of `lamina.Vault`, each call in a thread of its own.

Generated from the synchronous classes by ``bindings/generate_async.py``; do not edit.
"""
'''

_OPENING: Final = '''
class Opening(Coroutine[object, object, "AsyncVault"]):
    """A vault that is being opened: a coroutine, and a context manager that closes the vault."""

    def __init__(self, coroutine: Coroutine[object, object, AsyncVault]) -> None:
        self._coroutine = coroutine
        self._vault: AsyncVault | None = None

    def __await__(self) -> Generator[object, object, AsyncVault]:
        return self._coroutine.__await__()

    def send(self, value: object) -> object:
        """Resume; see `collections.abc.Coroutine`."""
        return self._coroutine.send(value)

    @overload
    def throw(
        self, typ: type[BaseException], val: BaseException | object = None, tb: TracebackType | None = None, /
    ) -> object: ...
    @overload
    def throw(self, typ: BaseException, val: None = None, tb: TracebackType | None = None, /) -> object: ...
    def throw(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
        /,
    ) -> object:
        """Raise inside; see `collections.abc.Coroutine`."""
        error = typ if isinstance(typ, BaseException) else val if isinstance(val, BaseException) else typ()
        return self._coroutine.throw(error)

    def close(self) -> None:
        """Cancel; see `collections.abc.Coroutine`."""
        self._coroutine.close()

    async def __aenter__(self) -> AsyncVault:
        self._vault = await self
        return self._vault

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._vault is not None:
            await self._vault.close()
'''

_VAULT: Final = '''
class AsyncVault:
    """A vault with awaitable calls; made by `lamina.aopen`.

    Accessors are not awaited; their calls are.
    """

    def __init__(self, vault: Vault) -> None:
        self.vault: Vault = vault
        """The synchronous vault."""

    def __repr__(self) -> str:
        return f"<Async{repr(self.vault)[1:]}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def path(self) -> Path:
        """Folder of the vault."""
        return self.vault.path
'''


def generate() -> str:
    """Return the text of ``aio.py``, formatted."""
    trees = {module: ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8")) for module in CLASSES}
    accessors = "".join(_accessor(module, trees[module]) for module in CLASSES if module != "vault")
    body = f"{_opener(trees['vault'])}\n{_OPENING}\n{_vault(trees['vault'])}\n{accessors}"
    return _formatted(f"{_HEAD}\nfrom __future__ import annotations\n\n{_imports(trees, body)}\n\n{body}")


def _opener(tree: ast.Module) -> str:
    node = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "open_vault")
    forwarded = _forwarded(node)
    return f'''
def aopen({ast.unparse(node.args)}) -> Opening:
    """Open a vault without blocking the event loop; the arguments are those of `lamina.open`.

    Returns
    -------
    Opening
        To be awaited, or entered at once: ``async with lamina.aopen("vault/") as vault``.
    """

    async def opened() -> AsyncVault:
        return AsyncVault(await asyncio.to_thread(open_vault, {forwarded}))

    return Opening(opened())
'''


def _vault(tree: ast.Module) -> str:
    methods = "\n".join(_method(node, "vault", "Vault") for node in _methods(tree, "Vault"))
    properties = "\n".join(
        f'''
    @cached_property
    def {module}(self) -> Async{name}:
        """The accessor; its calls are awaited. See `lamina.{module}.{name}`."""
        return Async{name}(self.vault.{module})
'''
        for module, name in CLASSES.items()
        if module != "vault"
    )
    return f"{_VAULT}\n{properties}\n{methods}\n"


def _accessor(module: str, tree: ast.Module) -> str:
    name = CLASSES[module]
    methods = "\n".join(_method(node, "_sync", name) for node in _methods(tree, name))
    return f'''
class Async{name}:
    """`lamina.{module}.{name}` with calls that are awaited."""

    def __init__(self, accessor: {name}) -> None:
        self._sync = accessor

    def __repr__(self) -> str:
        return f"<Async{{repr(self._sync)[1:]}}"

{methods}
'''


def _methods(tree: ast.Module, name: str) -> list[ast.FunctionDef]:
    kind = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    found = [node for node in kind.body if isinstance(node, ast.FunctionDef)]
    return [
        node
        for node in found
        if (not node.name.startswith("_") or node.name == "__call__")
        and all(isinstance(decorator, ast.Call) for decorator in node.decorator_list)  # properties are not calls
        and node.name not in _OWN.get(name, ())
    ]


def _method(node: ast.FunctionDef, target: str, owner: str) -> str:
    returns = ast.unparse(node.returns) if node.returns else "None"
    call = f"self.{target}" if node.name == "__call__" else f"self.{target}.{node.name}"
    summary = (ast.get_docstring(node) or "").partition("\n\n")[0].split("; see `")[0].rstrip(".")
    reference = owner if node.name == "__call__" else f"{owner}.{node.name}"
    return f'''
    async def {node.name}({ast.unparse(node.args)}) -> {returns}:
        """{summary}.

        See `{reference}`.
        """
        return await asyncio.to_thread({call}, {_forwarded(node)})
'''


def _forwarded(node: ast.FunctionDef) -> str:
    given = [argument.arg for argument in node.args.args if argument.arg != "self"]
    given += [f"{argument.arg}={argument.arg}" for argument in node.args.kwonlyargs]
    if node.args.kwarg:
        given.append(f"**{node.args.kwarg.arg}")
    return ", ".join(given)


def _imports(trees: dict[str, ast.Module], body: str) -> str:
    """Return the imports of annotations that the classes use, gathered from their modules."""
    used = {
        node.id
        for node in ast.walk(ast.parse(f"from __future__ import annotations\n{body}"))
        if isinstance(node, ast.Name)
    }
    typed: set[str] = set()
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module != "__future__":
                for alias in node.names:
                    if (alias.asname or alias.name) in used:
                        source = f" as {alias.asname}" if alias.asname else ""
                        typed.add(f"from {node.module} import {alias.name}{source}")
    always = ["import asyncio", "import builtins", "from collections.abc import Coroutine, Generator",
              "from functools import cached_property", "from types import TracebackType",
              "from typing import TYPE_CHECKING, Literal, Self, overload", "from lamina.vault import Vault, open_vault"]  # fmt: skip
    skipped = {line.split(" import ")[1] for line in always if line.startswith("from")}
    names = {name.strip() for part in skipped for name in part.split(",")}
    lazy = sorted(line for line in typed if line.split(" import ")[1] not in names)
    accessors = [f"from lamina.{module} import {name}" for module, name in CLASSES.items() if module != "vault"]
    lines = ["import numpy as np", "import pyarrow as pa", "import threading", *dict.fromkeys([*lazy, *accessors])]
    return "\n".join(always) + "\n\nif TYPE_CHECKING:\n" + "\n".join(f"    {line}" for line in lines) + "\n"


def _formatted(text: str) -> str:
    for command in (["check", "--fix-only", "--quiet", "--select", "I,F401"], ["format", "--quiet"]):
        text = subprocess.run(
            [sys.executable, "-m", "ruff", *command, "--stdin-filename", str(TARGET), "-"],
            input=text, capture_output=True, text=True, check=True, cwd=PACKAGE.parent.parent,
        ).stdout  # fmt: skip
    return text


if __name__ == "__main__":
    TARGET.write_text(generate(), encoding="utf-8")
