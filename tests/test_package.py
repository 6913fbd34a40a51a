"""`import gnomon`: cheap, and enough for Gymnasium and for a notebook."""

import subprocess
import sys

import pytest

import gnomon


def test_importing_is_cheap_and_registers_the_ids():
    script = """
import sys, gnomon, gymnasium
heavy = {"torch", "matplotlib", "polars", "scipy", "sklearn"} & set(sys.modules)
assert not heavy, heavy
print(gymnasium.make("gnomon/ReadySetGo-v0", retina=(4, 4)).reset(seed=0)[0].shape)
"""
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "(4, 4, 3)\n"


def test_gymnasium_imports_the_package_that_an_id_names():
    script = "import gymnasium; print(gymnasium.make('gnomon:gnomon/Bisection-v0', retina=(4, 4)).action_space.n)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "9\n"


@pytest.mark.parametrize("name", gnomon.__all__)
def test_names_are_those_of_their_modules(name: str):
    assert name in dir(gnomon)
    value = getattr(gnomon, name)
    assert name == "TASKS" or value.__name__ == name


def test_every_name_has_one_place():
    assert sorted(name for names in gnomon.WHERE.values() for name in names) == sorted(gnomon.__all__)
    with pytest.raises(AttributeError, match="module 'gnomon' has no attribute 'load_agents'"):
        _ = gnomon.load_agents
