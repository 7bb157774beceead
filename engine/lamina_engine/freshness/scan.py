"""Scan of a vault: verdicts on active chunks, merged requests, and the log of new verdicts."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_engine.arguments import path_of
from lamina_engine.chunks.writing import add_events
from lamina_engine.clock import parse_instant
from lamina_engine.errors import InvalidArgument, VaultLocked, VaultReadOnly
from lamina_engine.freshness.history import remote_of
from lamina_engine.freshness.judge import Judge, Place
from lamina_engine.freshness.report import FreshnessItem, FreshnessReport, make_report
from lamina_engine.freshness.subjects import REVIEW, ReviewMarks, Subject, read_review_marks, read_subjects
from lamina_engine.freshness.tiers import FreshnessSettings, read_settings
from lamina_engine.index.freshness import TIERS
from lamina_engine.index.state import ACTIVE
from lamina_engine.ingest.origins import Repositories
from lamina_engine.recall import filters
from lamina_engine.stored_json import read_json

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.ingest.git import Repository
    from lamina_engine.memory import Memory
    from lamina_engine.store.snapshot import Rows

Verdict = tuple[str, str, int, bool, str | None]


def check_freshness(
    memory: Memory,
    *,
    repo: str | os.PathLike[str] | None = None,
    collection: str | None = None,
    tier: str | None = None,
    project: str | None = None,
    filter_: Mapping[str, Any] | None = None,
    git_check: bool = True,
) -> FreshnessReport:
    """Scan the active chunks of a vault; see ``Vault.freshness``."""
    if tier is not None and tier not in TIERS:
        raise InvalidArgument(f"tier={tier!r} is not known; allowed are {', '.join(TIERS)}")
    settings = read_settings(memory.settings.given)
    now_us = memory.clock.now_us()
    if not settings.enabled:
        return make_report((), now_us, enabled=False)
    view = memory.view()
    parts = [
        dict(filter_ or {}),
        {"collection": collection} if collection else {},
        {"project": project} if project else {},
    ]
    node = filters.parse_filter({"AND": [part for part in parts if part]}, memory.config.tz, memory.clock.now_us())
    rows = np.flatnonzero(filters.evaluate(node, view, np.equal(view.state.status, ACTIVE)))
    items, recorded, problems = scan_rows(memory, view, rows, settings, repo=repo, git_check=git_check)
    return make_report(items, now_us, tier=tier, recorded=recorded, problems=problems)


def scan_rows(
    memory: Memory,
    view: View,
    rows: Rows,
    settings: FreshnessSettings,
    *,
    repo: str | os.PathLike[str] | None = None,
    git_check: bool = True,
) -> tuple[list[FreshnessItem], int, list[str]]:
    """Judge some rows, and log new verdicts where the vault is writable.

    Returns the verdicts in the order of the rows, the number of new ones, and problems of repositories.
    """
    marks = read_review_marks(view)
    subjects = read_subjects(view, rows)
    judge = make_judge(memory, settings, marks, repo=repo, git_check=git_check)
    found = judge.judge(subjects)
    requested = _requested_reviews(view, found, judge, marks) if git_check else {}
    if requested:
        judge.request_reviews(requested)
        found = judge.judge(subjects)
    items = [item for _, item in found]
    recorded, problems = 0, list(judge.problems)
    if memory.store.mode == "w":
        try:
            recorded = record_verdicts(memory, view, items, requested)
        except (VaultReadOnly, VaultLocked) as error:  # what was found is true all the same
            problems.append(f"the verdicts could not be written: {error}")
    return items, recorded, list(dict.fromkeys(problems))


def make_judge(
    memory: Memory,
    settings: FreshnessSettings,
    marks: ReviewMarks,
    *,
    repo: str | os.PathLike[str] | None = None,
    git_check: bool = True,
) -> Judge:
    """Return a judge by a vault's half-lives and the given thresholds."""
    decay = memory.profiles.get(memory.config.profile).decay
    only = None if repo is None else Repositories().at(path_of(repo, "repo").resolve())
    return Judge(memory.clock.now_us(), settings.thresholds, decay, marks, git_check=git_check, repo=only)


