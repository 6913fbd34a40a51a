"""Trained agents come back from their folders as they were, or not at all."""

import hashlib
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
import torch
from safetensors.torch import load_file, save
from small_run import CONFIG, FRAMES_PER_ROUND

from gnomon.config import read_config
from gnomon.learn.loop import Limits, start
from gnomon.published import agents
from gnomon.published.agents import check_published, find_agent, is_published, load_agent, publish_agent, thinned
from gnomon.records.runs import RunFolder
from gnomon.records.trials import read_trials, write_trials
from gnomon.saving.checkpoint import newest_checkpoint, numbered, unnest

ROUNDS = 20


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two lines of metrics; not to be changed."""
    trainer = start(CONFIG, tmp_path_factory.mktemp("runs") / "small")
    trainer.run(Limits(frames=ROUNDS * FRAMES_PER_ROUND))
    return trainer.folder.path


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(trained, tmp_path / "small"))


def agent_weights(run: Path) -> dict[str, torch.Tensor]:
    """Those of the newest checkpoint."""
    return unnest("agent", newest_checkpoint(run / "checkpoints")[0].tensors)


def assert_weights(agent: torch.nn.Module, expected: dict[str, torch.Tensor]) -> None:
    loaded = agent.state_dict()
    assert loaded.keys() == expected.keys()
    assert all(torch.equal(loaded[name], tensor) for name, tensor in expected.items())


def test_a_runs_agent_has_the_weights_of_its_newest_checkpoint(trained: Path) -> None:
    agent, config = load_agent(trained)
    assert config == CONFIG
    assert_weights(agent, agent_weights(trained))


def test_a_damaged_checkpoint_is_passed_over_with_a_word(run: Path) -> None:
    shutil.copytree(run / "checkpoints" / "000001", run / "checkpoints" / "000002")
    expected = agent_weights(run)
    newest = numbered(run / "checkpoints")[0]
    (newest / "state.safetensors").write_bytes(b"")
    said: list[str] = []
    agent, _ = load_agent(run, said.append)
    assert said == [f"{newest} is truncated or altered: its checksum differs; using the checkpoint before it"]
    assert_weights(agent, expected)
    with pytest.warns(UserWarning, match="using the checkpoint before it"):
        load_agent(run)


def test_a_folder_that_is_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"is not a run: it has no config\.json"):
        load_agent(tmp_path)


def test_a_published_folder_has_the_agent_and_how_it_came_about(run: Path, tmp_path: Path) -> None:
    evaluated(run, 10)
    (run / "evaluation" / "recording.zarr.zip").write_bytes(b"large")
    out = tmp_path / "agents" / "small"
    assert publish_agent(run, out) == []
    files = sorted(str(file.relative_to(out)) for file in out.rglob("*") if file.is_file())
    assert files == [
        "config.json", "evaluation/trials.parquet", "metrics.jsonl", "published.json", "versions.json",
        "weights.safetensors",
    ]  # fmt: skip
    assert read_config(out / "config.json") == read_config(run / "config.json")
    for same in ("versions.json", "metrics.jsonl"):
        assert (out / same).read_bytes() == (run / same).read_bytes()
    table, shipped = (read_trials(folder / "evaluation" / "trials.parquet") for folder in (run, out))
    assert shipped.equals(table.select(shipped.columns))
    assert {"sample_interval", "production_interval", "end_frame", "probe"} <= set(shipped.columns)
    assert "set_frame" not in shipped.columns  # the frames of events take most of the room
    assert len(RunFolder(out).read_metrics()) == ROUNDS // 2
    counters = newest_checkpoint(run / "checkpoints")[0].counters
    assert json.loads((out / "published.json").read_text()) == {
        "sha256": hashlib.sha256((out / "weights.safetensors").read_bytes()).hexdigest(),
        "frames": ROUNDS * FRAMES_PER_ROUND,
        "minutes": counters["minutes"],
        "files": {
            name: hashlib.sha256((out / name).read_bytes()).hexdigest()
            for name in ("config.json", "evaluation/trials.parquet", "metrics.jsonl", "versions.json")
        },
    }
    assert load_file(out / "weights.safetensors").keys() == agent_weights(run).keys()
    assert list(out.parent.iterdir()) == [out]

    agent, config = load_agent(out)
    assert config == CONFIG
    assert_weights(agent, agent_weights(run))


def evaluated(run: Path, interval: int) -> Path:
    """A trial table where the run's evaluation belongs."""
    table = run / "evaluation" / "trials.parquet"
    trials = RunFolder(run).read_trials().with_columns(sample_interval=pl.lit(interval, pl.Int32))
    write_trials(trials, table)
    return table


def test_a_missing_or_old_evaluation_is_remarked(run: Path, tmp_path: Path) -> None:
    (remark,) = publish_agent(run, tmp_path / "a")
    assert "the trial table is not published: there is no trial table" in remark
    assert "gnomon evaluate" in remark
    os.utime(evaluated(run, 10), (1_000_000, 1_000_000))
    (remark,) = publish_agent(run, tmp_path / "a")
    assert "is older than the weights" in remark
    assert (tmp_path / "a" / "evaluation" / "trials.parquet").exists()


def test_a_table_of_another_evaluation_is_not_published(run: Path, tmp_path: Path) -> None:
    evaluated(run, 90)
    (remark,) = publish_agent(run, tmp_path / "a")
    assert "sample intervals that were not trained: 90" in remark
    table = evaluated(run, 10)
    other = replace(CONFIG, task=replace(CONFIG.task, pause=9))
    table.with_name("evaluation.json").write_text(json.dumps({"config": json.loads(other.to_json())}))
    (remark,) = publish_agent(run, tmp_path / "a")
    assert "tells of another task than the run's" in remark
    table.write_bytes(b"a table")
    (remark,) = publish_agent(run, tmp_path / "a")
    assert "damaged" in remark
    assert not (tmp_path / "a" / "evaluation").exists()


