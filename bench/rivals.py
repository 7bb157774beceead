"""Stores that people use in Lamina's place, each with the settings that served it best here.

Their packages are imported when a system is built; `bench.peers.skip_unless` has named the missing ones by then.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from bench.corpus import Corpus, K, Query, words_of

DEPTH = 100


class Bm25s:
    """Words alone: scores computed ahead and summed by Numba."""

    label: ClassVar[str] = "bm25s"
    settings: ClassVar[str] = "Numba back end, one thread, stop words kept; words only"
    packages: ClassVar[tuple[str, ...]] = ("bm25s",)
    most_rows: ClassVar[int] = 400_000

    def __init__(self, index: Any) -> None:
        self._index = index

    @classmethod
    def build(cls, corpus: Corpus, folder: Path) -> Self:
        import bm25s

        index = bm25s.BM25(backend="numba")
        index.index(bm25s.tokenize(corpus.texts.to_pylist(), stopwords=[], show_progress=False), show_progress=False)
        index.save(str(folder / "bm25s"))
        return cls(index)

    def lexical(self, query: Query) -> list[int]:
        import bm25s

        words: Any = bm25s.tokenize([query.text], stopwords=[], show_progress=False)
        if not words.ids[0]:  # of a question of single letters, which it drops
            return []
        index: Any = self._index
        rows, _ = index.retrieve(words, k=K, show_progress=False, n_threads=1)
        return [int(row) for row in rows[0]]

    def close(self) -> None:
        self._index = None


class Lance:
    """LanceDB, embedded; its RRF reranker, without ages."""

    label: ClassVar[str] = "LanceDB"
    settings: ClassVar[str] = "IVF_PQ, 64 sub-vectors, nprobes 64, refine 20, FTS, RRF 60; no decay"
    packages: ClassVar[tuple[str, ...]] = ("lancedb",)
    most_rows: ClassVar[int] = 10_000_000

    def __init__(self, table: Any) -> None:
        from lancedb.rerankers import RRFReranker

        self._table = table
        self._rerank = RRFReranker(K=60)

    @classmethod
    def build(cls, corpus: Corpus, folder: Path) -> Self:
        import lancedb

        return cls.build_in(corpus, lancedb.connect(str(folder / "lance")))

    @classmethod
    def build_in(cls, corpus: Corpus, database: Any) -> Self:
        """Build in an open database, which may lie on object storage."""
        from lancedb.index import FTS, BTree, IvfPq

        rows = pa.table(
            {
                "row": np.arange(corpus.size),
                "text": corpus.texts,
                "project": corpus.project,
                "vector": pa.FixedSizeListArray.from_arrays(
                    pa.array(corpus.vectors.reshape(-1)), corpus.vectors.shape[1]
                ),
            }
        )
        table = database.create_table("rows", rows)
        parts = 256 if corpus.size >= 65_536 else max(1, corpus.size // 256)
        table.create_index("vector", config=IvfPq(distance_type="dot", num_partitions=parts, num_sub_vectors=64))
        table.create_index("text", config=FTS(with_position=False, stem=False, remove_stop_words=False))
        table.create_index("project", config=BTree())
        return cls(table)

    def hybrid(self, query: Query, project: int | None = None) -> list[str]:
        table: Any = self._table
        search = table.search(query_type="hybrid", vector_column_name="vector")
        search = search.vector(query.vector).text(" ".join(words_of(query.text))).distance_type("dot")
        search = search.nprobes(64).refine_factor(20)
        if project is not None:
            search = search.where(f"project = {project}", prefilter=True)
        found: list[str] = search.rerank(self._rerank).limit(K).to_arrow()["text"].to_pylist()
        return found

    def dense(self, query: Query, project: int | None = None) -> list[int]:
        table: Any = self._table
        search = table.search(query.vector, vector_column_name="vector").distance_type("dot")
        if project is not None:
            search = search.where(f"project = {project}", prefilter=True)
        found: list[int] = search.nprobes(64).refine_factor(20).select(["row"]).limit(K).to_arrow()["row"].to_pylist()
        return found

    def lexical(self, query: Query) -> list[int]:
        table: Any = self._table
        search = table.search(" ".join(words_of(query.text)), query_type="fts")
        found: list[int] = search.select(["row"]).limit(K).to_arrow()["row"].to_pylist()
        return found

    def close(self) -> None:
        self._table = None


class SqliteVec:
    """SQLite's full text index beside the exact scan of sqlite-vec; RRF in Python, without ages."""

    label: ClassVar[str] = "SQLite FTS5 + sqlite-vec"
    settings: ClassVar[str] = "WAL, exact vector scan, RRF 60; no decay"
    packages: ClassVar[tuple[str, ...]] = ("apsw", "sqlite_vec")
    most_rows: ClassVar[int] = 200_000

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    @classmethod
    def build(cls, corpus: Corpus, folder: Path) -> Self:
        import apsw
        import sqlite_vec

        connection = apsw.Connection(str(folder / "rows.db"))
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
        connection.execute(
            "pragma journal_mode=wal; pragma synchronous=normal; pragma mmap_size=8000000000; pragma cache_size=-200000;"
            "create table rows(id integer primary key, text, project int);"
            "create virtual table words using fts5(text, content='rows', content_rowid='id', tokenize='unicode61');"
            "create virtual table vectors using vec0"
            f"(id integer primary key, project int, vector float[{corpus.vectors.shape[1]}] distance_metric=cosine)"
        ).fetchall()  # statements run only as far as rows are fetched
        texts, projects = corpus.texts.to_pylist(), corpus.project.tolist()
        with connection:
            connection.executemany(
                "insert into rows values(?,?,?)", zip(range(corpus.size), texts, projects, strict=True)
            )
            connection.executemany("insert into words(rowid, text) values(?,?)", enumerate(texts))
            connection.executemany(
                "insert into vectors values(?,?,?)",
                ((row, project, corpus.vectors[row].tobytes()) for row, project in enumerate(projects)),
            )
        connection.execute("pragma wal_checkpoint(truncate)").fetchall()
        return cls(connection)

    def hybrid(self, query: Query, project: int | None = None) -> list[str]:
        scores: dict[int, float] = {}
        for lane in (self._words(query, DEPTH, project), self._near(query, DEPTH, project)):
            for rank, row in enumerate(lane):
                scores[row] = scores.get(row, 0.0) + 1.0 / (61.0 + rank)
        best = sorted(scores, key=scores.__getitem__, reverse=True)[:K]
        marks = ",".join("?" * len(best))
        texts = dict(self._connection.execute(f"select id, text from rows where id in ({marks})", best))
        return [texts[row] for row in best]

    def dense(self, query: Query, project: int | None = None) -> list[int]:
        return self._near(query, K, project)

    def lexical(self, query: Query) -> list[int]:
        return self._words(query, K, None)

    def close(self) -> None:
        self._connection.close()

    def _words(self, query: Query, depth: int, project: int | None) -> list[int]:
        match = " OR ".join(f'"{word}"' for word in dict.fromkeys(words_of(query.text)))
        if project is None:
            found = self._connection.execute(
                "select rowid from words where words match ? order by bm25(words) limit ?", (match, depth)
            )
        else:
            found = self._connection.execute(
                "select words.rowid from words join rows on rows.id = words.rowid "
                "where words match ? and rows.project = ? order by bm25(words) limit ?",
                (match, project, depth),
            )
        return [row for (row,) in found]

    def _near(self, query: Query, depth: int, project: int | None) -> list[int]:
        asked: tuple[Any, ...] = (query.vector.tobytes(), depth)
        only = ""
        if project is not None:
            asked, only = (*asked, project), " and project = ?"
        found = self._connection.execute(f"select id from vectors where vector match ? and k = ?{only}", asked)
        return [row for (row,) in found]


