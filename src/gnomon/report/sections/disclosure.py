"""What was done that the paper did not do."""

from gnomon.report.disclosure import TITLE, Agents, disclosure
from gnomon.report.gallery import Gallery
from gnomon.report.page import Section
from gnomon.study.files import Study


def section(study: Study, gallery: Gallery) -> Section:
    agents = [Agents(family.name, family.recurrent, family.settings) for family in study.families if family.trained]
    if not agents:
        return Section(TITLE, ("No trained agent took part.",))
    text = (
        "The agents were trained on few cores in minutes, with aids that the paper does not use. What an agent shows "
        "about the solution that it has found can be compared with the paper; how easily it found it cannot.",
    )
    return Section(TITLE, text, (), (disclosure(agents),))
