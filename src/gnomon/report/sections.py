"""The page's sections on behaviour: learning, production, generalisation.

Every word about a result is made from its numbers. A caption says how to read the figure and what the paper found.
"""

from collections.abc import Callable, Iterator

from matplotlib.axes import Axes

from gnomon.report.claims import LEARNED, learned, slopes
from gnomon.report.figures.generalisation import draw_generalisation
from gnomon.report.figures.performance import (
    draw_bias_variance,
    draw_histograms,
    draw_learning_curves,
    draw_production,
    words,
)
from gnomon.report.gallery import Gallery
from gnomon.report.page import Figure, Image, Section, Table
from gnomon.report.participants import Family
from gnomon.report.study import Findings, Study
from gnomon.report.wording import count, mean, number, over_seeds, sentence, share, shares_over_seeds, within

MOST_COLOURS = 12  # agents that can be told apart in one panel
LAST = 0.05  # share of the training that counts as its end


def chief_panels(
    study: Study,
    gallery: Gallery,
    kind: str,
    has: Callable[[Findings], bool],
    draw: Callable[[Axes, Findings], None],
    alternative: str,
    size: tuple[float, float] | None = None,
) -> tuple[Image, ...]:
    """The same panel for every family looked at closely that has the result, of its seed in the middle."""
    images = []
    for family in study.chiefs:
        found = study.middle(family)
        if has(found):
            title = words(family.name) if len(family.members) == 1 else f"{words(family.name)} ({found.name})"
            more = {} if size is None else {"size": size}
            images.append(
                gallery.panel(
                    f"{kind}-{family.name}",
                    [study.prints[found.name]],
                    lambda axes, found=found: draw(axes, found),
                    f"{alternative}, {title}",
                    title,
                    **more,
                )
            )
    return tuple(images)


def chief_rows(study: Study) -> Iterator[tuple[Family, Findings]]:
    """Every member of the families looked at closely."""
    for family in study.chiefs:
        for found in study.of(family):
            yield family, found


def missing(study: Study, analysis: str) -> tuple[str, ...]:
    """A sentence for each participant whose analysis could not be done."""
    reasons = [(found.name, dict(found.missing).get(analysis)) for _, found in chief_rows(study)]
    return tuple(f"Not done for {name}: {reason}." for name, reason in reasons if reason is not None)


# 1 --------------------------------------------------------------------------------------------------------


def learning(study: Study, gallery: Gallery) -> Section:
    chiefs = [family for family in study.chiefs if family.name in study.learning]
    text = [learning_words(study, family) for family in chiefs]
    text += [
        f"{sentence(words(f.name))}: no metrics of its training are at hand." for f in study.chiefs if f not in chiefs
    ]
    figures = []
    if chiefs:
        prints = [study.prints[f"learning-{family.name}"] for family in chiefs]
        over_frames = {family.name: study.learning[family.name].over_frames for family in chiefs}
        over_minutes = {family.name: study.learning[family.name].over_minutes for family in chiefs}
        images = (
            gallery.panel("learning-frames", prints, lambda axes: draw_learning_curves(axes, over_frames),
                          "Reward rate over frames of training", "Over frames"),
            gallery.panel("learning-minutes", prints, lambda axes: draw_learning_curves(axes, over_minutes),
                          "Reward rate over minutes of training", "Over minutes"),
        )  # fmt: skip
        figures.append(
            Figure(
                images,
                "Reward rate over training",
                "The line is the mean over seeds, the band one s.d. on either side; with several seeds each has a thin "
                "line of its own. Curves end where the shortest training of a family ends.",
                "both agents learn the task (mean and s.d. of 15 seeds).",
            )
        )
    if study.live is not None:
        who, curves = study.live
        name = f"{words(who.controller)}, live"
        live = gallery.panel(
            "learning-live", [study.prints["live"]],
            lambda axes: draw_learning_curves(axes, {name: curves.over_minutes}),
            "Reward rate over minutes of the training on this machine", "On this machine",
        )  # fmt: skip
        text.append(
            f"A training from nothing on this machine ({words(who.controller)}, seed {who.config.seed}): "
            f"{(who.frames or 0) / 1e6:.1f} million frames in {who.minutes or 0:.1f} minutes; its reward rate went "
            f"from {number(curves.over_minutes.mean[0], 3)} to {number(curves.over_minutes.mean[-1], 3)} rewards per "
            "1,000 frames."
        )
        figures.append(
            Figure(
                (live,),
                "A short training, live",
                "The first minutes of learning: a gaze that wanders at random is seldom rewarded, so the curve begins "
                "near zero. The agents above were trained for longer.",
                "not shown; its agents were trained with 200 actors.",
            )
        )
    return Section("1. Learning", tuple(text), tuple(figures))


def learning_words(study: Study, family: Family) -> str:
    curve = study.learning[family.name].over_frames
    end = curve.reward_rate[:, -max(1, int(LAST * len(curve.grid))) :].mean(axis=1)
    frames = mean([member.frames / 1e6 for member in family.members if member.frames is not None])
    minutes = mean([member.minutes for member in family.members if member.minutes is not None])
    return (
        f"{sentence(words(family.name))}: {count(len(family.members), 'seed')}, trained for {number(frames, 1)} "
        f"million frames and {number(minutes, 0)} minutes on average. At the end it earned {over_seeds(end)} rewards "
        "per 1,000 frames."
    )


# 2 --------------------------------------------------------------------------------------------------------


