"""JSON that rows of the log hold: the one reader of it, whose error is typed."""

from __future__ import annotations

from typing import Any, TypeVar, overload

import msgspec

from lamina_engine.errors import VaultCorrupt

T = TypeVar("T")


@overload
def read_json(text: str) -> dict[str, Any]: ...
@overload
def read_json(text: str, kind: type[T]) -> T: ...
def read_json(text: str, kind: Any = dict[str, Any]) -> Any:
    """Return what a row's JSON says, an object unless another kind is asked for."""
    try:
        return msgspec.json.decode(text, type=kind)
    except (ValueError, RecursionError) as error:
        raise VaultCorrupt(
            f"a row holds {text[:60]!r}, which is not the JSON that Lamina writes ({error}); "
            "`lamina verify --deep` names what can be saved"
        ) from error
