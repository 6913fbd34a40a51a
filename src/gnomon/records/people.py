"""People's trials, as the page of `gnomon play` saves them: read, checked, and in the declared schema.

A file is the table itself (CSV) or the whole dataset (zip). What cannot have happened is refused, in one line that
names the file, the row and what is wrong: a table that a hand has changed would be worse than none.
"""

import io
import zipfile
import zlib
from pathlib import Path

import polars as pl

from gnomon.lab.tasks import TASKS, Task
from gnomon.records.trials import OUTCOMES, PRODUCED, schema

ENDINGS = (".csv", ".zip")
TABLE = "_description-trials_data.csv"  # how the table's name ends within a dataset
MOST_FRAMES = 1_000_000  # of an episode: more than four hours


def is_people(asked: str | Path) -> bool:
    """Whether a name is that of a file of people's trials."""
    return Path(asked).suffix.lower() in ENDINGS


def read_people(path: Path) -> pl.DataFrame:
    """The trial table of a person; ValueError if it is not one, or if it tells of things that cannot have happened."""
    raw = read_text_table(path)
    missing = [name for name in ("task", "outcome") if name not in raw.columns]
    if missing:
        raise ValueError(f"{path} is not a trial table: it lacks the columns {', '.join(missing)}")
    names = raw["task"].unique().to_list()
    if len(names) != 1 or names[0] not in TASKS:
        found = ", ".join(map(str, names)) or "none"
        raise ValueError(f"{path}: the tasks are {found}; a table holds trials of one of {', '.join(TASKS)}")
    task = TASKS[names[0]]
    declared = schema(task)
    missing = [name for name in declared if name not in raw.columns]
    if missing:
        raise ValueError(f"{path} is not a table of {task.name}: it lacks the columns {', '.join(missing)}")
    table = raw.select([typed(path, raw[name], kind) for name, kind in declared.items()])
    check(path, table, task)
    return table


def read_text_table(path: Path) -> pl.DataFrame:
    """The table with every cell as text; an empty one is null."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    data = path.read_bytes()
    if path.suffix.lower() == ".zip":
        data = table_of_dataset(path, data)
    try:
        table = pl.read_csv(io.BytesIO(data), infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{path} is not a table (CSV): {error}") from None
    if table.is_empty():
        raise ValueError(f"{path} holds no trials")
    return table


def table_of_dataset(path: Path, data: bytes) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            tables = [name for name in archive.namelist() if name.endswith(TABLE)]
            if len(tables) != 1:
                raise ValueError(f"{path} has {len(tables)} tables named data/*{TABLE}; it must have one")
            return archive.read(tables[0])
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError):  # RuntimeError: it is encrypted, or seems to be
        raise ValueError(f"{path} is not a zip archive, or is damaged") from None


def typed(path: Path, column: pl.Series, kind: pl.DataType) -> pl.Series:
    """A column of text as what the schema declares; the first cell that is something else is named."""
    values = column.replace("", None)
    if kind == pl.Boolean:
        lower = values.str.to_lowercase()
        cast = lower.replace_strict(
            {"true": True, "1": True, "false": False, "0": False}, default=None, return_dtype=kind
        )
        right = "true or false"
    elif kind == OUTCOMES:
        cast = values.cast(OUTCOMES, strict=False)
        right = "one of " + ", ".join(OUTCOMES.categories)
    else:
        cast = values.cast(kind, strict=False)
        right = "a whole number" if kind.is_integer() else "a number"
    wrong = cast.is_null() & values.is_not_null()
    if kind.is_float():
        wrong |= (~cast.is_finite()).fill_null(False)
    if wrong.any():
        row = wrong.arg_max()
        assert row is not None
        raise ValueError(f"{path}, row {row + 1}: {column.name} is {values[row]!r}; it must be {right}")
    return cast.alias(column.name)


def check(path: Path, table: pl.DataFrame, task: type[Task]) -> None:
    """Raise ValueError at the first trial that cannot have happened."""
    answered = pl.col("outcome").is_in(PRODUCED)
    needed = ("lane", "episode", "trial", "sample_interval", "outcome", "reward", "start_frame", "end_frame")
    rules: list[tuple[str, pl.Expr]] = [
        *((f"{name} is missing", pl.col(name).is_not_null()) for name in needed),
        *((f"{name} is below 0", pl.col(name) >= 0) for name in ("lane", "episode", "trial", "start_frame")),
        ("sample_interval is below 1 frame", pl.col("sample_interval") >= 1),
        ("end_frame lies before start_frame", pl.col("end_frame") >= pl.col("start_frame")),
        (f"end_frame is above {MOST_FRAMES}", pl.col("end_frame") <= MOST_FRAMES),
    ]
    for event in task.events:
        within = pl.col(f"{event}_frame").is_between(pl.col("start_frame"), pl.col("end_frame"))
        rules.append((f"{event}_frame lies outside its trial", within))
    production, sample = pl.col("production_interval"), pl.col("sample_interval")
    if task.production_bounds is not None:
        started = f"{task.production_bounds[0]}_frame"
        near = (production - sample).abs() < pl.col("tolerance")
        rules += [
            ("a trial has a production_interval exactly if it was answered", production.is_not_null() == answered),
            ("production_interval is below 0", production >= 0),
            ("tolerance is missing or not above 0", (pl.col("tolerance") > 0).fill_null(False)),
            ("the outcome is not what tolerance and times say", ~answered | (near == (pl.col("outcome") == "correct"))),
            (f"production_interval is not end_frame - {started}", production == pl.col("end_frame") - pl.col(started)),
        ]
    else:
        rules.append(("a choice has no production_interval", production.is_null()))
    if task.sample_bounds is not None and set(task.sample_bounds) <= set(task.events):
        begin, end = (f"{event}_frame" for event in task.sample_bounds)
        rules.append((f"{end} - {begin} is not sample_interval", pl.col(end) - pl.col(begin) == sample))
    before = pl.col("end_frame").shift(1).over("lane", "episode", order_by="trial")
    rules.append(("a trial begins before the one before it has ended", pl.col("start_frame") > before))
    rules.append(("two trials have the same number", ~pl.struct("lane", "episode", "trial").is_duplicated()))
    for complaint, rule in rules:
        broken = table.select((~rule).fill_null(False)).to_series()
        if broken.any():
            row = broken.arg_max()
            assert row is not None
            raise ValueError(f"{path}, row {row + 1}: {complaint}; the table must be as `gnomon play` has saved it")
