"""Small trial tables, written by hand."""

from collections.abc import Callable, Sequence

import polars as pl
import pytest

Row = tuple[int, int | None, str]
TrialTable = Callable[[Sequence[Row]], pl.DataFrame]


@pytest.fixture
def trial_table() -> TrialTable:
    """Rows of (sample_interval, production_interval, outcome) -> a trial table."""

    def build(rows: Sequence[Row]) -> pl.DataFrame:
        n = len(rows)
        return pl.DataFrame(
            {
                "task": ["ready_set_go"] * n,
                "lane": [0] * n,
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