class QdrantEdge:
    """Qdrant in the process: HNSW, sparse BM25, its own RRF, without ages."""

    label: ClassVar[str] = "qdrant-edge"
    settings: ClassVar[str] = "HNSW m 16 ef 128, sparse BM25, RRF 60; no decay"
    packages: ClassVar[tuple[str, ...]] = ("qdrant_edge",)
    most_rows: ClassVar[int] = 200_000

    def __init__(self, shard: Any, bm25: Any) -> None:
        self._shard, self._bm25 = shard, bm25

    @classmethod
    def build(cls, corpus: Corpus, folder: Path) -> Self:
        import qdrant_edge as q

        (folder / "qdrant").mkdir()
        bm25 = q.Bm25(q.Bm25Config(avg_len=115.0))
        config = q.EdgeConfig(
            vectors={"dense": q.EdgeVectorParams(size=corpus.vectors.shape[1], distance=q.Distance.Dot)},
            sparse_vectors={"words": q.EdgeSparseVectorParams(modifier=q.Modifier.Idf)},
            hnsw_config=q.HnswIndexConfig(m=16, ef_construct=100, full_scan_threshold=1000),
        )
        shard = q.EdgeShard.create(str(folder / "qdrant"), config)
        shard.update(q.UpdateOperation.create_field_index("project", q.PayloadSchemaType.Integer))
        for start in range(0, corpus.size, 5_000):
            texts = corpus.texts[start : start + 5_000].to_pylist()
            points = [
                q.Point(
                    row,
                    {"dense": corpus.vectors[row].tolist(), "words": bm25.embed_document(text)},
                    {"project": int(corpus.project[row]), "created": int(corpus.created_s[row]), "text": text},
                )
                for row, text in enumerate(texts, start)
            ]
            shard.update(q.UpdateOperation.upsert_points(points))
        shard.flush()
        shard.optimize()
        return cls(shard, bm25)

    def hybrid(self, query: Query, project: int | None = None) -> list[str]:
        import qdrant_edge as q

        only = self._only(project)
        lanes = [
            q.Prefetch(limit=DEPTH, query=self._nearest(query), params=q.SearchParams(hnsw_ef=128), filter=only),
            q.Prefetch(limit=DEPTH, query=q.Query.Nearest(self._bm25.embed_query(query.text), "words"), filter=only),
        ]
        fusion: Any = q.Fusion.Rrf(60)  # its stubs do not know that this is a fusion
        found = self._shard.query(q.QueryRequest(limit=K, query=fusion, prefetches=lanes, with_payload=True))
        return [point.payload["text"] for point in found]

    def dense(self, query: Query, project: int | None = None) -> list[int]:
        import qdrant_edge as q

        params, only = q.SearchParams(hnsw_ef=128), self._only(project)
        asked = q.QueryRequest(limit=K, query=self._nearest(query), params=params, filter=only)
        return [point.id for point in self._shard.query(asked)]

    def lexical(self, query: Query) -> list[int]:
        import qdrant_edge as q

        asked = q.QueryRequest(limit=K, query=q.Query.Nearest(self._bm25.embed_query(query.text), "words"))
        return [point.id for point in self._shard.query(asked)]

    def close(self) -> None:
        self._shard.close()

    @staticmethod
    def _nearest(query: Query) -> Any:
        import qdrant_edge as q

        return q.Query.Nearest(query.vector.tolist(), "dense")

    @staticmethod
    def _only(project: int | None) -> Any:
        import qdrant_edge as q

        if project is None:
            return None
        return q.Filter(must=[q.FieldCondition("project", match=q.MatchValue(project))])
