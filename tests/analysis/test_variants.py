"""Production of several agents side by side, also of those that never answer."""

import numpy as np
import polars as pl
import pytest

from gnomon.analysis.performance import production
from gnomon.analysis.results import from_json, to_json
from gnomon.analysis.variants import Variants, variants

GOOD = [(10, 9, "correct"), (10, 12, "correct"), (20, 21, "correct"), (20, 18, "correct")]
LATE = [(10, 30, "wrong"), (10, 34, "wrong"), (20, 36, "wrong"), (20, None, "timeout")]
SILENT = [(10, None, "early"), (20, None, "timeout"), (20, 25, "aborted")]


def test_every_agent_has_the_production_of_its_own_table(trial_table) -> None:
    result = variants({"late": trial_table(LATE), "good": trial_table(GOOD)}, tolerance=2, n_bootstrap=20, seed=3)
    assert [agent.name for agent in result.agents] == ["late", "good"]  # as given, not sorted
    assert result.task == "ready_set_go"
    for agent, rows in zip(result.agents, (LATE, GOOD), strict=True):
        alone = production(trial_table(rows), tolerance=2, n_bootstrap=20, seed=3)
        assert agent.production is not None
        assert to_json(agent.production) == to_json(alone)
        assert agent.n_trials == 4


def test_an_agent_that_never_answers_has_no_production(trial_table) -> None:
    result = variants({"silent": trial_table(SILENT), "good": trial_table(GOOD)}, n_bootstrap=20)
    silent, good = result.agents
    assert silent.production is None
    assert silent.n_trials == 3
    assert good.production is not None


def test_survives_json(trial_table) -> None:
    result = variants({"silent": trial_table(SILENT), "good": trial_table(GOOD)}, n_bootstrap=20)
    again = from_json(Variants, to_json(result))
    assert to_json(again) == to_json(result)
    assert again.agents[0].production is None
    assert again.agents[1].production is not None
    np.testing.assert_array_equal(again.agents[1].production.mean, [10.5, 19.5])


def test_errors(trial_table) -> None:
    good = trial_table(GOOD)
    with pytest.raises(ValueError, match="trials_by_agent is empty"):
        variants({})
    with pytest.raises(ValueError, match=r"trial tables of \['new'\] are empty"):
        variants({"good": good, "new": trial_table([])})
    other = good.with_columns(task=pl.lit("cued_production"))
    with pytest.raises(ValueError, match=r"\['cued_production', 'ready_set_go'\]"):
        variants({"good": good, "other": other})
