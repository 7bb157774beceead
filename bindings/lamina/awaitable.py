"""The awaitable twin of a vault: the same surface, each call off-loaded to a thread."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Generator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lamina.vault import Vault, open_vault

if TYPE_CHECKING:
    from lamina.facts import Facts


def aopen(*args: Any, **kwargs: Any) -> Opening:
    """Open a vault without blocking the event loop; takes what `lamina.open` takes.

    Returns
    -------
    Opening
        To be awaited, or entered at once: ``async with lamina.aopen("vault/") as vault``.
    """
    return Opening(_open(args, kwargs))


async def _open(args: Any, kwargs: Any) -> AsyncVault:
    return AsyncVault(await asyncio.to_thread(open_vault, *args, **kwargs))


class AsyncVault:
    """A vault whose every method is awaited; made by `lamina.aopen`."""

    def __init__(self, vault: Vault) -> None:
        self.vault = vault
        """The vault itself."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the vault."""
        await asyncio.to_thread(self.vault.close)

    @property
    def path(self) -> Path:
        """The vault's folder."""
        return self.vault.path

    @property
    def facts(self) -> AsyncFacts:
        """The facts of the vault, each method awaited."""
        return AsyncFacts(self.vault.facts)

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        method = None if name.startswith("_") or name == "vault" else getattr(self.vault, name, None)
        if method is None:
            raise AttributeError(f"AsyncVault has no method {name!r}")

        @functools.wraps(method)
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(method, *args, **kwargs)

        return call

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in dir(self.vault) if not name.startswith("_"))})


class AsyncFacts:
    """Facts whose every method is awaited; ``vault.facts`` of an `AsyncVault`."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        """The facts themselves."""

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        method = None if name.startswith("_") or name == "facts" else getattr(self.facts, name, None)
        if method is None:
            raise AttributeError(f"AsyncFacts has no method {name!r}")

        @functools.wraps(method)
        async def call(*args: Any, **kwargs: Any) -> Any:
            return await asyncio.to_thread(method, *args, **kwargs)

        return call

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(name for name in dir(self.facts) if not name.startswith("_"))})


class Opening(Coroutine[Any, Any, AsyncVault]):
    """A vault that is being opened: a coroutine, and a context manager that closes the vault."""

    def __init__(self, coroutine: Coroutine[Any, Any, AsyncVault]) -> None:
        self._coroutine = coroutine
        self._vault: AsyncVault | None = None

    def __await__(self) -> Generator[Any, Any, AsyncVault]:
        return self._coroutine.__await__()

    def send(self, value: Any) -> Any:
        """Go on; see `collections.abc.Coroutine`."""
        return self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        """Raise inside; see `collections.abc.Coroutine`."""
        return self._coroutine.throw(*error)

    def close(self) -> None:
        """Give up; see `collections.abc.Coroutine`."""
        self._coroutine.close()

    async def __aenter__(self) -> AsyncVault:
        self._vault = await self
        return self._vault

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._vault is not None:
            await self._vault.close()
