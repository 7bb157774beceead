"""Saved codes of a sharded vault: one file for each shard, beside the root's indexes.

They are made by the whole vault's codebook, so no shard could make them, and no version names them: a file says itself what
it was made of, and is read where that is what the vault has. That is the rows that trained the codebook and the shard's
first rows, each by the moment at which it was recorded: a row has its own, and keeps vault, place and vector until a forget.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from lamina_engine.index.quantised import QuantisedIndex, VectorsDamaged, VectorsStale
from lamina_engine.real_files import remove_file
from lamina_engine.shards.union import UnionSnapshot
from lamina_engine.store.shape import own_files

logger = logging.getLogger(__name__)

_NAME: Final = re.compile(r"codes-\d{2,}\.faiss(\.tmp)?")


class SavedCodes:
    """The files of one root's folder.

    Attributes
    ----------
    held : dict of int to QuantisedIndex
        By number of the shard: what its file is known to hold.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.held: dict[int, QuantisedIndex] = {}

    def read(self, union: UnionSnapshot, prefix: int) -> list[QuantisedIndex | None]:
        """Read the codes of each shard's first rows; None where there are none of this version's."""
        self.held.clear()
        origin = _Origin(union, prefix)
        for number in range(len(union.shards)):
            path = self._path(number)
            try:
                self.held[number] = QuantisedIndex.open(path, origin=partial(origin.of, number))
            except FileNotFoundError:
                continue
            except VectorsStale as error:
                logger.debug("%s", error)
            except (VectorsDamaged, OSError) as error:
                logger.warning("%s; the rows are coded anew", error)
        return [self.held.get(number) for number in range(len(union.shards))]

    def save(self, union: UnionSnapshot, prefix: int, codes: tuple[QuantisedIndex | None, ...]) -> None:
        """Write the files that do not hold these codes."""
        origin: _Origin | None = None
        for number, own in enumerate(codes):
            if own is None or self.held.get(number) is own:
                continue
            origin = origin or _Origin(union, prefix)
            own.save(self._path(number), origin=origin.of(number, own.rows))
            self.held[number] = own

    def has_others(self) -> bool:
        """Tell whether there are files of which nothing is held."""
        return next(self._others(), None) is not None

    def remove_others(self) -> None:
        """Remove those files: they may have codes of forgotten rows."""
        for path in self._others():
            remove_file(path)

    def _others(self) -> Iterator[Path]:
        kept = {self._path(number).name for number in self.held}
        return (path for path in own_files(self._folder, _NAME) if path.name not in kept)

    def _path(self, number: int) -> Path:
        return self._folder / f"codes-{number:02d}.faiss"


class _Origin:
    """Digests of what the codes of one version are made of."""

    def __init__(self, union: UnionSnapshot, prefix: int) -> None:
        self._union, space = union, union.space
        assert space is not None
        self._codebook = hashlib.blake2b(digest_size=32)
        self._codebook.update(f"{union.manifest.space} {space.identity} {space.dim} {prefix}".encode())
        for number, shard in enumerate(union.shards):
            self._codebook.update(self._first_rows(number, shard.stop_at(prefix)))

    def of(self, number: int, rows: int) -> bytes:
        """Return the digest of the codebook and of the first rows of one shard."""
        digest = self._codebook.copy()
        digest.update(self._first_rows(number, rows))
        return digest.digest()

    def _first_rows(self, number: int, rows: int) -> bytes:
        own = self._union.of[number + 1]
        stamps = own.column("chunks", "recorded_at")[:rows].astype("<i8")
        return f"{number} {own.manifest.vault} {own.manifest.rewritten} {rows}".encode() + stamps.tobytes()
