"""LlamaIndex: a retriever over a vault, and a block of long-term memory in one."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import lamina
from lamina import InvalidArgument, MissingExtra, Vault
from lamina.adapters.storage import open_storage

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as _error:
    raise MissingExtra("LlamaIndex's interfaces need llama-index-core", "llamaindex") from _error

if TYPE_CHECKING:
    from lamina import Hit, Hits
    from lamina.options import PathLike


class LaminaRetriever(BaseRetriever):
    """Retriever over a vault: what `Vault.recall` returns, as nodes with scores.

    Parameters
    ----------
    vault : Vault or path
        An open vault, or the folder of one, which is opened for reading at the first question.
    similarity_top_k : int
        Maximum number of nodes.
    **recall
        More arguments of `Vault.recall`: ``profile``, ``where``, ``as_of``, ...

    Examples
    --------
    >>> retriever = LaminaRetriever("notes/.lamina", similarity_top_k=5)  # doctest: +SKIP
    >>> retriever.retrieve("why did we move to PostgreSQL")  # doctest: +SKIP
    """

    def __init__(self, vault: Vault | PathLike, similarity_top_k: int = 10, **recall: Any) -> None:
        self._given, self._opened = vault, vault if isinstance(vault, Vault) else None
        self._k, self._recall = similarity_top_k, recall
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if self._opened is None:
            self._opened = lamina.open(self._given, mode="r")  # type: ignore[arg-type]
        vector = query_bundle.embedding
        known = self._recall if vector is None else {**self._recall, "vector": vector}
        return [_node(hit) for hit in self._opened.recall(query_bundle.query_str, self._k, **known)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class LaminaMemoryBlock(BaseMemoryBlock[str]):
    """Block of long-term memory in a vault.

    Messages that leave the short-term memory become chunks of the session; what matters for the newest message of the user
    comes back within a budget, by `Vault.recall`.

    Parameters
    ----------
    vault : Vault or path
        An open vault, or the folder of one; it is made where there is none.
    session : str
        Session of the messages, where the memory names none.
    token_budget : int
        Tokens of the texts that come back.
    where : dict, optional
        A filter on what may come back.

    Examples
    --------
    >>> block = LaminaMemoryBlock(vault="agent/.lamina")  # doctest: +SKIP
    >>> memory = Memory.from_defaults(session_id="s1", memory_blocks=[block])  # doctest: +SKIP
    """

    vault: Any = Field(description="An open vault, or the folder of one.")
    name: str = Field(default="Lamina", description="Name of the memory block.")
    session: str = Field(default="llamaindex", description="Session of messages where the memory names none.")
    project: str | None = Field(default=None, description="Project of the messages.")
    token_budget: int = Field(default=1_000, ge=1, description="Tokens of the texts that come back.")
    k: int = Field(default=10, ge=1, description="Most memories that come back.")
    where: dict[str, Any] | None = Field(default=None, description="Filter on what may come back.")
    _opened: Vault | None = PrivateAttr(default=None)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked = [m.content for m in messages or [] if m.role == MessageRole.USER and m.content]
        return await asyncio.to_thread(self._find, asked[-1]) if asked else ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        records = [
            {
                "text": f"{message.role.value.capitalize()}: {message.content}",
                "type": "conversation",
                "session": str(message.additional_kwargs.get("session_id") or self.session),
                "project": self.project,
            }
            for message in messages
            if message.content and message.content.strip()
        ]
        if records:
            await asyncio.to_thread(self.storage().add, records)

    def _find(self, query: str) -> str:
        hits: Hits = self.storage().recall(
            query, self.k, where=self.where, token_budget=self.token_budget, syntax=False
        )
        return "\n".join(f"- {_day(hit)}{hit.text}" for hit in hits)

    def storage(self) -> Vault:
        """Return the vault, opened at the first use."""
        if self._opened is None:
            if self.vault is None:
                raise InvalidArgument("the memory block was given no vault; give an open vault or the folder of one")
            self._opened = open_storage(self.vault, None, None)
        return self._opened


def _day(hit: Hit) -> str:
    return "" if hit.created_at is None else f"[{hit.created_at.date().isoformat()}] "


def _node(hit: Hit) -> NodeWithScore:
    fields = {name: getattr(hit, name) for name in ("title", "source", "type", "project", "session", "status")}
    known = {**dict(hit.metadata), **fields, "created_at": hit.created_at and hit.created_at.isoformat()}
    metadata = {name: value for name, value in known.items() if value is not None}
    return NodeWithScore(node=TextNode(id_=hit.id, text=hit.text, metadata=metadata), score=hit.score)
