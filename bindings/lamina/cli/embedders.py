"""Which model the user's own configuration asks for: an option, else the environment, else nothing (the vault decides).

Endpoints and keys are named here and nowhere else: ``vault.toml`` travels with a vault and can name neither.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from lamina_engine.errors import InvalidConfig

NAME: Final = "LAMINA_EMBEDDER"
URL: Final = "LAMINA_EMBEDDER_URL"
MODEL: Final = "LAMINA_EMBEDDER_MODEL"
KEY: Final = "LAMINA_EMBEDDER_KEY"
CUSTOM: Final = "custom"
NAMES: Final = ("wordllama", "minilm", "none", CUSTOM)


def chosen_embedder(option: str | None, environ: Mapping[str, str] | None = None) -> str | Mapping[str, object] | None:
    """Return what `lamina.open` takes as ``embedder``.

    Parameters
    ----------
    option : str, optional
        What ``--embedder`` was given.
    environ : mapping, optional
        The process's environment unless given.

    Returns
    -------
    str, mapping or None
        A model's name, an endpoint's options, or None where the user has no wish.

    Raises
    ------
    InvalidConfig
        For a name that is none, and for an endpoint without URL or model.
    """
    environ = os.environ if environ is None else environ
    name = chosen_name(option, environ)
    return _endpoint(environ) if name == CUSTOM else name


def chosen_name(option: str | None, environ: Mapping[str, str] | None = None) -> str | None:
    """Return one of `NAMES`, or None; see `chosen_embedder`. An endpoint's URL alone means ``custom``."""
    environ = os.environ if environ is None else environ
    name = option or environ.get(NAME) or (CUSTOM if environ.get(URL) else None)
    if name is not None and name not in NAMES:
        raise InvalidConfig(f"{'--embedder' if option else f'${NAME}'} is {name!r}; give one of {', '.join(NAMES)}")
    return name


def _endpoint(environ: Mapping[str, str]) -> dict[str, object]:
    missing = [f"${variable}" for variable in (URL, MODEL) if not environ.get(variable)]
    if missing:
        raise InvalidConfig(
            f"the embedder is 'custom' and {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not set; "
            f"name the endpoint, such as {URL}=http://127.0.0.1:11434/v1 {MODEL}=nomic-embed-text"
        )
    return {"url": environ[URL], "model": environ[MODEL], "api_key_env": KEY if environ.get(KEY) else "OPENAI_API_KEY"}
