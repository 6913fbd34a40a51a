"""How agents were trained, as against the preset `paper`."""

from gnomon.report.disclosure import TITLE, Agents, disclosure
from gnomon.report.gallery import Gallery
from gnomon.report.page import Section
from gnomon.study.files import Study


def section(study: Study, gallery: Gallery) -> Section:
    agents = [Agents(family.name, family.recurrent, family.settings) for family in study.families if family.trained]
    if not agents:
        return Section(TITLE, ("No trained agent took part.",))
    text = (
        "The agents were trained on few cores in minutes, with settings other than the paper's. These change how "
        "fast a solution is found, and may change which one.",
    )
    return Section(TITLE, text, (), (disclosure(agents),))
