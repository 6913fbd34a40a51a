"""The page's sections on where time is kept, in the units or in the gaze, and on the variants of the agent."""

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from gnomon.analysis.variants import Variant, Variants
from gnomon.report.claims import LEARNED, learned, slopes
from gnomon.report.figures.gaze import PHASE_LOOKS, draw_mean_paths, draw_movement, draw_single_paths
from gnomon.report.figures.performance import draw_learning_curves, words
from gnomon.report.figures.units import draw_component, draw_decoder, draw_interval_key, draw_trajectories
from gnomon.report.figures.variants import draw_variants, variants_panels
from gnomon.report.gallery import Gallery
from gnomon.report.page import Figure, Section, Table
from gnomon.report.sections import MOST_COLOURS, chief_panels, chief_rows, missing
from gnomon.report.study import Findings, Study
from gnomon.report.wording import count, listed, mean, number, over_seeds, sentence, share, shares_over_seeds

EVENTS = {"ready": "Ready", "set": "Set"}
WITH_KEY = (5.9, 3.8)  # inches, of a panel with the key of the sample intervals beside it
SQUARE = (4.6, 4.6)


def units(study: Study, gallery: Gallery) -> Section:
    def drawing(draw: Callable[..., None], event: str, key: bool) -> Callable[[Axes, Findings], None]:
        def on(axes: Axes, found: Findings) -> None:
            assert found.population is not None
            draw(axes, found.population, event)
            if key:
                draw_interval_key(axes, [t.sample_interval for t in found.population.trajectories])

        return on

    def plane(axes: Axes, found: Findings) -> None:
        assert found.population is not None
        draw_trajectories(axes, found.population)
        draw_interval_key(axes, [t.sample_interval for t in found.population.trajectories])

    def panels(kind: str, draw: Callable[..., None], key: bool, alternative: str) -> tuple:
        return tuple(
            image
            for event, name in EVENTS.items()
            for image in chief_panels(
                study, gallery, f"{kind}-{event}", lambda f: f.population is not None, drawing(draw, event, key),
                f"{alternative} from {name} on", WITH_KEY if key else None,
            )
        )  # fmt: skip

    figures = (
        Figure(
            panels("component", draw_component, True, "First principal component"),
            "The first principal component in time",
            "Trial averages, one line per sample interval, from Ready (first) and from Set (last) on. Lines that "
            "climb together are a clock; lines that fan out from Set on run at a speed that the sample interval sets.",
            "the first component of the LSTM's cell state and of the feedforward agent's activations, aligned to "
            "Ready and to Set.",
        ),
        Figure(
            chief_panels(
                study,
                gallery,
                "trajectories",
                lambda f: f.population is not None,
                plane,
                "Population trajectories",
                WITH_KEY,
            ),
            "Trajectories of the population",
            "The same averages in the plane of the first two components, with the events marked.",
            "draws the first component over time; the plane is added here.",
        ),
        Figure(
            panels("decoder", draw_decoder, False, "Elapsed time decoded from the units"),
            "Elapsed time read from the units",
            "A linear decoder tested on trials it never saw, mean and s.d.; on the dashed line it is right. Chance is "
            "the same decoder with times shuffled within each trial.",
            "has no decoder; it is the numeric companion of its picture.",
        ),
    )
    text, rows = [], []
    for family in study.chiefs:
        seen = [each.population for each in study.of(family) if each.population is not None]
        if seen:
            r2 = {event: [p.decoder(event).r2 for p in seen] for event in EVENTS}
            first = [float(p.explained_variance[0]) for p in seen]
            text.append(
                f"{sentence(words(family.name))}: from its {seen[0].n_units} {seen[0].units} units, the time since "
                f"Ready can be read with R² = {over_seeds(r2['ready'])}, that since Set with {over_seeds(r2['set'])}. "
                f"Its first component holds {shares_over_seeds(first)} of the variance from Ready to the response."
            )
    for _, found in chief_rows(study):
        if found.population is not None:
            decoders = [found.population.decoder(event) for event in EVENTS]
            cells = [
                cell
                for decoder in decoders
                for cell in (
                    f"{number(decoder.r2)} ({number(decoder.chance_r2)})",
                    f"{number(decoder.absolute_error, 1)} ({number(decoder.chance_absolute_error, 1)})",
                )
            ]
            rows.append((found.name, f"{len(found.population.trials):,}", *cells))
    header = (
        "agent", "trials", "R² since Ready (chance)", "error, frames (chance)", "R² since Set (chance)",
        "error, frames (chance)",
    )  # fmt: skip
    note = "Only trials that were recorded and answered after Set."
    tables = (Table("Decoding elapsed time", header, tuple(rows), note),) if rows else ()
    return Section("6. Units", (*text, *missing(study, "units")), figures if rows else (), tables)


