"""The page in a real browser: quiet, playable by keys, true to the published agent, and its clock can be stopped."""

from collections.abc import Iterator
from dataclasses import replace
from math import sqrt
from pathlib import Path

import pytest
from chromium import MANUAL_CLOCK, Chromium, find_chromium, poll

from gnomon.play.export import export, export_agent
from gnomon.play.page import LARGEST_PAGE, page
from gnomon.published.agents import load_agent
from gnomon.records.people import read_people


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with the published LSTM, and the feedforward agent on a coarser lattice, which is faster to look at."""
    if find_chromium() is None:
        pytest.skip("no Chromium or Chrome on this machine: install one, or name it in GNOMON_CHROMIUM")
    agent, config = load_agent(Path("published/feedforward-0"))
    coarse = replace(config, optics=replace(config.optics, gaze_step=40))
    agents = [export_agent(Path("published/lstm-0")), export(agent, coarse, "feedforward-0")]
    path = tmp_path_factory.mktemp("play") / "play.html"
    path.write_text(page(agents))
    return path.as_uri()


@pytest.fixture(scope="module")
def shared(address: str) -> Iterator[Chromium]:
    executable = find_chromium()
    assert executable is not None
    browser = Chromium(executable)
    yield browser
    browser.close()


@pytest.fixture
def browser(shared: Chromium) -> Chromium:
    shared.events.clear()
    shared.resize(1400, 900)
    shared.prefer(color_scheme="light", reduced_motion="no-preference")
    return shared


def test_the_page_opens_from_disk_without_a_word_and_without_a_network(browser: Chromium, address: str):
    browser.open(address)
    browser.wait_for("gnomon.watch.experiment.history.count > 30")
    browser.evaluate("document.getElementById('tab-play').click()")
    browser.wait_for("document.getElementById('display').textContent.includes('60')")
    assert browser.complaints() == []
    assert browser.requests() == [address]
    size = browser.evaluate("document.documentElement.outerHTML.length")
    assert 1_000_000 < size < LARGEST_PAGE


def steps_to_the_middle(browser: Chromium) -> int:
    """Columns from the gaze to the cross; an episode begins level."""
    return browser.evaluate(
        "(({ lattice, laboratory }) => lattice.reach - laboratory.gaze % lattice.side)(gnomon.play)"
    )


def test_a_player_by_keys_earns_a_reward_and_the_saved_table_has_the_trial(
    browser: Chromium, address: str, tmp_path: Path
):
    browser.downloads(tmp_path)
    with browser.before_load(MANUAL_CLOCK):
        browser.open(f"{address}#view=play&practice=0&trials=1&t_s=40&seed=1")
    browser.evaluate("document.getElementById('start').focus()")
    browser.key("Enter")
    browser.evaluate("tick(1)")
    steps = steps_to_the_middle(browser)
    for _ in range(abs(steps)):
        browser.key("ArrowRight" if steps > 0 else "ArrowLeft")
        browser.evaluate("tick(1)")
    browser.evaluate("tick(1)")
    assert browser.evaluate("gnomon.play.laboratory.trials.running")
    browser.key("ArrowUp", "down")  # beside Go, which begins two steps to the right
    browser.evaluate("tick(7)")
    browser.key("ArrowUp", "up")
    browser.evaluate("while (gnomon.play.laboratory.trials.now < gnomon.play.laboratory.trials.due.set + 38) tick(1)")
    browser.key("ArrowRight", "down")
    browser.evaluate("tick(2)")
    browser.key("ArrowRight", "up")
    assert browser.evaluate("gnomon.play.stage") == "done"
    assert browser.evaluate("gnomon.play.dropped") == 0

    assert browser.evaluate("document.activeElement.id") == "save"
    browser.key("Enter")
    browser.evaluate("document.getElementById('save-table').click()")
    for name in ("gnomon-data.zip", "people.csv"):
        saved = tmp_path / name
        poll(saved.exists, f"{name} was never saved")
        (row,) = read_people(saved).to_dicts()
        assert (row["sample_interval"], row["production_interval"], row["outcome"], row["reward"]) == (
            40,
            40,
            "correct",
            1,
        )
    assert browser.complaints() == []


@pytest.mark.parametrize("task", ["ready_set_go", "cued_production", "bisection", "discrimination"])
def test_every_task_can_be_played_with_the_pointer(browser: Chromium, address: str, task: str):
    with browser.before_load(MANUAL_CLOCK):
        browser.open(f"{address}#view=play&practice=1&trials=1&seed=2&task={task}")
    assert browser.evaluate("document.querySelectorAll('#instructions li').length") == 4
    browser.evaluate("document.getElementById('start').click(); tick(2)")
    x, y, width = browser.evaluate(
        "(({ x, y, width }) => [x, y, width])(document.getElementById('screen').getBoundingClientRect())"
    )
    browser.pointer("mouseMoved", x + width / 2, y + width / 2)  # to the cross
    browser.evaluate("tick(30)")
    assert browser.evaluate("gnomon.play.laboratory.trials.running")
    assert browser.evaluate("document.getElementById('button').hidden") is (task != "cued_production")
    browser.evaluate("tick(300)")
    browser.key("Escape")
    assert browser.evaluate("[gnomon.play.stage, document.activeElement.id]") == ["intro", "start"]
    assert browser.complaints() == []


def test_a_finger_moves_the_gaze_and_a_button_is_the_click(browser: Chromium, address: str):
    browser.resize(390, 844)
    with browser.before_load(MANUAL_CLOCK):
        browser.open(f"{address}#view=play&practice=0&trials=1&seed=2&task=cued_production")
    browser.evaluate("document.getElementById('start').click(); tick(2)")
    place = (
        "(({ x, y, width, height }) => [x, y, width, height])(document.getElementById('%s').getBoundingClientRect())"
    )
    x, y, width, _ = browser.evaluate(place % "screen")
    browser.touch((x + width / 2, y + width / 2))  # the cross
    browser.evaluate("tick(30)")
    browser.touch((x + width / 2, y + 0.29 * width))  # the target
    browser.evaluate("tick(30)")
    browser.touch(None)
    x, y, width, height = browser.evaluate(place % "button")
    browser.touch((x + width / 2, y + height / 2))
    browser.touch(None)
    browser.evaluate("tick(1)")
    assert browser.evaluate("(({ due, now }) => due.first_click === now)(gnomon.play.laboratory.trials)")


def test_a_slow_display_is_noticed_and_its_missed_frames_are_counted(browser: Chromium, address: str):
    with browser.before_load(MANUAL_CLOCK):
        browser.open(f"{address}#view=play&practice=0&trials=1&seed=1")
    browser.evaluate("tick(60, 1000 / 30)")
    assert "30 frames a second. The task needs 60" in browser.evaluate("document.getElementById('display').textContent")
    browser.evaluate("document.getElementById('start').click()")
    browser.evaluate("tick(51, 1000 / 30)")
    assert browser.evaluate("[gnomon.play.count, gnomon.play.dropped]") == [100, 50]
    browser.evaluate("tick(1, 5000)")  # the page was hidden for a while: no frames are made up for it
    assert browser.evaluate("gnomon.play.count") == 100


def test_a_fast_display_still_runs_sixty_frames_a_second(browser: Chromium, address: str):
    with browser.before_load(MANUAL_CLOCK):
        browser.open(f"{address}#view=play&practice=0&trials=1&seed=1")
    browser.evaluate("document.getElementById('start').click()")
    browser.evaluate("tick(241, 1000 / 144)")
    assert browser.evaluate("[gnomon.play.count, gnomon.play.dropped]") == [100, 0]


def test_five_hundred_trials_at_full_speed_give_the_published_share(browser: Chromium, address: str):
    browser.open(f"{address}#agent=lstm-0&speed=max&seed=1")
    browser.wait_for("gnomon.watch.experiment.trials.length >= 500", patience=400)
    near = "Math.abs(trial.production_interval - trial.sample_interval) < 8 && trial.production_interval !== null"
    share = browser.evaluate(f"gnomon.watch.experiment.trials.slice(0, 500).filter((trial) => {near}).length / 500")
    published = browser.evaluate("gnomon.watch.agent.spec.share_within")
    assert abs(share - published) < 3.5 * sqrt(published * (1 - published) / 500)


def share_that_follows_the_donor(browser: Chromium, swap: str, address: str) -> float:
    """Of the LSTM's swaps between clearly different intervals: how many answers come nearer to the donor's."""
    browser.open(f"{address}#agent=lstm-0&speed=max&swap={swap}&seed=2")
    swapped = (
        "gnomon.watch.experiment.trials.filter((trial) => trial.donor !== null && trial.production_interval !== null"
        " && Math.abs(trial.donor - trial.sample_interval) > 16)"
    )
    browser.wait_for(f"{swapped}.length >= 60", patience=400)
    nearer = "Math.abs(t.production_interval - t.donor) < Math.abs(t.production_interval - t.sample_interval)"
    return browser.evaluate(f"((all) => all.filter((t) => {nearer}).length / all.length)({swapped})")


def test_a_swapped_memory_moves_the_answer_to_the_donors_interval(browser: Chromium, address: str):
    assert share_that_follows_the_donor(browser, "memory", address) > 0.9
    assert "nearer to the donor" in browser.wait_for("document.getElementById('verdict').textContent")


def test_a_swapped_gaze_leaves_the_answer_of_an_agent_with_a_memory_where_it_was(browser: Chromium, address: str):
    assert share_that_follows_the_donor(browser, "gaze", address) < 0.1


def test_a_link_says_what_is_shown_and_changes_with_it(browser: Chromium, address: str):
    browser.open(f"{address}#agent=feedforward-0&t_s=70&swap=gaze&speed=nonsense&gaze=<b>")
    shown = (
        "[gnomon.watch.agent.name, gnomon.watch.experiment.interval, gnomon.watch.experiment.plan, gnomon.watch.speed]"
    )
    assert browser.evaluate(shown) == ["feedforward-0", 70, {"gaze": "free", "memory": "free", "swap": "gaze"}, 1]
    assert browser.evaluate("document.querySelector('input[name=swap]:checked').value") == "gaze"
    browser.evaluate("document.querySelector('input[name=gaze][value=always]').click()")
    assert "gaze=always" in browser.evaluate("location.hash")
    assert browser.evaluate("gnomon.watch.experiment.held") is not None


def test_a_hand_turns_the_eye_and_a_held_gaze_stays(browser: Chromium, address: str):
    browser.open(f"{address}#agent=lstm-0")
    x, y, width = browser.evaluate(
        "(({ x, y, width }) => [x, y, width])(document.getElementById('monitor').getBoundingClientRect())"
    )
    place = (x + width / 2, y + width / 4)
    gaze = "gnomon.watch.experiment.laboratory.gaze"
    browser.pointer("mousePressed", *place)
    hand = browser.wait_for("gnomon.watch.experiment.hand")
    browser.wait_for(f"{gaze} === {hand}")
    browser.pointer("mouseReleased", *place)
    browser.evaluate("document.querySelector('input[name=gaze][value=always]').click()")
    held = browser.evaluate("gnomon.watch.experiment.held")
    before = browser.evaluate("gnomon.watch.experiment.history.count")
    browser.wait_for(f"gnomon.watch.experiment.history.count > {before + 30}")
    assert browser.evaluate(gaze) == held


def test_it_can_be_watched_by_keyboard_alone_and_begins_at_rest_where_motion_is_unwelcome(
    browser: Chromium, address: str
):
    browser.prefer(reduced_motion="reduce")
    browser.open(f"{address}#agent=lstm-0")
    assert browser.evaluate("gnomon.watch.playing") is False
    focused = []
    for _ in range(7):
        browser.key("Tab")
        focused.append(browser.evaluate("document.activeElement.id || document.activeElement.className"))
    assert focused == ["skip", "tab-watch", "theme", "agent", "interval", "monitor", "run"]
    before = browser.evaluate("gnomon.watch.experiment.history.count")
    browser.key(" ")
    browser.wait_for(f"gnomon.watch.experiment.history.count > {before}")
    browser.key(" ")
    assert browser.evaluate("gnomon.watch.playing") is False
    count = browser.evaluate("gnomon.watch.experiment.history.count")
    browser.evaluate("document.getElementById('step').click(); document.getElementById('back').click()")
    assert browser.evaluate("[gnomon.watch.experiment.history.count, gnomon.watch.cursor]") == [count + 1, count - 1]
    browser.evaluate("gnomon.watch.cursor = null")
    browser.evaluate("while (gnomon.watch.experiment.trials.length < 2) gnomon.watch.experiment.frame()")
    browser.evaluate("document.getElementById('last-trial').click()")  # looks again from where it began
    shown = "gnomon.watch.experiment.history.at(gnomon.watch.cursor).frame === gnomon.watch.experiment.mark.start"
    assert browser.evaluate(shown)
    assert browser.evaluate("document.getElementById('where').textContent").endswith("s ago")


UNNAMED = """
[...document.querySelectorAll("button, select, input, canvas")].filter((part) => !(
  part.getAttribute("aria-label") || part.labels?.length && part.labels[0].textContent.trim() || part.textContent.trim()
)).map((part) => part.id)
"""
CONTRASTS = """
(() => {
  const style = getComputedStyle(document.documentElement);
  const light = (name) => {
    const hex = style.getPropertyValue("--" + name).trim();
    const [r, g, b] = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const pairs = ["ink/card", "soft/card", "soft/page", "orange/card", "warn/card", "on-blue/blue", "card/orange"];
  return Object.fromEntries(pairs.map((pair) => {
    const [one, other] = pair.split("/").map(light);
    return [pair, (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)];
  }));
})()
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_has_a_name_and_can_be_read(browser: Chromium, address: str, scheme: str):
    browser.prefer(color_scheme=scheme)
    browser.open(address)
    assert browser.evaluate(UNNAMED) == []
    low = {pair: ratio for pair, ratio in browser.evaluate(CONTRASTS).items() if ratio < 4.5}
    assert not low, "WCAG asks for 4.5 to 1"


@pytest.mark.parametrize("view", ["watch", "play"])
def test_nothing_is_cut_off_on_a_phone(browser: Chromium, address: str, view: str):
    browser.resize(390, 844)
    browser.open(f"{address}#view={view}")
    assert browser.evaluate("document.documentElement.scrollWidth") <= 390
