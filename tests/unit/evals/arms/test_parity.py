"""On the generated corpus, a tenth of which is said again, every hive finds what one memory finds, with the same scores.

`HIVE_CORPORA=10` generates so many.
"""

import os
from dataclasses import replace
from typing import Any

import pytest

from hive_mind.evals.arms import DEALS
from hive_mind.evals.datasets import Document, LabelledQuestion, Scope
from hive_mind.evals.experiments import Arm, Fault
from hive_mind.evals.generating import generate
from hive_mind.ranking.pipeline import RankingSettings
from tests.cross_encoders import Reading, looked_at_by
from tests.sampled import thorough, usually
from tests.unit.evals.arms.notes import drawn, scope_of, told

CORPORA = int(os.environ.get("HIVE_CORPORA", "1"))
SOME = slice(None, None, 9)
HIVES = [
    Arm("flat", 6),
    Arm("federated", 6, groups=3),
    Arm("sharded", 6, replicas=2),
    Arm("routed", 6, fan_out=6),
    *(Arm(kind, 6, groups, place="simulator") for kind, groups in (("flat", 0), ("federated", 3), ("sharded", 0))),
]


# The ways to deal, below, show those of every place.
OF_EACH_KIND = HIVES[3:]


@pytest.fixture(scope="module", params=range(1, CORPORA + 1))
def scope(request: pytest.FixtureRequest) -> Scope:
    (only,) = generate(200, 6, request.param).scopes
    assert len({document.text for document in only.documents}) < len(only.documents)
    return only


@pytest.mark.parametrize("deal", usually(DEALS, "random"))
def test_however_it_is_dealt_every_hive_finds_what_one_memory_finds(scope: Scope, deal: str):
    alone = told(Arm(), scope, "hybrid", asked=SOME)

    for arm in HIVES:
        shared = told(replace(arm, deal=deal), scope, "hybrid", asked=SOME)
        assert shared.scored == alone.scored, arm
        assert shared.documents == alone.documents, arm
        assert shared.learned.facts == alone.learned.facts


# "hybrid", above, ranks by both of the others.
@pytest.mark.parametrize("mode", usually(["recent", "lexical", "semantic"], "recent"))
def test_however_it_is_asked_every_hive_finds_what_one_memory_finds(scope: Scope, mode: str):
    alone = told(Arm(), scope, mode, asked=SOME)

    for arm in OF_EACH_KIND:
        assert told(arm, scope, mode, asked=SOME).scored == alone.scored, arm


PLAIN = RankingSettings(second_hop=False)
# With how many rounds of questions each takes.
FURTHER = {
    "second hop": (RankingSettings(), 2),
    "feedback": thorough(RankingSettings(second_hop=False, expansion="feedback"), 2),
    # What finds the same together is shown with every other idea, below.
    "all at once": thorough(looked_at_by(Reading(), second_hop=True, expansion="feedback"), 3),
}


def messages_of(scope: Scope, agents: int, ranking: RankingSettings) -> tuple[int, int]:
    """Messages without these settings and with them; every hive finds what one memory finds, also where messages are lost."""
    few = slice(1, None, 20)
    once, alone = (told(Arm(), scope, "hybrid", asked=few, ranking=one) for one in (PLAIN, ranking))
    assert once.scored != alone.scored
    lossy, sharded = Arm("sharded", agents, place="simulator"), Arm("sharded", agents)
    more = 0
    for arm in (Arm("flat", agents), Arm("federated", agents, groups=5), sharded, lossy):
        fault = Fault(loss=0.05) if arm is lossy else Fault()
        shared = told(arm, scope, "hybrid", asked=few, ranking=ranking, fault=fault)
        reached = [place for place, outcome in enumerate(shared.outcomes) if outcome.cost.completeness == 1.0]
        assert [shared.scored[place] for place in reached] == [alone.scored[place] for place in reached], arm
        assert len(reached) == len(alone.scored) or fault.loss, arm
        if arm is sharded:
            more = sum(shared.messages)
    return sum(told(sharded, scope, "hybrid", asked=few, ranking=PLAIN).messages), more


@pytest.mark.parametrize(("further", "rounds"), FURTHER.values(), ids=FURTHER)
@pytest.mark.parametrize("agents", [10, thorough(100)])
def test_asked_further_every_hive_finds_what_one_memory_finds_for_more_rounds_also_where_messages_are_lost(
    scope: Scope, agents: int, further: RankingSettings, rounds: int
):
    written = replace(scope, documents=tuple(replace(document, speaker="") for document in scope.documents))

    plain, more = messages_of(written, agents, further)

    assert plain < more < (rounds + 1) * plain


