"""Interventions do what they say, to the frame: holding, freezing, swapping at Set."""

from typing import Any

from node import run_node


def test_interventions(untrained: dict[str, Any]):
    answer = run_node("experiment.js", {"spec": untrained})

    assert len(answer["memory"]) == len(answer["gaze"]) == len(answer["reset"]) == 3
    for swap in answer["memory"]:
        assert swap["now"]["state"] == swap["donor"]["state"] != swap["own"]["state"]
        assert swap["now"]["gaze"] == swap["own"]["gaze"]
        assert swap["recorded"] == swap["donor"]["interval"]
    for swap in answer["gaze"]:
        assert swap["now"]["gaze"] == swap["donor"]["gaze"]
        assert swap["now"]["state"] == swap["own"]["state"]
    assert any(swap["own"]["gaze"] != swap["donor"]["gaze"] for swap in answer["gaze"])
    for swap in answer["reset"]:
        assert swap["now"]["state"] == answer["initial"]
        assert swap["recorded"] is None

    assert answer["held"] == 1
    before, after = answer["frozen"]
    assert before == after != answer["initial"]
    assert answer["heldForAWhile"]["spans"] == [1, 1, 1, 1]
    assert answer["heldForAWhile"]["after"] > 0

    # An interval that the task does not train is a probe, and nobody's hand was in these trials but for the first's.
    chosen = answer["chosen"]
    assert [each[:2] for each in chosen["intervals"]] == [[15, 1]] * 3
    assert [each[2] for each in chosen["intervals"][1:]] == [False, False]
    assert chosen["kept"]
    assert chosen["last"]
