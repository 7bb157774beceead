"""HDBSCAN for anyone's vectors, after scikit-learn's conventions and without needing it."""

from __future__ import annotations

import inspect
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Self

from lamina_engine.errors import InvalidArgument, SchemaMismatch

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    from lamina.options import ArrowArray
    from lamina_engine.reports import ProgressListener
    from lamina_engine.topics.hdbscan import Clustering, Hierarchy


class HDBSCAN:
    """Clusters of varying density, found exactly, and noise left out.

    Rows that are no cluster's get the label −1. The result depends on the distances alone: not on the order of rows
    (but for which of two clusters that no distance tells apart is named first), the number of threads or the processor.

    Parameters
    ----------
    min_cluster_size : int
        Fewest rows that make a cluster; ≥ 2.
    min_samples : int, optional
        How many *other* rows must be near for a place to count as dense, as in the hdbscan package; scikit-learn
        counts the row itself too, so its value is one more. ``min_cluster_size`` unless given.
    metric : {"cosine", "euclidean"}
        Cosine works on the chord between unit rows, √(2 − 2 cos), which ranks as the angle does and, unlike 1 − cos,
        is a distance. Heights and ``cluster_selection_epsilon`` are chords: an angle of θ half turns is a chord of
        2 sin(πθ/2).
    method : {"auto", "exact", "approx"}
        ``approx`` looks for neighbours in near cells of k-means only; ``auto`` is exact up to 200,000 rows.
    cluster_selection_method : {"eom", "leaf"}
        Excess of mass, or the leaves of the tree: more and smaller clusters.
    cluster_selection_epsilon : float
        Clusters that part at a smaller distance than this are taken as one.
    max_cluster_size : int, optional
        Larger clusters are not chosen by excess of mass; their parts are.
    allow_single_cluster : bool
        Whether all rows may be one cluster.
    n_jobs : int, optional
        Threads; all cores unless given, and with −1.

    Attributes
    ----------
    labels_ : int64 (n,)
        −1 is noise; 0 is the largest cluster.
    probabilities_ : float64 (n,)
        How firmly each row belongs to its cluster, in [0, 1].
    outlier_scores_ : float64 (n,)
        GLOSH: how much thinner a row's surroundings are than the densest place near it, in [0, 1).
    condensed_tree_ : CondensedTree
        Which clusters part where, and where rows leave them; ``to_arrow()`` gives a table.
    single_linkage_tree_ : SingleLinkageTree
        The dendrogram; ``to_arrow()`` gives a table, ``to_numpy()`` SciPy's matrix.
    n_features_in_ : int
        Columns of the vectors.

    Notes
    -----
    ``min_cluster_size`` and what concerns selection can be changed after `fit` and taken up by `recut`, in
    milliseconds: only ``min_samples``, ``metric`` and ``method`` need the distances again.

    Examples
    --------
    >>> import numpy as np
    >>> from lamina.clustering import HDBSCAN
    >>> rows = np.repeat(np.eye(3, 8), (6, 5, 4), axis=0) + 0.01 * np.arange(120).reshape(15, 8) % 0.1
    >>> HDBSCAN(min_cluster_size=4, min_samples=3).fit_predict(rows.astype(np.float32)).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, 2]
    """

    labels_: NDArray[np.int64]
    probabilities_: NDArray[np.float64]
    outlier_scores_: NDArray[np.float64]
    condensed_tree_: CondensedTree
    single_linkage_tree_: SingleLinkageTree
    n_features_in_: int

    _estimator_type = "clusterer"

    def __init__(
        self,
        min_cluster_size: int = 4,
        min_samples: int | None = None,
        metric: Literal["cosine", "euclidean"] = "cosine",
        method: Literal["auto", "exact", "approx"] = "auto",
        cluster_selection_method: Literal["eom", "leaf"] = "eom",
        cluster_selection_epsilon: float = 0.0,
        max_cluster_size: int | None = None,
        allow_single_cluster: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples
        self.metric = metric
        self.method = method
        self.cluster_selection_method = cluster_selection_method
        self.cluster_selection_epsilon = cluster_selection_epsilon
        self.max_cluster_size = max_cluster_size
        self.allow_single_cluster = allow_single_cluster
        self.n_jobs = n_jobs

    def fit(self, X: ArrayLike | ArrowArray, y: object = None, *, progress: ProgressListener | None = None) -> Self:
        """Find the clusters of vectors.

        Parameters
        ----------
        X : float32 or float16 (n, d)
            Read where they are if float32 and contiguous, such as NumPy arrays or Arrow's fixed-size lists;
            float64 is rounded to float32.
        y : ignored
        progress : callable, optional
            Gets a `Progress` (stage, done, total) a few times a second; what it raises ends the run.

        Returns
        -------
        HDBSCAN
            Itself.

        Raises
        ------
        InvalidArgument
            A parameter outside what is allowed; no rows; NaN, infinity, or under cosine a row of zeros, each naming
            the first such row.
        SchemaMismatch
            Things that are not numbers.
        """
        from lamina_engine.topics.hdbscan import grow

        self._check()
        rows = _rows(X)
        k = self.min_cluster_size if self.min_samples is None else self.min_samples
        self._hierarchy = grow(
            rows,
            min_samples=_plain(k),
            metric=self.metric,  # pyright: ignore[reportArgumentType]
            method=self.method,  # pyright: ignore[reportArgumentType]
            threads=_threads(self.n_jobs),
            progress=progress,
        )
        self.n_features_in_ = int(rows.shape[1])
        _keep_names(self, X)
        return self.recut()

    def recut(self) -> Self:
        """Select clusters again from the tree of `fit`, with the current parameters.

        Returns
        -------
        HDBSCAN
            Itself.

        Raises
        ------
        InvalidArgument
            Before `fit`, or when a parameter is outside what is allowed.
        """
        from lamina_engine.topics.hdbscan import cut

        hierarchy: Hierarchy | None = getattr(self, "_hierarchy", None)
        if hierarchy is None:
            raise InvalidArgument("this HDBSCAN has no tree yet: call fit(X) first")
        self._check()
        # a size beyond all rows says no more than one row more than there are
        most = hierarchy.core_distances.size + 1
        limit = None if self.max_cluster_size is None else min(_plain(self.max_cluster_size), max(most, 2))
        found: Clustering = cut(
            hierarchy,
            min_cluster_size=min(_plain(self.min_cluster_size), max(most, 2)),
            method=self.cluster_selection_method,  # pyright: ignore[reportArgumentType]
            epsilon=_plain(self.cluster_selection_epsilon),
            max_cluster_size=limit,
            allow_single_cluster=self.allow_single_cluster,
        )
        self.labels_ = found.labels
        self.probabilities_ = found.probabilities
        self.outlier_scores_ = found.outlier_scores
        self.condensed_tree_ = CondensedTree(found)
        self.single_linkage_tree_ = SingleLinkageTree(hierarchy)
        return self

    def fit_predict(
        self, X: ArrayLike | ArrowArray, y: object = None, *, progress: ProgressListener | None = None
    ) -> NDArray[np.int64]:
        """Find the clusters of vectors and return `labels_`; see `fit`."""
        return self.fit(X, progress=progress).labels_

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` has no effect."""
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **params: object) -> Self:
        """Set parameters by name; they are checked when they are used.

        Raises
        ------
        InvalidArgument
            For an unknown parameter name.
        """
        for name, value in params.items():
            if name not in _PARAMETERS:
                raise InvalidArgument(f"HDBSCAN has no parameter {name!r}; there are {', '.join(_PARAMETERS)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != _PARAMETERS[name]]
        return f"HDBSCAN({', '.join(changed)})"

    def __sklearn_tags__(self) -> object:
        """Return the tags of this estimator for scikit-learn."""
        utils = import_module("sklearn.utils")
        tags: object = utils.Tags(
            estimator_type="clusterer", target_tags=utils.TargetTags(required=False), transformer_tags=None,
            classifier_tags=None, regressor_tags=None, input_tags=utils.InputTags(),
        )  # fmt: skip
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "labels_")

    def _check(self) -> None:
        """Refuse what `recut` would refuse, before the long part."""
        from lamina_engine.topics.hdbscan import check_cut

        check_cut(
            min_cluster_size=_plain(self.min_cluster_size), method=self.cluster_selection_method,
            epsilon=_plain(self.cluster_selection_epsilon), max_cluster_size=_plain(self.max_cluster_size),
        )  # fmt: skip
        if _plain(self.allow_single_cluster) not in (True, False):
            raise InvalidArgument(f"allow_single_cluster={self.allow_single_cluster!r} must be True or False")


_PARAMETERS = {
    name: parameter.default
    for name, parameter in inspect.signature(HDBSCAN.__init__).parameters.items()
    if name != "self"
}


class CondensedTree:
    """Condensed tree: the splits of clusters, and the rows that leave them."""

    def __init__(self, clustering: Clustering) -> None:
        self._clustering = clustering

    def to_arrow(self) -> pa.Table:
        """Return parent, child, lambda_val and child_size.

        Rows are 0 to n − 1, clusters from n on; n holds all.
        """
        from lamina_engine.topics.hdbscan import condensed_table

        return condensed_table(self._clustering.condensed_tree)


class SingleLinkageTree:
    """The dendrogram: rows that meet at one height are joined at once."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self._hierarchy = hierarchy

    def to_arrow(self) -> pa.Table:
        """Return node, parent (−1 for the root), height, size: rows are 0 to n − 1."""
        from lamina_engine.topics.hdbscan import merge_table

        return merge_table(self._hierarchy.merge_tree)

    def to_numpy(self) -> NDArray[np.float64]:
        """Return SciPy's linkage matrix, float64 (n − 1, 4): two nodes, height, size."""
        from lamina_engine.topics.hdbscan import linkage_matrix

        return linkage_matrix(self._hierarchy.merge_tree)


def _rows(given: Any) -> NDArray[Any]:
    """Return what was given as an array of rows of numbers."""
    import numpy as np

    if type(given).__module__.partition(".")[0] == "pyarrow":
        rows = _arrow_rows(given)
    elif hasattr(given, "tocsr"):
        raise SchemaMismatch("sparse vectors are not supported; give a dense array, such as X.toarray()")
    else:
        rows = _array(given)
    if np.iscomplexobj(rows):
        raise InvalidArgument("Complex data not supported; give float32 or float16")
    if rows.dtype.kind == "O":
        rows = _numbers(rows)
    if rows.ndim == 1:
        raise InvalidArgument(
            f"X has shape {rows.shape}: one row per item is needed. Reshape your data: X.reshape(1, -1)"
        )
    if rows.ndim == 2 and 0 in rows.shape:
        what = "sample" if rows.shape[0] == 0 else "feature"
        raise InvalidArgument(f"0 {what}(s) (shape={rows.shape}) while a minimum of 1 is required.")
    return rows


def _array(given: Any) -> NDArray[Any]:
    import numpy as np

    try:
        rows = np.asarray(given)
    except ValueError as error:
        raise InvalidArgument(f"X cannot be read as rows of one length ({error}); give shape (n, d)") from error
    if rows.ndim == 0:
        raise SchemaMismatch(f"X is {type(given).__name__}, not vectors; give an array of shape (n, d)")
    return rows


def _numbers(rows: NDArray[Any]) -> NDArray[Any]:
    import numpy as np

    try:
        return rows.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise SchemaMismatch(
            f"argument must be a string or a number: X has things that are no numbers ({error})"
        ) from error


def _arrow_rows(given: Any) -> NDArray[Any]:
    """Return a column of vectors without copying it: fixed-size lists or tensors."""
    import pyarrow as pa

    if not isinstance(given, (pa.Array, pa.ChunkedArray)):
        raise SchemaMismatch(f"X is a pyarrow {type(given).__name__}; give its column of vectors: X['NAME']")
    if isinstance(given, pa.ChunkedArray):
        given = given.chunk(0) if given.num_chunks == 1 else given.combine_chunks()
    if isinstance(given, pa.FixedShapeTensorArray) and len(given.type.shape) == 1:
        given = given.storage
    if not pa.types.is_fixed_size_list(given.type):
        raise SchemaMismatch(f"an Arrow column of type {given.type} is not vectors; give fixed_size_list<float>[d]")
    _refuse_nulls(given, 1)
    flat = given.flatten()
    _refuse_nulls(flat, given.type.list_size)
    rows: NDArray[Any] = flat.to_numpy(zero_copy_only=flat.type != pa.bool_()).reshape(len(given), given.type.list_size)
    return rows


def _refuse_nulls(values: Any, each: int) -> None:
    """Raise for the first row with a null; a row has so many of the values."""
    if values.null_count:
        row = values.is_null().to_pylist().index(True) // each
        raise InvalidArgument(f"row {row} is null or has one ({values.null_count} nulls in all); leave such rows out")


def _plain(value: Any) -> Any:
    """Return a NumPy number as Python's, and anything else as it is."""
    import numpy as np

    return value.item() if isinstance(value, np.generic) else value


def _threads(n_jobs: int | None) -> int | None:
    if n_jobs is None or n_jobs == -1:
        return None
    n_jobs = _plain(n_jobs)
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs < -1 or n_jobs == 0:
        raise InvalidArgument(f"n_jobs={n_jobs!r} must be a number of threads from 1 up, or −1 or None for all cores")
    return min(n_jobs, 4 * (os.cpu_count() or 1))


def _keep_names(estimator: Any, given: Any) -> None:
    """Keep the names of a data frame's columns, as scikit-learn does."""
    import numpy as np

    columns = getattr(given, "columns", None)
    if columns is not None and all(isinstance(name, str) for name in columns):
        estimator.feature_names_in_ = np.asarray(columns, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
