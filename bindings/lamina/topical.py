"""Topics: found, listed, shown, drawn; a part of `lamina.Vault`."""

from __future__ import annotations

import builtins
import os
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from lamina.progress import Report
    from lamina_engine.embed.chat import Budget, ChatSpec
    from lamina_engine.topics.catalog import Topic, TopicMembers
    from lamina_engine.topics.clustering import ClusterReport
    from lamina_engine.topics.map import MapReport


class Topical:
    """Topics of a vault."""

    _memory: Any

    def cluster(
        self,
        min_cluster_size: int = 4,
        min_samples: int | None = None,
        threshold: float | Literal["auto"] = "auto",
        method: Literal["auto", "exact", "approx"] = "auto",
        *,
        selection: Literal["topics", "eom", "leaf"] = "topics",
        full: bool = False,
        names: Literal["auto", "words", "model"] = "auto",
        namer: ChatSpec = None,
        budget: Budget | None = None,
        progress: bool | Report = False,
    ) -> ClusterReport:
        """Find topics, or continue those there are; ids and names stay while most chunks of a topic stay together.

        Parameters
        ----------
        min_cluster_size : int
            Fewest chunks of a topic, ≥ 2.
        min_samples : int, optional
            Other chunks that make a place dense; ``min_cluster_size`` unless given.
        threshold : float or "auto"
            Angular distance, arccos(cosine)/π, to a topic's centre that its chunks keep to; calibrated on the vault's
            vectors unless given. 0.09 is the value of the system that the episodic profile follows.
        method : {"auto", "exact", "approx"}
            How neighbours are found.
        selection : {"topics", "eom", "leaf"}
            ``topics`` smooths, parts what is too large and takes in noise within the threshold; the others are plain
            HDBSCAN.
        full : bool
            Cluster everything, even where the former topics could be continued.
        names : {"auto", "words", "model"}
            What names topics: a language model where one is configured, else their words; words; or a model, and an
            error where none is configured. A name stays while its topic goes on.
        namer : mapping or Chat, optional
            ``{"url": ..., "model": ...}`` of an OpenAI-compatible endpoint; else ``$LAMINA_JUDGE_URL`` and
            ``$LAMINA_JUDGE_MODEL`` (key: ``$LAMINA_JUDGE_KEY``, else ``$OPENAI_API_KEY``). It gets words and beginnings of
            a few chunks of each topic.
        budget : Budget, optional
            What naming may cost, 100,000 tokens unless given; see `lamina_engine.embed.chat.Budget`.
        progress : bool or callable
            A bar on stderr, or what gets each step; what a callable raises ends the run and leaves the vault as it was.

        Returns
        -------
        ClusterReport

        Raises
        ------
        InvalidArgument, VaultReadOnly, VaultLocked, OSError
        InvalidConfig
            When a model is wanted and none is configured, or it cannot be used.
        """
        from lamina.progress import reporter
        from lamina_engine.topics.clustering import cluster

        with reporter(progress) as report:
            return cluster(
                self._memory, min_cluster_size=min_cluster_size, min_samples=min_samples, threshold=threshold,
                method=method, selection=selection, full=full, names=names, namer=namer, budget=budget,
                progress=report,
            )  # fmt: skip

    def topics(self) -> builtins.list[Topic]:
        """Return the topics as they are now, the largest first; chunks that came since the clustering count.

        Raises
        ------
        VaultCorrupt
            When what was written of the last clustering cannot be read.
        """
        from lamina_engine.topics.catalog import topics

        return topics(self._memory)

    def topic(self, id: str) -> TopicMembers:
        """Return one topic with its members, the surest first; a wider topic's are those of all below it.

        Raises
        ------
        TopicNotFound
            No topic has this id.
        """
        from lamina_engine.topics.catalog import topic

        return topic(self._memory, id)

    def topic_map(self, path: str | os.PathLike[str], *, layout: Literal["pca", "umap"] = "pca") -> MapReport:
        """Write one page that shows all topics and needs nothing else.

        Raises
        ------
        MissingExtra
            When the plotting library is not installed: ``pip install 'lamina[viz]'``.
        """
        from lamina_engine.topics.map import topic_map

        return topic_map(self._memory, path, layout=layout)
