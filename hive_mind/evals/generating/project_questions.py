"""Questions about a project, each with its labels: documents that answer or mislead, words an answer must have and must not."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from hive_mind.evals.generating.drafts import Draft, DraftTurn, Intent
from hive_mind.evals.generating.values import core
from hive_mind.evals.generating.words import Attribute, Discovery, ProjectWords


@dataclass(frozen=True, slots=True)
class ValueTurn:
    """A turn that gives an attribute its value."""

    turn: DraftTurn
    value: str
    attribute: Attribute


@dataclass(frozen=True, slots=True)
class Asks:
    """Words questions about one project."""

    chance: Random
    words: ProjectWords
    name: str

    def plain(self, category: str, statement: ValueTurn, twin: ValueTurn | None = None) -> Draft:
        misleading = [twin] if twin else []
        return self._asking(category, statement, misleading)

    def near_duplicate(self, statement: ValueTurn, twin: ValueTurn) -> Draft:
        """The same attribute of a namesake is said in the same words."""
        return self._asking("near-duplicate", statement, [twin], intent="adversarial")

    def current(self, history: Sequence[ValueTurn], twin: ValueTurn) -> Draft:
        old = tuple(statement.value for statement in history[:-1])
        return self._asking("current-value", history[-1], [*history[:-1], twin], superseded=old)

    def former(self, history: Sequence[ValueTurn], twin: ValueTurn) -> Draft:
        text = self._of(self.words.former, history[0])
        return self._asking("former-value", history[0], [*history[1:], twin], text)

    def as_of(self, history: Sequence[ValueTurn], which: int, day: str) -> Draft:
        """The value that held on a day: that version is neither the first nor the last."""
        text = self._of(self.words.as_of, history[which], day=day)
        others = [statement for statement in history if statement is not history[which]]
        superseded = tuple(statement.value for statement in history[:which])
        return self._asking("as-of", history[which], others, text, superseded=superseded)

    def contradicted(self, versions: Sequence[ValueTurn]) -> Draft:
        """Two agents say different things, and nobody settled it."""
        values = tuple(statement.value for statement in versions)
        return Draft(
            "contradiction",
            "cross-source",
            self._of(self.words.contradicted, versions[0]),
            [statement.turn for statement in versions],
            required=tuple(map(core, values)),
            acceptable=values,
            answer=f"Some say {values[0]}, others {values[1]}.",
        )

    def recorded(self, statement: ValueTurn, record: DraftTurn, twin: ValueTurn) -> Draft:
        """Said in a chat and written down in the minutes."""
        draft = self._asking("cross-source", statement, [twin], self._of(self.words.recorded, statement), intent="cross-source")
        return _also(draft, record)

    def hop(self, lead: ValueTurn, room: ValueTurn, misleading: Sequence[ValueTurn]) -> Draft:
        """The room of a person that another agent names."""
        text = self.chance.choice(self.words.room_asked).format(name=self.name)
        draft = self._asking("cross-agent", room, misleading, text, intent="cross-source")
        return _also(draft, lead.turn)

    def unknown(self, twin: ValueTurn, namesake: str) -> Draft:
        """Nobody ever said it of this project; of its namesake somebody did."""
        return Draft(
            "unanswerable",
            "adversarial",
            self._of(self.words.unknown, twin),
            distractors=[twin.turn],
            forbidden=(core(twin.value),),
            gap=f"nobody mentions the {twin.attribute.noun} of {self.name}, only that of {namesake}",
        )

    def order(self, what: Sequence[Discovery], turns: Sequence[DraftTurn]) -> Draft:
        """Which of two events came first; the question names them in either order."""
        one, other = self.chance.sample([finding.noun for finding in what], 2)
        text = self.chance.choice(self.words.order).format(name=self.name, one=one, other=other)
        earlier, answer = (what[0].answer,), f"First came {what[0].noun}."
        return Draft("order", "state-lookup", text, turns, required=earlier, acceptable=earlier, answer=answer)

    def why(self, what: Discovery, turn: DraftTurn, other: DraftTurn, other_reason: str) -> Draft:
        text = self.chance.choice(what.asked).format(name=self.name)
        reason = (what.answer,)
        return Draft("why", "why-decision", text, [turn], [other], reason, reason, (other_reason,), answer=turn.text)

    def how(self, what: Discovery, turns: Sequence[DraftTurn], colours: Sequence[str]) -> Draft:
        """A procedure that differs from the namesake's in one word."""
        text = self.chance.choice(what.asked).format(name=self.name)
        required, acceptable = (colours[0],), (f"{colours[0]} {what.answer}",)
        return Draft("how", "how-it-works", text, turns[:1], turns[1:], required, acceptable, (colours[1],), answer=turns[0].text)

    def overview(self, statements: Sequence[ValueTurn], outdated: Sequence[ValueTurn]) -> Draft:
        """Several current values at once, known by several agents."""
        nouns = [one.attribute.noun for one in statements]
        listed = ", ".join(nouns[:-1]) + f" and {nouns[-1]}"
        values = tuple(one.value for one in statements)
        return Draft(
            "synthesis",
            "cross-source",
            self.chance.choice(self.words.overview).format(name=self.name, nouns=listed),
            [one.turn for one in statements],
            [one.turn for one in outdated],
            required=tuple(map(core, values)),
            acceptable=values,
            forbidden=tuple(core(one.value) for one in outdated),
            superseded=tuple(one.value for one in outdated),
            answer="; ".join(f"{noun}: {value}" for noun, value in zip(nouns, values, strict=True)),
        )

    def _of(self, patterns: Sequence[str], statement: ValueTurn, **words: str) -> str:
        return self.chance.choice(patterns).format(noun=statement.attribute.noun, name=self.name, **words)

    def _asking(
        self,
        category: str,
        statement: ValueTurn,
        misleading: Sequence[ValueTurn],
        text: str = "",
        *,
        intent: Intent = "state-lookup",
        superseded: tuple[str, ...] = (),
    ) -> Draft:
        return Draft(
            category,
            intent,
            text or self._of((*statement.attribute.asked, *self.words.unknown[:1]), statement),
            [statement.turn],
            [other.turn for other in misleading],
            required=(core(statement.value),),
            acceptable=tuple(dict.fromkeys((statement.value, core(statement.value)))),
            forbidden=tuple(core(other.value) for other in misleading),
            superseded=superseded,
            answer=statement.value,
        )


def _also(draft: Draft, turn: DraftTurn) -> Draft:
    return replace(draft, relevant=[*draft.relevant, turn])