def _requested_reviews(
    view: View, found: Sequence[tuple[Subject, FreshnessItem]], judge: Judge, marks: ReviewMarks
) -> dict[int, str]:
    """Return, by row, the merged request that asks for a review of a chunk."""
    requests = MergedRequests(view)
    if not requests.files:
        return {}
    requested: dict[int, str] = {}
    for subject, item in found:
        if subject.row in marks.requested or not (subject.named or item.path):
            continue
        place = judge.place(subject)
        here = place if isinstance(place, Place) else None
        since_us = max(subject.since_us, marks.cleared_us.get(subject.row, subject.since_us))
        why = requests.touching(subject, here, since_us, (here.path if here else None, item.path, subject.named))
        if why is not None:
            requested[subject.row] = why
    return requested


def record_verdicts(memory: Memory, view: View, items: Sequence[FreshnessItem], requested: Mapping[int, str]) -> int:
    """Write new verdicts and requested reviews to the log; return the number of verdicts."""
    known = _last_verdicts(view, [item.row for item in items])
    new = [item for item in items if known.get(item.row) != _verdict(item)]
    if not (new or requested):
        return 0
    with memory.write() as (transaction, now):
        new = [item for item in new if now.state.status[item.row] == ACTIVE]
        columns = zip(*map(_verdict, new), strict=True) if new else ((), (), (), (), ())
        names = ("tier", "reason", "commits", "review", "path")
        values: dict[str, Any] = {name: list(column) for name, column in zip(names, columns, strict=True)}
        values |= {"chunk": [item.id for item in new], "row": [item.row for item in new]}
        transaction.append("freshness", values, transaction.stamps(len(new)))
        rows = [row for row in requested if now.state.status[row] == ACTIVE and not now.freshness.manual[row]]
        if rows:
            chunk_rows = np.array(rows, np.int64)
            ids = now.snapshot.values("chunks", "id", chunk_rows)
            add_events(
                transaction, REVIEW, ids, chunk_rows, transaction.stamps(len(rows)), [requested[row] for row in rows]
            )
    return len(new)


def _verdict(item: FreshnessItem) -> Verdict:
    commits = -1 if item.commits is None else item.commits
    return item.tier, item.reason_code, commits, item.found, item.path


def _last_verdicts(view: View, rows: Iterable[int]) -> dict[int, Verdict]:
    """Return the last logged verdict of each of some rows."""
    snapshot = view.snapshot
    relevant = np.zeros(view.rows, np.bool_)
    relevant[list(rows)] = True
    known: dict[int, Verdict] = {}
    for segment in snapshot.segments("freshness"):
        chunk_rows = segment.numbers("row").astype(np.int64)
        offsets = (
            np.flatnonzero((chunk_rows >= 0) & relevant[np.clip(chunk_rows, 0, max(view.rows - 1, 0))])
            if view.rows
            else ()
        )
        names = ("tier", "reason", "commits", "review", "path")
        columns = [segment.values(name, np.asarray(offsets, np.int64)) for name in names]
        known.update(zip(chunk_rows[offsets].tolist(), zip(*columns, strict=True), strict=True))
    return known


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
    """``owner/name`` in lower case, if the request names it."""


class MergedRequests:
    """Merged requests of a vault, by the files they touched."""

    def __init__(self, view: View) -> None:
        self._by_file: dict[str, list[MergedRequest]] = defaultdict(list)
        self._remotes: dict[str, str | None] = {}
        for request in _read_requests(view):
            for path in request.files:
                self._by_file[path].append(request)

    @property
    def files(self) -> frozenset[str]:
        """Every path that some request touched."""
        return frozenset(self._by_file)

    def touching(self, subject: Subject, place: Place | None, since_us: int, paths: Sequence[str | None]) -> str | None:
        """Return the newest request merged after a moment that touched a subject's file, in words."""
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
        """Return whether a request and a subject can be of one repository, not only of equal paths."""
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


def _read_requests(view: View) -> list[MergedRequest]:
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
        found += [request for text, project in values if (request := _parse_request(read_json(text), project))]
    return found


def _parse_request(metadata: Mapping[str, Any], project: str | None) -> MergedRequest | None:
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
        repository=_repository_name(metadata),
    )


def _repository_name(metadata: Mapping[str, Any]) -> str | None:
    name = metadata.get("repository")
    if isinstance(name, str) and name.count("/") == 1:
        return name.lower()
    page = _PAGE.match(str(metadata.get("url", "")))
    return page[1].lower() if page else None
