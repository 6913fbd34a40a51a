"""Initial state: episodes begin in the mean state of lanes between two trials, so that a first trial is like others."""

from dataclasses import dataclass

from gnomon.learn.aids.base import Aid
from gnomon.learn.unroll import Unroll


@dataclass(frozen=True)
class InitialStateSettings:
    """Initial state: episodes begin in the mean state of lanes between two trials, instead of with zeros."""

    rate: float = 0.1
    """Share of the way that the initial state moves to that mean, after each round."""

    def __post_init__(self) -> None:
        if not 0 < self.rate <= 1:
            raise ValueError(f"initial_state.rate is {self.rate}; it is a share, above 0 and at most 1")


class InitialState(Aid):
    """The initial state is part of the agent, and is saved with its weights."""

    name = "initial_state"
    settings: InitialStateSettings

    def after_unroll(self, unroll: Unroll, metrics: dict[str, float]) -> dict[str, float]:
        between_trials = unroll.idle & ~unroll.first[0]
        if between_trials.any():
            state = {name: tensor[between_trials] for name, tensor in unroll.state.items()}
            self.learner.agent.controller.move_initial_state(state, self.settings.rate)
        return {}
