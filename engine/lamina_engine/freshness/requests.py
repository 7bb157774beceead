"""Merged requests: what an ingested pull request says about the files it touched.

The moment that counts is when a request was merged, never when it was ingested: a later first ingest says nothing new
about old changes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from lamina_engine.clock import parse_instant
from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.index.state import ACTIVE

if TYPE_CHECKING:
    from lamina_engine.freshness.judging import Place
    from lamina_engine.freshness.subjects import Subject
    from lamina_engine.index.view import View
    from lamina_engine.ingest.git import Repository

_KEYS: Final = ("merged_at", "files")
_REMOTE: Final = re.compile(r"[:/]([^/:\s]+/[^/:\s]+?)(?:\.git)?/?\s*$")
_PAGE: Final = re.compile(r"https?://[^/]+/([^/\s]+/[^/\s]+)/(?:-/)?(?:pull|pulls|merge_requests)/")


@dataclass(frozen=True, slots=True)
class MergedRequest:
    """One request that was merged."""

    number: str
    merged_us: int
    files: frozenset[str]
    project: str | None
    repository: str | None
    """``owner/name`` in lower case, where the request says it."""


class MergedRequests:
    """All merged requests of a vault, by the files they touched.

    Parameters
    ----------
    view : View
        What to read. O(rows), but only requests are decoded.
    """

    def __init__(self, view: View) -> None:
        self._by_file: dict[str, list[MergedRequest]] = defaultdict(list)
        self._remotes: dict[str, str | None] = {}
        for request in _requests(view):
            for path in request.files:
                self._by_file[path].append(request)

    @property
    def files(self) -> frozenset[str]:
        """Every path that some request touched."""
        return frozenset(self._by_file)

    def touching(self, subject: Subject, place: Place | None, since_us: int, paths: Sequence[str | None]) -> str | None:
        """Return why a subject should be looked at: the newest request merged after a moment that touched its file."""
        found = [
            (request, path)
            for path in dict.fromkeys(filter(None, paths))
            for request in self._by_file.get(path, ())
            if request.merged_us > since_us and self._is_about(request, subject, place)
        ]
        if not found:
            return None
        request, path = max(found, key=lambda pair: (pair[0].merged_us, pair[0].number, pair[1]))
        return f"merged request #{request.number} touches {path}"

    def _is_about(self, request: MergedRequest, subject: Subject, place: Place | None) -> bool:
        """Tell whether a request and a subject can be of one repository: equal paths in two of them say nothing."""
        remote = self._remote(place.repository) if place is not None else None
        if remote is not None and request.repository is not None:
            return remote == request.repository
        return request.project is None or subject.project is None or request.project == subject.project

    def _remote(self, repository: Repository) -> str | None:
        root = repository.root.as_posix()
        if root not in self._remotes:
            named = _REMOTE.search(remote_of(repository) or "")
            self._remotes[root] = named[1].lower() if named else None
        return self._remotes[root]


def remote_of(repository: Repository) -> str | None:
    """Return where a repository was cloned from; None where it does not say."""
    try:
        return repository.git("config", "--get", "remote.origin.url").decode("utf-8", "replace").strip() or None
    except IngestError:  # it has no remote
        return None


def _requests(view: View) -> list[MergedRequest]:
    import pyarrow.compute as pc

    found = []
    for segment in view.snapshot.segments("chunks"):
        texts = segment.column("metadata")
        hit = np.ones(segment.rows, np.bool_)
        for key in _KEYS:
            has = pc.fill_null(pc.match_substring(texts, f'"{key}"'), False)
            hit &= np.asarray(has.to_numpy(zero_copy_only=False), np.bool_)
        stop = min(segment.rows, view.rows - segment.start)
        offsets = np.flatnonzero(hit[:stop] & (view.state.status[segment.start : segment.start + stop] == ACTIVE))
        values = zip(segment.values("metadata", offsets), segment.values("project", offsets), strict=True)
        found += [request for text, project in values if (request := _request(msgspec.json.decode(text), project))]
    return found


def _request(metadata: Mapping[str, Any], project: str | None) -> MergedRequest | None:
    """Read a request from a chunk's metadata; None where it is none that was merged."""
    files = metadata.get("files")
    if not isinstance(files, list) or not metadata.get("merged_at"):
        return None
    try:
        merged_us = parse_instant(metadata["merged_at"])
    except InvalidArgument:
        return None
    paths = [each.get("path") if isinstance(each, Mapping) else each for each in files]
    return MergedRequest(
        number=str(metadata.get("number", "")),
        merged_us=merged_us,
        files=frozenset(path for path in paths if isinstance(path, str) and path),
        project=project,
        repository=_repository(metadata),
    )


def _repository(metadata: Mapping[str, Any]) -> str | None:
    name = metadata.get("repository")
    if isinstance(name, str) and name.count("/") == 1:
        return name.lower()
    page = _PAGE.match(str(metadata.get("url", "")))
    return page[1].lower() if page else None