def production(study: Study, gallery: Gallery) -> Section:
    def on_means(axes: Axes, found: Findings) -> None:
        assert found.production is not None
        draw_production(axes, found.production)

    def on_histograms(axes: Axes, found: Findings) -> None:
        assert found.production is not None
        draw_histograms(axes, found.production)

    produced = {
        family.name: found
        for family in study.families
        if (found := study.middle(family).production) is not None
    }  # fmt: skip
    shown = dict(list(produced.items())[:MOST_COLOURS])
    prints = [study.prints[study.middle(family).name] for family in study.families]
    figures = (
        Figure(
            chief_panels(study, gallery, "production", lambda f: f.production is not None, on_means, "Mean production"),
            "Production per sample interval",
            "A point is the mean, its bar one s.d. of single trials. On the dashed line production equals the sample; "
            "answers within the grey band are rewarded at the strictest tolerance.",
            "both agents follow the line.",
        ),
        Figure(
            chief_panels(study, gallery, "histograms", lambda f: f.production is not None, on_histograms, "Histograms"),
            "The productions behind the means",
            "Every row is a sample interval, the mark on it the right answer; all rows share one scale.",
            "one hump for each sample interval, which moves to the right as the interval grows.",
        ),
        Figure(
            (
                gallery.panel(
                    "bias-variance", prints, lambda axes: draw_bias_variance(axes, shown),
                    "Bias against spread of every family", size=(6.4, 3.8),
                ),
            ),
            "Where the error comes from",
            "The root mean square error is the distance from the corner, so agents on one arc are equally good. On "
            "the right: noisy; at the top: wrong in the same way every time. Each family by its seed in the middle.",
            "does not draw it; Jazayeri & Shadlen (2010) do, for people, who accept a bias to be less variable.",
        ),
    )  # fmt: skip
    rows = []
    for _, found in chief_rows(study):
        result = found.production
        if result is None:
            rows.append((found.name, f"{found.n_trials:,}", share(0.0), *["–"] * 6))
            continue
        judged = result.n_trials.sum()
        early, late = (float((s * result.n_trials).sum() / judged) for s in (result.share_early, result.share_timeout))
        rows.append(
            (
                found.name, f"{found.n_trials:,}", share(found.share_within), share(early), share(late),
                f"{number(result.line.slope)} ({within(result.line.slope_interval)})",
                number(result.bias_shortest, 1, "+"), number(result.bias_longest, 1, "+"), number(result.error.rmse, 1),
            )
        )  # fmt: skip
    tolerance = study.chiefs[0].members[0].task.base_tolerance
    header = (
        "agent", "trials", f"within {tolerance:g}", "early", "timeout", "slope (95 %)", "bias, shortest",
        "bias, longest", "r.m.s. error",
    )  # fmt: skip
    note = (
        "Fresh lanes, frozen weights, sampled actions. Bias and error in frames (60 a second); intervals by bootstrap."
    )
    text = tuple(production_words(study, family) for family in study.chiefs)
    table = Table("Production, each seed", header, tuple(rows), note)
    return Section("2. Production", text, figures, (table,))


def production_words(study: Study, family: Family) -> str:
    found = study.of(family)
    task = family.members[0].task
    verdict = "has learned the task" if learned(found) else "has not learned the task by the criterion"
    produced = [each.production for each in found if each.production is not None]
    if not produced:
        return f"The {words(family.name)} agent never answered Set in {found[0].n_trials:,} trials."
    shortest, longest = min(task.intervals), max(task.intervals)
    return (
        f"The {words(family.name)} agent {verdict} (at least {share(LEARNED)} of trials within "
        f"{task.base_tolerance:g} frames): {shares_over_seeds([each.share_within for each in found])} of its trials "
        f"are. Its mean production rises by {over_seeds(slopes(found))} frames per frame of sample interval; its bias "
        f"is {over_seeds([each.bias_shortest for each in produced], 1)} frames at {shortest} frames and "
        f"{over_seeds([each.bias_longest for each in produced], 1)} at {longest}."
    )


# 3 --------------------------------------------------------------------------------------------------------


def generalisation(study: Study, gallery: Gallery) -> Section:
    def draw(axes: Axes, found: Findings) -> None:
        assert found.generalisation is not None
        draw_generalisation(axes, found.generalisation)

    figure = Figure(
        chief_panels(
            study,
            gallery,
            "generalisation",
            lambda f: f.generalisation is not None,
            draw,
            "Trained and untrained intervals",
        ),
        "Intervals never trained",
        "Filled points are trained intervals, open ones are not: between them, or outside the grey range. Open marks "
        "on the dashed line mean that the agent times intervals and has not learned a list by heart.",
        "both agents are tested between the trained intervals and beyond them, and generalise.",
    )
    rows, text = [], []
    for family in study.chiefs:
        results = [each.generalisation for each in study.of(family) if each.generalisation is not None]
        if results:
            text.append(
                f"{sentence(words(family.name))}: the slope of mean production is "
                f"{over_seeds([r.trained.slope for r in results])} on trained intervals, "
                f"{over_seeds([r.interpolated.slope for r in results])} between them and "
                f"{over_seeds([r.above.slope for r in results])} above the longest."
            )
    for _, found in chief_rows(study):
        result = found.generalisation
        if result is not None:
            lines = (result.trained, result.interpolated, result.above)
            rows.append((found.name, *(f"{number(each.slope)} ({within(each.slope_interval)})" for each in lines)))
    table = Table("Slope of mean production (95 % bootstrap)", ("agent", "trained", "between", "above"), tuple(rows))
    return Section("3. Generalisation", (*text, *missing(study, "generalisation")), (figure,), (table,))
