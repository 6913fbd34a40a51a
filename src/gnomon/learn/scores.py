"""How well a run is doing: shares of its latest trials that were rewarded, or within tolerance."""

from collections import deque
from typing import Any

import polars as pl
import torch
from torch import Tensor

from gnomon.records.trials import is_within

RECENT_TRIALS = 5_000  # over which scores are computed


class Recent:
    """The last trials, for scores: whether each was within tolerance, rewarded, and its sample interval."""

    def __init__(self) -> None:
        self._trials: deque[tuple[int, bool, bool]] = deque(maxlen=RECENT_TRIALS)

    def add(self, trials: pl.DataFrame) -> None:
        done = trials.filter(~pl.col("outcome").is_in(["cut_off", "aborted"]))
        within = is_within() if done["production_interval"].count() else pl.col("reward") > 0
        rows = done.select("sample_interval", within.alias("within"), (pl.col("reward") > 0).alias("rewarded"))
        self._trials.extend(rows.iter_rows())

    @property
    def full(self) -> bool:
        return len(self._trials) == RECENT_TRIALS

    def criterion(self) -> float:
        """Share of trials within 8 frames of the sample interval (in choice tasks: rewarded)."""
        return sum(within for _, within, _ in self._trials) / max(1, len(self._trials))

    def scores(self) -> dict[str, Any]:
        """Shares correct: of all trials, and by sample interval."""
        by_interval: dict[int, list[bool]] = {}
        for interval, within, _ in self._trials:
            by_interval.setdefault(interval, []).append(within)
        shares = {f"criterion_{t}": sum(hits) / len(hits) for t, hits in sorted(by_interval.items())}
        rewarded = sum(rewarded for _, _, rewarded in self._trials) / max(1, len(self._trials))
        return {"criterion": self.criterion(), "rewarded": rewarded, **shares}

    def state_dict(self) -> dict[str, Tensor]:
        return {"trials": torch.tensor([list(map(int, row)) for row in self._trials], dtype=torch.int32).view(-1, 3)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self._trials.clear()
        self._trials.extend(
            (interval, bool(within), bool(rewarded)) for interval, within, rewarded in state["trials"].tolist()
        )
