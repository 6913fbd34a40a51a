"""A pretended Ray for the pools."""

import pytest
from fake_ray import FakeRay

from gnomon.cluster import pools


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    ray = FakeRay()
    monkeypatch.setattr(pools, "import_ray", lambda: ray)
    return ray
