"""Small trial tables, written by hand."""

from collections.abc import Callable, Sequence

import polars as pl
import pytest

Row = tuple[int, int | None, str]
TrialTable = Callable[..., pl.DataFrame]


@pytest.fixture
def trial_table() -> TrialTable:
    """Rows of (sample_interval, production_interval, outcome) -> a trial table; row i belongs to lane i % lanes."""

    def build(rows: Sequence[Row], lanes: int = 1) -> pl.DataFrame:
        n = len(rows)
        return pl.DataFrame(
            {
                "task": ["ready_set_go"] * n,
                "lane": [row % lanes for row in range(n)],
                "episode": [0] * n,
                "trial": list(range(n)),
                "sample_interval": [row[0] for row in rows],
                "production_interval": [row[1] for row in rows],
                "outcome": [row[2] for row in rows],
                "tolerance": [8.0] * n,
                "probe": [False] * n,
            },
            schema_overrides={
                "lane": pl.Int32,
                "episode": pl.Int32,
                "trial": pl.Int32,
                "sample_interval": pl.Int32,
                "production_interval": pl.Int32,
                "outcome": pl.String,
                "task": pl.String,
            },
        )

    return build
