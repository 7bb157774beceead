"""The awaitable twin of a vault: the same surface, each call off-loaded to a thread."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from lamina.vault import Vault, open_vault


async def aopen(*args: Any, **kwargs: Any) -> AsyncVault:
    """Open a vault without blocking the event loop; takes what `lamina.open` takes."""
    return AsyncVault(await asyncio.to_thread(open_vault, *args, **kwargs))


class AsyncVault:
    """A vault whose every method is awaited; made by `lamina.aopen`. The engine lets go of the interpreter while it searches."""

    def __init__(self, vault: Vault) -> None:
        self.vault = vault
        """The vault itself."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the vault."""
        await asyncio.to_thread(self.vault.close)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.vault, name)
        if name.startswith("_") or not callable(method):
            raise AttributeError(f"AsyncVault has no method {name!r}; plain attributes are on .vault")

        @functools.wraps(method)
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(method, *args, **kwargs)

        return call
