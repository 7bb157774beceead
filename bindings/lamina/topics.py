"""Topics: found, listed, shown and drawn; ``vault.topics``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from lamina.accessor import Accessor
from lamina.results import Results
from lamina_engine.arguments import ids_of

if TYPE_CHECKING:
    import pyarrow as pa

    from lamina.options import ClusterMethod, ClusterSelection, PathLike, TopicNames
    from lamina.pages import PageReport
    from lamina_engine.embed.chat import Budget, ChatSpec
    from lamina_engine.reports import Progress
    from lamina_engine.topics.catalog import Topic, TopicMembers
    from lamina_engine.topics.clustering import ClusterReport


class Topics(Accessor):
    """Topics of a vault. Call it to list them: ``vault.topics()``.

    Examples
    --------
    >>> len(vault.topics())
    0
    """

    def __call__(self) -> Results[Topic]:
        """Return the topics as they are now, largest first; chunks added since the clustering count.

        Raises
        ------
        VaultCorrupt
            When the last clustering cannot be read.
        """
        from lamina_engine.topics.catalog import Topic, topics

        return Results(topics(self._memory), Topic, self._memory.incomplete)

    def get(self, id: str) -> TopicMembers:
        """Return one topic with its members, surest first.

        A parent topic has the members of all topics below it.

        Raises
        ------
        TopicNotFound
            When no topic has this id.
        """
        return self.get_many([id])[0]

    def get_many(self, ids: Iterable[str]) -> list[TopicMembers]:
        """Return topics with their members, in this order: one look at the chunks for all of them.

        Raises
        ------
        TopicNotFound
            When no topic has one of these ids.
        """
        from lamina_engine.topics.catalog import members_of

        return members_of(self._memory, ids_of(ids))

    def cluster(
        self,
        min_cluster_size: int = 4,
        min_samples: int | None = None,
        threshold: float | Literal["auto"] = "auto",
        method: ClusterMethod = "auto",
        *,
        selection: ClusterSelection = "topics",
        full: bool = False,
        names: TopicNames = "auto",
        namer: ChatSpec = None,
        budget: Budget | None = None,
        workers: int = 1,
        ray: str | None = None,
        ray_resources: Mapping[str, float] | None = None,
        progress: bool | Callable[[Progress], None] = False,
    ) -> ClusterReport:
        """Find topics, or continue the existing ones.

        A topic keeps its id and name while most of its chunks stay together.

        Parameters
        ----------
        min_cluster_size : int
            Minimum number of chunks in a topic, ≥ 2.
        min_samples : int, optional
            Number of other chunks that make a place dense; ``min_cluster_size`` by default.
        threshold : float or "auto"
            Maximum angular distance, arccos(cosine)/π, of a topic's chunks to its centre; calibrated on the vault's
            vectors by default. 0.09 is the value of the system that the episodic profile follows.
        method : {"auto", "exact", "approx", "parts"}
            Search for neighbours; ``parts`` clusters regions of some 50,000 chunks by themselves and joins their topics,
            which is approximate, and which other processes and machines can share.
        selection : {"topics", "eom", "leaf"}
            ``topics`` smooths, splits large clusters and takes in noise within the threshold; the others are plain
            HDBSCAN.
        full : bool
            Cluster everything, even where the existing topics could be continued.
        names : {"auto", "words", "model"}
            Name topics by a language model where one is configured, else by their words; by words; or by a model.
        namer : mapping or Chat, optional
            ``{"url": ..., "model": ...}`` of an OpenAI-compatible endpoint; by default ``$LAMINA_JUDGE_URL`` and
            ``$LAMINA_JUDGE_MODEL`` (key: ``$LAMINA_JUDGE_KEY``, else ``$OPENAI_API_KEY``). It receives the words of each
            topic and the beginnings of a few chunks.
        budget : Budget, optional
            Limit of requests and tokens for naming; 100,000 tokens by default.
        workers : int
            Processes that cluster parts; 1 works in this one. The topics are the same.
        ray : str, optional
            Address of a running Ray cluster whose workers do it instead; needs ``lamina[cluster]``.
        ray_resources : mapping, optional
            Resources of the cluster that each of its tasks reserves beside one CPU, such as ``{"big_memory": 1}``.
        progress : bool or callable
            True shows a bar on stderr; a callable receives each step. An exception that it raises ends the run and
            leaves the vault as it was.

        Returns
        -------
        ClusterReport

        Raises
        ------
        InvalidArgument, VaultReadOnly, VaultLocked, OSError
        MissingExtra, ClusterUnreachable
            With ``ray``.
        InvalidConfig
            When a model is asked for and none is configured or usable.

        Examples
        --------
        >>> vault.cluster().topics
        0
        """
        from lamina.progress import reporter
        from lamina_engine.executor import open_executor
        from lamina_engine.topics.clustering import cluster

        with open_executor(workers, ray, ray_resources) as executor, reporter(progress) as report:
            return cluster(
                self._memory, min_cluster_size=min_cluster_size, min_samples=min_samples, threshold=threshold,
                method=method, selection=selection, full=full, names=names, namer=namer, budget=budget,
                executor=executor, progress=report,
            )  # fmt: skip

    def places(self, *, history: bool = False) -> pa.Table:
        """Return every chunk's place on the map, with dates, lowest topic and freshness.

        Near chunks have near places. The map is laid out once and kept beside the indexes; added chunks are placed among
        their neighbours and move no other.

        Parameters
        ----------
        history : bool
            Include what was known once and is no more: former versions, invalidated and archived chunks.

        Returns
        -------
        pyarrow.Table
            ``id``, ``title``, ``type``, ``project``, ``collection``, ``topic`` (its id), ``freshness``, ``created_us``,
            ``recorded_us``, ``gone_us``, ``x``, ``y``; one row for each active chunk that has a vector. With ``history`` one for
            each time from ``recorded_us`` to before ``gone_us`` (null: still) in which a version was active.

        Raises
        ------
        VaultCorrupt

        Examples
        --------
        >>> vault.topics.places().column_names[-2:]
        ['x', 'y']
        """
        from lamina_engine.topics.places import places_table

        return places_table(self._memory, history=history)

    def map(self, path: PathLike) -> PageReport:
        """Write the map and all that lies on it as one HTML page, which opens from disk.

        Parameters
        ----------
        path : path
            The file to write, named ``.html``. It holds the texts of all chunks.

        Raises
        ------
        InvalidArgument, OSError
        """
        from lamina.pages import write_page
        from lamina.vault import Vault

        return write_page(Vault(self._memory), path)
