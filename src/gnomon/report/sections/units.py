"""What the units do in a trial, and what can be read from them."""

from collections.abc import Callable

from matplotlib.axes import Axes

from gnomon.report.captions import caption_of
from gnomon.report.figures.performance import words
from gnomon.report.figures.units import draw_component, draw_decoder, draw_interval_key, draw_trajectories
from gnomon.report.gallery import Gallery
from gnomon.report.page import Figure, Section, Table
from gnomon.report.panels import WITH_KEY, family_panels, missing, rows_of
from gnomon.report.wording import number, over_seeds, sentence
from gnomon.study.files import Study
from gnomon.study.findings import Findings

EVENTS = {"ready": "Ready", "set": "Set"}


def section(study: Study, gallery: Gallery) -> Section:
    def drawing(draw: Callable[..., None], event: str, key: bool) -> Callable[[Axes, Findings], None]:
        def on(axes: Axes, found: Findings) -> None:
            assert found.population is not None
            draw(axes, found.population, event)
            if key:
                draw_interval_key(axes, [t.sample_interval for t in found.population.aligned_to(event).trajectories])

        return on

    def panels(kind: str, draw: Callable[..., None], key: bool, alternative: str) -> tuple:
        return tuple(
            image
            for event, name in EVENTS.items()
            for image in family_panels(
                study, gallery, f"{kind}-{event}", lambda f: f.population is not None, drawing(draw, event, key),
                f"{alternative} from {name} on", WITH_KEY if key else None,
            )
        )  # fmt: skip

    figures = (
        Figure(
            panels("component", draw_component, True, "First principal component"),
            "The first principal component in time", caption_of(draw_component),
        ),
        Figure(
            panels("trajectories", draw_trajectories, True, "Population trajectories"),
            "Trajectories of the population", caption_of(draw_trajectories),
        ),
        Figure(
            panels("decoder", draw_decoder, False, "Elapsed time decoded from the units"),
            "Elapsed time read from the units", caption_of(draw_decoder),
        ),
    )  # fmt: skip
    shown = [found for _, found in rows_of(study) if found.population is not None]
    text = (
        "A decoder shows that time can be read from the units by a linear rule. It does not show that the agent uses "
        "it. A network before training, shown the same frames, sets the mark: what can be read from it was not "
        "learned.",
        *decoder_words(study),
        *missing(study, "units"),
    )
    tables = (decoder_table(shown),) if shown else ()
    return Section("Units", text, figures if shown else (), tables)


def decoder_words(study: Study) -> list[str]:
    text = []
    for family in study.compared:
        seen = [each for each in study.of(family) if each.population is not None and each.untrained is not None]
        if seen:
            r2 = {
                (event, trained): over_seeds(
                    [(each.population if trained else each.untrained).aligned_to(event).decoder.r2 for each in seen]  # pyright: ignore[reportOptionalMemberAccess]
                )
                for event in EVENTS
                for trained in (True, False)
            }
            text.append(
                f"{sentence(words(family.name))}: R² of the time since Ready is {r2['ready', True]}, before training "
                f"{r2['ready', False]}; since Set {r2['set', True]}, before training {r2['set', False]}."
            )
    return text


def decoder_table(shown: list[Findings]) -> Table:
    rows = []
    for found in shown:
        cells = []
        for event in EVENTS:
            for population in (found.population, found.untrained):
                decoder = None if population is None else population.aligned_to(event).decoder
                cells.append("–" if decoder is None else f"{number(decoder.r2)}, {number(decoder.absolute_error, 1)}")
        rows.append((found.name, *cells))
    header = ("agent", "since Ready", "since Ready, before training", "since Set", "since Set, before training")
    note = "R² of held-out trials, and mean error in frames. Only trials that were recorded and answered after Set."
    return Table("Decoding elapsed time", header, tuple(rows), note)