@pytest.mark.parametrize("agents", [10, thorough(100)])
def test_looked_at_again_every_hive_finds_what_one_memory_finds_in_no_more_rounds_also_with_losses(scope: Scope, agents: int):
    plain, fetched = messages_of(scope, agents, looked_at_by(Reading()))

    assert plain <= fetched < 2 * plain


# What "drawn" has of English, said in languages with grams, without spaces, and in two at once.
IN_MANY_LANGUAGES = (
    "Die Wasserpumpe in Halle sieben leckt seit Montag. · Das Ventil der Pumpe ist rot. · Otto repariert die Pumpen der Fähre. · "
    "The red valve of the pump in hall seven leaks. · Ines opens the ferry at nine. · Насос в седьмом зале протекает. · "
    "Отто чинит насосы парома. · المضخة في القاعة السابعة تسرب الماء · 七号大厅的水泵漏水。 · ห้องโถงเจ็ดมีปั๊มน้ำรั่ว · "
    "हॉल सात का पंप टपकता है। · Pompa din sala șapte curge. · Yedinci salondaki pompa su sızdırıyor. · "
    "Otto said: 'Die Pumpe ist kaputt', and the насос was new. · Pumpe 7 · Ventil rot"
).split(" · ")
ASKED = ["Welche Pumpe leckt?", "Which pump leaks?", "где протекает насос", "Pumpen", "水泵", "ปั๊มน้ำ", "पंप", "المضخات", "pompası"]


def test_in_whatever_languages_it_was_learned_and_asked_every_hive_finds_what_one_memory_finds():
    texts = scope_of(IN_MANY_LANGUAGES, ASKED)
    alone = told(Arm(), texts, "lexical")
    assert all(alone.facts)

    for arm in OF_EACH_KIND:
        assert told(arm, texts, "lexical").scored == alone.scored, arm


EVERY_IDEA: dict[str, Any] = {"second_hop": True, "expansion": "feedback", "neighbour_weight": 0.4, "rerank": 20}
NONE = {"second_hop": False, "expansion": "none", "neighbour_weight": 0.0, "rerank": 0}


@pytest.fixture(scope="module")
def of_every_kind(scope: Scope) -> Scope:
    """A conversation of two, where neighbours count, and written texts, which lead on by names and by identifiers."""
    talk = drawn()
    written = [replace(document, speaker="", before="", said_at="") for document in scope.documents]
    log = [
        replace(written[0], id=f"log{n}", text=text)
        for n, text in enumerate(("INC-9037 opened: ermine-7 is dark.", "A fuse and ermine-7 is back."))
    ]
    asked = ("What did it take to end INC-9037?", "Which pump did I say I wanted for my hall?")
    questions = (*talk.questions[:4], *scope.questions[::30], *(LabelledQuestion(text, text, {}) for text in asked))
    return Scope("of every kind", (*talk.documents, *written, *log, *chat_with_an_assistant()), questions)


def chat_with_an_assistant() -> list[Document]:
    """Short messages and long ones, so that lengths differ much, and between members too."""
    said, before = [], ""
    for n in range(12):
        speaker = "assistant" if n % 2 else "user"
        text = f"Pump {n}: {'the hall needs a pump that runs dry. ' * 5 * n}" if n % 2 else f"I want pump {n} for my hall."
        said.append(Document(f"chat{n}", text, "chat", speaker=speaker, before=before))
        before = f"{speaker}: {text}"
    return said


@pytest.mark.parametrize("agents", [10, thorough(100)])
def test_with_every_idea_at_once_every_hive_finds_what_one_memory_finds_also_with_losses(of_every_kind: Scope, agents: int):
    reading = Reading()
    alone = told(Arm(), of_every_kind, "hybrid", ranking=looked_at_by(reading, **EVERY_IDEA))
    for idea, off in NONE.items():
        without = told(Arm(), of_every_kind, "hybrid", ranking=looked_at_by(reading, **(EVERY_IDEA | {idea: off})))
        assert without.scored != alone.scored, idea
        assert idea != "second_hop" or without.facts[-2] != alone.facts[-2], "by identifiers"

    for kind, groups in (("flat", 0), ("federated", 5), ("sharded", 0)):
        for fault in (Fault(), Fault(loss=0.05)):
            arm = Arm(kind, agents, groups, place="simulator" if fault.loss else "in-process")
            shared = told(arm, of_every_kind, "hybrid", ranking=looked_at_by(reading, **EVERY_IDEA), fault=fault)
            reached = [place for place, outcome in enumerate(shared.outcomes) if outcome.cost.completeness == 1.0]
            assert [shared.scored[place] for place in reached] == [alone.scored[place] for place in reached], arm
            assert len(reached) == len(alone.scored) or fault.loss, arm
            assert reached, arm
