"""Every task and setting says what it is, and the guide to a fifth task is true."""

import ast
import inspect
import re
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path

import fifth_task
import pytest
from task_cases import KINDS

from gnomon.lab.tasks import ReadySetGo, Task


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_task_and_settings_are_documented(kind: type[Task]):
    assert kind.__doc__, f"{kind.__name__} needs a docstring that says what the subject has to do"
    assert not kind.__doc__.startswith(f"{kind.__name__}("), f"{kind.__name__} has only dataclass's own docstring"
    documented = {name for owner in kind.__mro__ if issubclass(owner, Task) for name in documented_settings(owner)}
    missing = {field.name for field in fields(kind)} - documented
    assert not missing, f"settings of {kind.__name__} without a docstring below them: {sorted(missing)}"


def documented_settings(owner: type[Task]) -> list[str]:
    """Names of the class's own settings that are followed by a string."""
    (definition,) = ast.parse(inspect.getsource(owner)).body
    assert isinstance(definition, ast.ClassDef)
    return [
        statement.target.id
        for statement, following in pairwise(definition.body)
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        and isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        and isinstance(following.value.value, str)
    ]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Undocumented(ReadySetGo):
    """A task with a setting that says nothing about itself."""

    secret: int = 0


def test_an_undocumented_setting_is_noticed():
    with pytest.raises(AssertionError, match="secret"):
        test_task_and_settings_are_documented(Undocumented)


# docs/adding-a-task.md shows the fifth task


GUIDE = Path(__file__).parents[2] / "docs" / "adding-a-task.md"


def test_the_guide_is_true(capsys: pytest.CaptureFixture[str]):
    task, trial_run = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), flags=re.DOTALL)
    assert task == Path(fifth_task.__file__).read_text()
    assert len(task.splitlines()) < 45
    names = dict(vars(fifth_task))
    exec(trial_run, names)
    assert "delayed_look" in capsys.readouterr().out