def with_weights(agent: Path, data: bytes) -> None:
    """Weights under a matching checksum."""
    (agent / "weights.safetensors").write_bytes(data)
    note = json.loads((agent / "published.json").read_text())
    (agent / "published.json").write_text(json.dumps(note | {"sha256": hashlib.sha256(data).hexdigest()}))


def test_weights_that_are_wrong_under_a_matching_checksum_are_one_line(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    publish_agent(run, out)
    weights = load_file(out / "weights.safetensors")
    with_weights(out, save(weights | {"policy.bias": weights["policy.bias"] * torch.nan}))
    with pytest.raises(ValueError, match=r"the weights policy\.bias are not finite numbers"):
        load_agent(out)
    with_weights(out, save(weights | {"policy.bias": weights["policy.bias"][1:]}))
    with pytest.raises(ValueError, match=r"do not fit the agent of config\.json: policy\.bias is \[8, "):
        load_agent(out)
    with_weights(out, b"no safetensors")
    with pytest.raises(ValueError, match=r"weights\.safetensors cannot be read"):
        load_agent(out)


@pytest.mark.parametrize("text", ["[]", "{}", '{"sha256": 3, "frames": 1, "minutes": 1}', "{"])
def test_a_note_of_another_shape_is_one_line(run: Path, tmp_path: Path, text: str) -> None:
    publish_agent(run, tmp_path / "a")
    (tmp_path / "a" / "published.json").write_text(text)
    with pytest.raises(ValueError, match=r"published\.json is damaged"):
        load_agent(tmp_path / "a")


def test_metrics_end_with_the_weights_and_are_thinned(run: Path, tmp_path: Path) -> None:
    with (run / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"round": ROUNDS + 10}) + "\n")  # of a checkpoint that was lost
        file.write('{"round": 4')
    publish_agent(run, tmp_path / "a")
    assert RunFolder(tmp_path / "a").read_metrics()["round"].to_list() == list(range(2, ROUNDS + 1, 2))
    for count in (0, 1, 399, 400):
        assert thinned([f"{place}" for place in range(count)]) == [f"{place}" for place in range(count)]
    for count in (401, 799, 12_345):
        places = [int(line) for line in thinned([f"{place}" for place in range(count)])]
        assert len(places) == len(set(places)) == 400
        assert places == sorted(places)
        assert (places[0], places[-1]) == (0, count - 1)


def test_publishing_replaces_an_agent_and_nothing_else(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    publish_agent(run, out)
    (out / "published.json").write_text("{}")
    publish_agent(run, out)
    load_agent(out)
    with pytest.raises(ValueError, match="is a published agent already; name the folder of a run"):
        publish_agent(out, tmp_path / "b")
    with pytest.raises(ValueError, match="is there and is not a published agent; name another folder with --out"):
        publish_agent(run, run)
    assert (run / "checkpoints").exists()
    with pytest.raises(FileNotFoundError, match="is not a run"):
        publish_agent(tmp_path / "nowhere", tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_damaged_weights_are_refused(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "a"
    publish_agent(run, out)
    weights = out / "weights.safetensors"
    whole = weights.read_bytes()
    for damaged in (whole[:-4], whole[:-1] + bytes([whole[-1] ^ 1]), b""):
        weights.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"weights\.safetensors is truncated or altered: its checksum"):
            load_agent(out)
    weights.write_bytes(whole)
    config = json.loads((out / "config.json").read_text())
    config["agent"]["units"] = 32
    (out / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"the weights do not fit the agent of config\.json"):
        load_agent(out)


def published(run: Path, out: Path) -> Path:
    """An agent with all that can be published."""
    evaluated(run, 10)
    publish_agent(run, out)
    return out


@pytest.mark.parametrize("name", ["config.json", "versions.json", "metrics.jsonl", "evaluation/trials.parquet"])
def test_every_published_file_is_verified(run: Path, tmp_path: Path, name: str) -> None:
    out = published(run, tmp_path / "agent")
    assert check_published(out) == []
    whole = (out / name).read_bytes()
    (out / name).write_bytes(whole + b"\n")  # still valid JSON
    (found,) = check_published(out)
    assert (found.path, found.damage) == (out / name, True)
    assert "its checksum is not that of published.json" in found.what
    (out / name).unlink()
    (found,) = check_published(out)
    assert (found.path, found.what) == (out / name, "it is missing")


def test_what_was_not_published_is_said_and_is_no_damage(run: Path, tmp_path: Path) -> None:
    out = published(run, tmp_path / "agent")
    (out / "README.txt").write_text("mine")
    (stray,) = check_published(out)
    assert (stray.path.name, stray.damage) == ("README.txt", False)


def test_published_names_are_those_of_the_package(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(agents, "SHIPPED", tmp_path / "package" / "agents")
    with pytest.raises(ValueError, match="unknown published agent 'b'; none has been published"):
        find_agent(Path("published/b"))
    for name in ("b", "a"):
        publish_agent(run, agents.SHIPPED / name)
    (agents.SHIPPED / "not an agent").mkdir()
    assert find_agent(Path("published/b")) == agents.SHIPPED / "b"
    assert is_published(agents.SHIPPED / "b")
    with pytest.raises(ValueError, match="unknown published agent 'c'; choose a, b"):
        find_agent(Path("published/c"))
    assert find_agent(Path("runs/c")) == Path("runs/c")
    Path("published/b").mkdir(parents=True)  # a folder of this name is what was meant
    assert find_agent(Path("published/b")) == Path("published/b")
