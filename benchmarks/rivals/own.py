"""Gnomon's own trainer with the preset `laptop`: `own.py SECONDS SEED`."""

# pyright: reportMissingImports=false

import tempfile
from dataclasses import replace
from pathlib import Path

from task import LAPTOP, METER, SEED

from gnomon.learn.loop import Trainer
from gnomon.learn.malloc import keep_freed_memory
from gnomon.records.runs import RunFolder

keep_freed_memory()
config = replace(LAPTOP, seed=SEED, learning=replace(LAPTOP.learning, workers=1))
with tempfile.TemporaryDirectory() as folder:
    trainer = Trainer(config, RunFolder(Path(folder)))
take_trials = trainer.source.take_trials


def count_trials():
    trials = take_trials()
    METER.trials(trials.filter(trials["outcome"] != "cut_off")["reward"].to_list())
    return trials


trainer.source.take_trials = count_trials
trainer.round()
METER.rollout = trainer.frames  # of one round: several unrolls
while True:
    METER.acted(METER.rollout)
    trainer.round()
