"""Security logs of two neighbouring accounts and doors: attempts by person and place, among lines where nothing is wrong."""

from collections.abc import Sequence
from itertools import count
from random import Random

from hive_mind.evals.generating.drafts import Draft, DraftTurn, Story
from hive_mind.evals.generating.narrator import Narrator, SpokenExchange, Subject
from hive_mind.evals.generating.values import Values
from hive_mind.evals.generating.world import World

_TEAM = 3
# Attempts, harmless lines of an account and of its neighbour, and people that pass a door.
_ATTEMPTS, _HARMLESS, _AT_DOOR = 3, (8, 3), (9, 14)
# Agents have the badges from here on, others have higher ones.
_FIRST_BADGE = 20_000


class SecurityPair:
    """One telling of it."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.chance: Random = world.chance("security", number)
        self.words = world.words.security
        self.story = Story()
        domain = self.chance.randrange(world.domains)
        self.team = world.team(domain, _TEAM, self.chance)
        self.narrator = Narrator(world, self.chance, world.words.projects.between, world.words.projects.reactions, domain)
        people = count()
        self.values = Values(world.names, self.chance, lambda: world.outsider(1, number, next(people)))
        self.slot = self.chance.randrange(world.slots)
        self.accounts, self.doors = world.names.accounts(number), world.names.doors(number)

    def write(self) -> Story:
        self._attempts()
        self._responses()
        self._doors()
        return self.story

    def _attempts(self) -> None:
        addresses = [self.values.draw("address") for _ in range(2)]
        attempts = [
            [self._line(account, self.words.failed, account=account, address=address) for _ in range(_ATTEMPTS)]
            for account, address in zip(self.accounts, addresses, strict=True)
        ]
        harmless = []
        for account, lines in zip(self.accounts, _HARMLESS, strict=True):
            usual = self.values.draw("address")
            harmless += [self._line(account, self.words.accepted, account=account, address=usual) for _ in range(lines)]
        for at, account in enumerate(self.accounts):
            text = self.chance.choice(self.words.attempts_asked).format(account=account)
            answer, other = (addresses[at],), (addresses[1 - at],)
            misleading = [*attempts[1 - at], *harmless[: _HARMLESS[0]]] if at == 0 else attempts[1 - at]
            draft = Draft("security-log", "state-lookup", text, attempts[at], misleading, answer, answer, other, answer=answer[0])
            self.story.drafts.append(draft)

    def _responses(self) -> None:
        chosen = self.chance.sample(self.words.responses, 2)
        turns = []
        for account, discovery in zip(self.accounts, chosen, strict=True):
            turns.append(self._answers(account, discovery.said))
        for at, account in enumerate(self.accounts):
            text = self.chance.choice(self.words.response_asked).format(account=account)
            answer, other = (chosen[at].answer,), (chosen[1 - at].answer,)
            turn, misleading = turns[at], turns[1 - at]
            draft = Draft(
                "security-response", "state-lookup", text, [turn], [misleading], answer, answer, other, answer=turn.text
            )
            self.story.drafts.append(draft)

    def _doors(self) -> None:
        """At each door one is refused and many pass: about as many as have room in ten, or a few more."""
        refused, passed = [], []
        for door in self.doors:
            person = self.values.draw("person")
            refused.append((self._badge(door, person, self.values.draw("badge"), self.words.badges), person))
            others = self.chance.choices(range(self.world.agents), k=self.chance.randint(*_AT_DOOR))
            passed.append([self._passes(door, agent) for agent in others])
        for at, door in enumerate(self.doors):
            (turn, person), (draft_turn, misleading) = refused[at], refused[1 - at]
            text = self.chance.choice(self.words.badge_asked).format(door=door)
            answer, distractors = (person,), [draft_turn, *passed[at]]
            draft = Draft("access", "state-lookup", text, [turn], distractors, answer, answer, (misleading,), answer=person)
            self.story.drafts.append(draft)

    def _passes(self, door: str, agent: int) -> DraftTurn:
        return self._badge(door, self.world.agent(agent), str(_FIRST_BADGE + agent), self.words.badges_fine)

    def _badge(self, door: str, person: str, badge: str, patterns: Sequence[str]) -> DraftTurn:
        return self._line(door, patterns, door=door, person=person, badge=badge)

    def _line(self, topic: str, patterns: Sequence[str], **words: str) -> DraftTurn:
        port = str(self.chance.randint(30_000, 60_000))
        text = self.chance.choice(patterns).format(port=port, **words)
        # The agent that ships the log is always the same one.
        return self._keep(self.narrator.remark(self._subject(topic), text, self.team[0], self.slot, "log"))

    def _answers(self, account: str, patterns: Sequence[str]) -> DraftTurn:
        subject, speaker = self._subject(account), self.chance.choice(self.team)
        return self._keep(self.narrator.state(subject, patterns, speaker, self.slot, self.team))

    def _keep(self, exchange: SpokenExchange) -> DraftTurn:
        self.story.exchanges.append(exchange.exchange)
        return exchange.turn

    def _subject(self, name: str) -> Subject:
        return Subject(name, name, self.words.noticed, name)
