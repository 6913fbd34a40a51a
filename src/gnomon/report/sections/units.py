"""What the units do in a trial, and what can be read from them."""

from collections.abc import Callable

from matplotlib.axes import Axes

from gnomon.analysis.units import Population, decoder_baseline
from gnomon.report.captions import caption_of
from gnomon.report.figures.performance import words
from gnomon.report.figures.units import draw_component, draw_decoder, draw_trajectories
from gnomon.report.gallery import Gallery
from gnomon.report.page import Figure, Image, Section, Table
from gnomon.report.panels import WITH_KEY, family_figure, family_panels, missing, rows_of, with_key
from gnomon.report.wording import NOTHING, estimated, number, over_seeds, sentence, shares_over_seeds
from gnomon.study.files import Study
from gnomon.study.findings import Findings

EVENTS = {"ready": "Ready", "set": "Set"}
Draw = Callable[[Axes, Population], None]


def section(study: Study, gallery: Gallery) -> Section:
    def aligned(
        kind: str, draw: Callable[[str], Draw], words: str, size: tuple[float, float] | None = None
    ) -> tuple[Image, ...]:
        return tuple(
            image
            for event, name in EVENTS.items()
            for image in family_panels(
                study, gallery, f"{kind}-{event}", populations, draw(event), f"{words}, aligned to {name}", size
            )
        )

    def component(event: str) -> Draw:
        return with_key(lambda axes, result: draw_component(axes, result, event), intervals)

    def decoder(event: str) -> Draw:
        return lambda axes, result: draw_decoder(axes, result, event)

    figures = (
        Figure(
            aligned("component", component, "First principal component", WITH_KEY),
            "The first principal component, aligned to Ready (first) and to Set (last)", caption_of(draw_component),
        ),
        family_figure(
            study, gallery, "trajectories", populations, with_key(draw_trajectories, intervals),
            "Trajectories of the population", "Population trajectories", WITH_KEY,
        ),
        Figure(
            aligned("decoder", decoder, "Elapsed time decoded from the units"),
            "Elapsed time read from the units", caption_of(draw_decoder),
        ),
    )  # fmt: skip
    shown = [found for _, found in rows_of(study) if found.population is not None]
    text = (
        *counter_words(study),
        "A decoder shows that time can be read from the units by a linear rule. It does not show that the agent "
        "learned to keep time there, or that it reads it. The same network before training, shown the same frames, "
        "sets the mark: what can be read from it was not learned.",
        *decoder_words(study),
        *missing(study, "units"),
    )
    tables = (counter_table(shown), decoder_table(shown)) if shown else ()
    return Section("Units", text, figures if shown else (), tables)


def populations(found: Findings) -> Population | None:
    return found.population


def intervals(result: Population) -> list[int]:
    return [each.sample_interval for each in result.trajectories]


def counter_words(study: Study) -> list[str]:
    text = []
    for family in study.compared:
        seen = [each.population for each in study.of(family) if each.population is not None]
        if seen:
            counters = [each.counter for each in seen]
            text.append(
                f"{sentence(words(family.name))}, {seen[0].n_units} {seen[0].units} units: one component of whole "
                f"trials holds {shares_over_seeds([float(each.explained_variance[0]) for each in seen])} of the "
                "variance. On a scale from 0 to 1 it rises by "
                f"{over_seeds([each.risen.value for each in counters])} from Ready to Set, changes by "
                f"{over_seeds([each.fallen.value for each in counters])} from Set to the response, and ends "
                f"{over_seeds([each.distance.value for each in counters])} away from where it began."
            )
    return text


def counter_table(shown: list[Findings]) -> Table:
    rows = []
    for found in shown:
        assert found.population is not None
        each = found.population.counter
        estimates = (each.rise, each.fall, each.turn, each.risen, each.fallen, each.distance, each.order_at_set)
        digits = (2, 2, 1, 2, 2, 2, 2)
        cells = [estimated(one.value, one.interval, d) for one, d in zip(estimates, digits, strict=True)]
        rows.append((found.name, f"{int(each.n_trials.sum()):,}", *cells))
    header = (
        "agent", "trials", "rise", "fall", "peak after Set, frames", "Set minus Ready", "response minus Set",
        "end from start", "order at Set",
    )  # fmt: skip
    note = (
        "Rise, fall and order are rank correlations: with time before and after Set, and of the height at Set with the "
        "sample interval. Heights run from 0, the lowest trial average, to 1, the highest. The sign makes the "
        "component grow from Ready to Set. In brackets: 95 % over lanes."
    )
    return Table("Is the first component a counter?", header, tuple(rows), note)


def decoder_words(study: Study) -> list[str]:
    text = []
    for family in study.compared:
        pairs = [(each.population, each.untrained) for each in study.of(family)]
        seen = [(trained, before) for trained, before in pairs if trained is not None and before is not None]
        if seen:
            ready, ready_before, start, start_before = (
                over_seeds([pair[which].decoder(event).r2 for pair in seen]) for event in EVENTS for which in (0, 1)
            )
            text.append(
                f"{sentence(words(family.name))}: R² of the time since Ready is {ready}, before training "
                f"{ready_before}; since Set {start}, before training {start_before}."
            )
    return text


def decoder_table(shown: list[Findings]) -> Table:
    rows = []
    for found in shown:
        trained, before = found.population, found.untrained
        assert trained is not None
        compared = {each.event: each for each in decoder_baseline(trained, before)} if before is not None else {}
        cells = []
        for event in EVENTS:
            decoder = trained.decoder(event)
            cells.append(f"{number(decoder.r2)}, {number(decoder.absolute_error, 1)}")
            if before is not None:
                base, more = before.decoder(event), compared[event].difference
                cells.append(f"{number(base.r2)}, {number(base.absolute_error, 1)}")
                cells.append(estimated(more.value, more.interval, 2, "+"))
            else:
                cells += [NOTHING, NOTHING]
        rows.append((found.name, *cells))
    header = (
        "agent", "since Ready", "before training", "difference of R² (95 %)", "since Set", "before training",
        "difference of R² (95 %)",
    )  # fmt: skip
    note = (
        "R² and mean error in frames, of trials that the decoder was not fitted to. Only trials that were recorded and "
        "answered after Set. Intervals resample lanes."
    )
    return Table("Decoding elapsed time", header, tuple(rows), note)