def gaze(study: Study, gallery: Gallery) -> Section:
    seen = [(family, found) for family, found in chief_rows(study) if found.gaze is not None]

    def movement(axes: Axes, found: Findings) -> None:
        assert found.gaze is not None
        draw_movement(axes, found.gaze, "travelled")

    def longest_alone(axes: Axes, found: Findings) -> None:
        assert found.gaze is not None
        draw_single_paths(axes, found.gaze, found.gaze.intervals[-1].sample_interval)

    paths = []
    for _, found in seen:
        result = found.gaze
        assert result is not None

        def on(axes: Axes, result=result) -> None:
            draw_mean_paths(axes, result)
            draw_interval_key(axes, [each.sample_interval for each in result.intervals])

        alternative = f"Mean gaze path on the monitor, {found.name}"
        paths.append(
            gallery.panel(f"gaze-{found.name}", [study.prints[found.name]], on, alternative, found.name, WITH_KEY)
        )

    def has(found: Findings) -> bool:
        return found.gaze is not None

    figures = (
        Figure(
            tuple(paths),
            "Mean gaze on the monitor",
            "One path per sample interval from Ready on, on a drawing of the monitor; marks are where the gaze was at "
            "Ready and at Set. A path that is walked at the same pace whatever the interval is a clock in the world.",
            "the feedforward agent moves its gaze along a path that tells the time; several seeds are shown.",
        ),
        Figure(
            chief_panels(study, gallery, "single-paths", has, longest_alone, "Single trials' gaze paths", SQUARE),
            "Single trials of the longest interval",
            "Grey: the first trials; coloured: the mean over all of them. Trials that lie on the mean are stereotyped.",
            "shows mean trajectories.",
        ),
        Figure(
            chief_panels(study, gallery, "movement", has, movement, "Distance travelled per frame"),
            "How far the gaze travels per frame waited",
            "In monitor widths, while waiting for Set and after it. An agent with a clock in its head may keep still.",
            "does not measure it.",
        ),
    )
    text, rows = [], []
    for family in study.chiefs:
        moved = [each.gaze.overall[0] for each in study.of(family) if each.gaze is not None]
        if moved:
            text.append(
                f"{sentence(words(family.name))}: between Ready and Set the gaze moves in "
                f"{shares_over_seeds([m.share_moved for m in moved])} of the frames, "
                f"{over_seeds([m.travelled for m in moved], 3)} monitor widths per frame; the mean path explains "
                f"{shares_over_seeds([m.stereotypy for m in moved])} of where it is."
            )
    for _, found in seen:
        assert found.gaze is not None
        for each in found.gaze.overall:
            rows.append(
                (
                    found.name, PHASE_LOOKS[each.phase][0], number(each.travelled, 3),
                    share(each.share_moved),
                    number(each.spread, 3), share(each.stereotypy), share(each.share_off_monitor),
                )
            )  # fmt: skip
    header = ("agent", "phase", "travelled per frame", "moves in", "spread", "mean path explains", "off the monitor")
    note = "Distances in monitor widths. Spread: mean distance of single trials from the mean path at the same frame."
    tables = (Table("Gaze while waiting", header, tuple(rows), note),) if rows else ()
    return Section("7. Gaze", (*text, *missing(study, "gaze")), figures if rows else (), tables)


def variants(study: Study, gallery: Gallery) -> Section:
    shown = [(family, study.middle(family)) for family in study.families]
    result = Variants(
        study.chiefs[0].members[0].task.name,
        tuple(Variant(family.name, found.n_trials, found.production) for family, found in shown),
    )

    def build() -> Drawing:
        figure, axes = variants_panels(len(shown))
        draw_variants(axes, result)
        return figure

    prints = [study.prints[found.name] for _, found in shown]
    image = gallery.figure("variants", prints, build, "Production panels of every agent")
    figures = [
        Figure(
            (image,),
            "Production of every agent",
            "As in section 2, each family by its seed in the middle. Points on the dashed line are perfect; a level "
            "row of points is an agent that ignores the interval.",
            "other sizes, controllers and 10-step RL change little about what is learned.",
        )
    ]
    curves = {name: curve.over_frames for name, curve in list(study.learning.items())[:MOST_COLOURS]}
    if len(curves) > len(study.chiefs):
        prints = [study.prints[f"learning-{name}"] for name in curves]
        drawn = gallery.panel(
            "learning-variants", prints, lambda axes: draw_learning_curves(axes, curves), "Reward rate of every family",
            size=(6.4, 4.4),
        )  # fmt: skip
        figures.append(
            Figure(
                (drawn,), "Reward rate of every agent", "As in section 1.", "shows learning curves of its two agents."
            )
        )
    rows = []
    for family in study.families:
        found = study.of(family)
        frames = mean([member.frames / 1e6 for member in family.members if member.frames is not None])
        errors = [each.production.error.rmse for each in found if each.production is not None]
        rows.append(
            (
                words(family.name), str(len(found)), number(frames, 1),
                shares_over_seeds([f.share_within for f in found]),
                over_seeds(slopes(found)), over_seeds(errors, 1), "yes" if learned(found) else "no",
            )
        )  # fmt: skip
    able = [words(family.name) for family in study.families if learned(study.of(family))]
    text = (
        f"{len(able)} of {count(len(study.families), 'kind')} of agent reach the criterion, {share(LEARNED)} of "
        f"trials within the tolerance{': ' + listed(able) if able else ''}.",
    )
    header = ("agent", "seeds", "million frames", "within tolerance", "slope", "r.m.s. error, frames", "criterion")
    return Section("8. Variants", text, tuple(figures), (Table("Every agent", header, tuple(rows)),))
