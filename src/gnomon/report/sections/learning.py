"""Reward rate over training."""

from gnomon.report.captions import caption_of
from gnomon.report.figures.performance import draw_learning_curves, words
from gnomon.report.gallery import Gallery
from gnomon.report.page import Figure, Section
from gnomon.report.wording import count, mean, number, over_seeds, sentence
from gnomon.study.files import Family, Study

LAST = 0.05  # share of the training that counts as its end


def section(study: Study, gallery: Gallery) -> Section:
    shown = [family for family in study.compared if family.name in study.learning]
    text = [
        learning_words(study, family) if family in shown else
        f"{sentence(words(family.name))}: no metrics of its training are at hand."
        for family in study.compared
        if family.trained
    ]  # fmt: skip
    figures = []
    if shown:
        prints = [family.learning or "" for family in shown]
        curves = {family.name: study.learning[family.name] for family in shown}
        over_frames = {name: each.over_frames for name, each in curves.items()}
        over_minutes = {name: each.over_minutes for name, each in curves.items()}
        images = (
            gallery.panel("learning-frames", prints, lambda axes: draw_learning_curves(axes, over_frames),
                          "Reward rate over frames of training", "Over frames"),
            gallery.panel("learning-minutes", prints, lambda axes: draw_learning_curves(axes, over_minutes),
                          "Reward rate over minutes of training", "Over minutes"),
        )  # fmt: skip
        figures.append(Figure(images, "Reward rate over training", caption_of(draw_learning_curves)))
        text.append("Curves end where the shortest training of a family ends. They show the task's own reward.")
    live, curve = study.facts.live, study.live
    if live is not None and curve is not None:
        name = f"{words(live.controller)}, live"
        image = gallery.panel(
            "learning-live", [live.learning], lambda axes: draw_learning_curves(axes, {name: curve.over_minutes}),
            "Reward rate over minutes of the training on this machine", "On this machine",
        )  # fmt: skip
        text.append(
            f"A training from nothing on this machine ({words(live.controller)}, seed {live.seed}): "
            f"{(live.frames or 0) / 1e6:.1f} million frames in {live.minutes or 0:.1f} minutes. Its reward rate went "
            f"from {number(curve.over_minutes.mean[0], 3)} to {number(curve.over_minutes.mean[-1], 3)} rewards per "
            "1,000 frames."
        )
        figures.append(Figure((image,), "A short training, live", caption_of(draw_learning_curves)))
    return Section("Learning", tuple(text), tuple(figures))


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
