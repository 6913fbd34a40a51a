"""How far from the cross do agents look while they time? A row for each evaluation with a recording.

    gnomon evaluate runs/room/feedforward_20deg-0
    python examples/how_much_room_is_used.py runs/room/*/evaluation

From Ready to the response, in trials that were answered after Set: the median and the 95th percentile, over frames, of
the larger of yaw and pitch (degrees either way), and the share of frames in which the gaze is as far as it can turn.
"""

import json
import sys
from pathlib import Path

import numpy as np

from gnomon.analysis.units import completed_trials, cut_out
from gnomon.commands.results import markdown_table
from gnomon.config import RunConfig
from gnomon.lab.optics import GazeLattice
from gnomon.records.recordings import read_recording
from gnomon.records.trials import read_trials


def row(evaluation: Path) -> list[str]:
    """Name, limit, median and 95th percentile in degrees, and share of frames at the limit in percent."""
    config = RunConfig.from_json(json.dumps(json.loads((evaluation / "evaluation.json").read_text())["config"]))
    recording = read_recording(evaluation / "recording.zarr.zip")
    trials = completed_trials(recording, read_trials(evaluation / "trials.parquet"))
    farther = np.maximum(abs(recording["yaw"].values), abs(recording["pitch"].values))  # [lane, frame] degrees
    turned = np.concatenate(cut_out(farther, trials, "ready_frame", "end_frame"))
    lattice = GazeLattice(config.optics)
    at_limit = 100 * np.mean(turned > (lattice.reach - 0.5) * lattice.step_angle)
    middle, far = np.percentile(turned, [50, 95])
    name = evaluation.parent.name
    return [name, f"{config.optics.gaze_limit:.0f}", f"{middle:.0f}", f"{far:.0f}", f"{at_limit:.0f}"]


def main(evaluations: list[Path]) -> None:
    header = ["run", "limit (degrees)", "median", "95 % of frames within", "at the limit (%)"]
    print(markdown_table(header, [row(evaluation) for evaluation in evaluations]), end="")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(str(__doc__).split("\n\n")[1])
    main([Path(argument) for argument in sys.argv[1:]])
