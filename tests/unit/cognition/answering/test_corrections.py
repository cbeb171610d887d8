"""What a conversation, a thread or minutes say later comes first, and says what it replaces."""

from dataclasses import replace
from pathlib import Path

import pytest

from hive_mind import Content, FleetPlan, Settings, open_fleet
from hive_mind.agents.agent import LearningAgent
from hive_mind.cognition.answering.corrections import corrections_of, later_first, replaces
from hive_mind.cognition.extractive import ExtractiveReader
from hive_mind.embed.none import NoEmbedder
from hive_mind.hive.topology.spec import TopologyName
from hive_mind.memory.intake import new_fact
from hive_mind.model.fact import Fact
from tests.texts import hit_of


async def said(text: str) -> list[Fact]:
    read = await ExtractiveReader().extract(Content(text, "minutes.md"))
    return [new_fact(candidate, "minutes.md", place) for place, candidate in enumerate(read.candidates)]


@pytest.mark.parametrize(
    "text",
    [
        "Lea: The fair is on Friday.\nBo: The lamp is broken again.\nLea: No, the fair is on Sunday now.",
        "Lea: The fair is on Friday.\nBo: The lamp is broken again.\nBo: The fair is on Sunday.",
        "Lea: I say we start at 10:00.\nLea: Sorry, I say we start at 11:30.",
        "# 2026-05-04 Minutes\n\nThe rent is 900 euros.\n\n# 2026-06-01 Minutes\n\nThe rent is 950 euros.",
        "[2026-05-04 10:00] Lea: The hall has 40 chairs.\n[2026-05-09 10:00] Lea: Correction: the hall has 60 chairs.",
        "Lea: The fair is on Friday.\nBo: No, on Sunday now.",
        "# Minutes\n\nLea: Gateway B7 listens on port 8443.\n\nBo: It is 9443 now.",
        "[2026-05-04 10:00] Lea: The hall opens at 10:00.\n[2026-05-04 10:09] Bo: Correction: it is 11:00.",
        "Lea: The fair is on Friday. Bring a lamp.\nBo: The fair is on Sunday now. I know it.",
        "Lea: The fair is on Friday.\nBo: Good.\nLea: We moved it, the fair is on Sunday now.",
        "Lea: The fee is 30 euros.\nBo: I meant to say 35 euros.",
        "Lea: The licence expires on 2 June.\nBo: I renewed it, it is valid until 9 July now.",
        "Lea: We counted 37 boats.\nBo: The number was 39, I saw two more.",
        "Lea: Der Verein zählt 60 Boote.\nBo: Die Zahl ist 72, zwölf sind neu.",
        "Pilar: El taller está en Lugo.\nPilar: Me equivoqué, el taller está en Vigo.",
        "Luc: Le stage est à Lyon.\nLuc: Pardon, je me suis trompé, le stage est à Nice.",
        "Олег: Склад находится в Туле.\nОлег: Пардон, ошибся, склад находится в Рязани.",
        "Lea: The fee is 30 euros.\nBo: The lamp is broken.\nBo: Update: the fee is 35 euros.",
        "Lea: The fee is 30 euros.\nBo: Update: it costs 35 euros.",
        "Lea: The fee is 30 euros.\nBo: Edit: 35 euros.",
        "Luc: Le train part à 9:15.\nZoé: Non, il part à 10:40 maintenant.",
        "Pilar: La clase empieza en mayo a las 9.\nJuan: No, ahora empieza a las 10.",
        "Lea: The fair opens in May 2027.\nBo: No, in October now.",
        "Lea: The boat is ready.\nBo: It is a nice boat for us.\nLea: Actually, the boat isn't ready.",
        "Lea: Our baker is Holt.\nBo: ok\nLea: We changed it, our baker is Krag now.",
        "Lea: The lamp is in room Lynx.\nBo: ok\nLea: The lamp moved to room Otter.",
        "Lea: The fee is due on the 3rd.\nBo: ok\nLea: The fee is due on the 5th.",
        "Lea: Sara leads the choir.\nBo: ok\nLea: Sara is ill. Nils leads the choir instead.",
        "Лена: Ярмарка в субботу утром.\nБорис: ок\nЛена: Нет, ярмарка теперь в воскресенье утром.",
        "Jan: Targ jest w sobotę rano.\nEwa: ok\nJan: Nie, targ jest teraz w niedzielę rano.",
        "Luc: La foire est samedi.\nZoé: ok\nLuc: Non, la foire est maintenant dimanche.",
        "Boiler 2 runs at 6.5 bar.\nThe key is with Mario.\nUpdate 13:10: boiler 2 is down to 5.8 bar after the valve change.",
        "Night shift: Ewa and Luc\nKey to the cage: Mario\n\nCorrection: night shift is Ewa and Pavel, Luc swapped.",
        "Delivery goes to quay 3.\nWe need 40 pallets.\nEDIT: not quay 3 but quay 5, the harbour master moved us.",
        "Die Lieferung geht an Tor 3.\nWir brauchen 40 Paletten.\nKorrektur: nicht an Tor 3, sondern an Tor 5.",
        "The crane is booked for 10:30.\nThe driver is Kofi Mensah.\nSorry, the crane moved: 11:15.",
        "Maeve: Dinner is on Friday at 7pm.\nBo: We'll bring wine.\nMaeve: Sorry, on Saturday instead? Dad comes on Friday.",
        "Lea: Release 3.1 goes out on Thursday.\nBo: ok\nLea: Release 3.1 slips to Monday, the tests are red.",
        "Lea: The visit is at 10:00.\nBo: ok\nLea: The visit is delayed, 11:30.",
        "Lea: Kofi is the release manager.\nBo: ok\nLea: Kofi is ill, Bettina takes over as release manager.",
        "Lea: The key is under the blue pot.\nBo: ok\nLea: The key is now with the neighbour, Mrs Holt.",
        "Lea: Das Boot liegt am alten Steg.\nBo: ok\nLea: Das Boot liegt jetzt in der Halle von Krag.",
        "# 2026-05-04 Minutes\n\nThe fair takes place in the hall.\n\n# 2026-06-01 Minutes\n\nThe fair takes place in the barn.",
    ],
)
async def test_a_later_statement_of_the_same_thing_comes_first(text: str):
    facts = await said(text)
    first, last = facts[0], facts[-1]
    assert replaces(last, first)
    assert not replaces(first, last)
    assert later_first([hit_of(one) for one in facts])[0].fact == last


@pytest.mark.parametrize(
    "text",
    [
        "Lea: I was born in 1990.\nBo: I was born in 1985.",
        "Lea: The hall has 40 chairs.\nBo: I like it there.\nLea: The barn has 60 chairs.",
        "Lea: The fair is on Friday.\nBo: No, you are wrong.",
        "The stitches come out on 15 March. No weight on it for 6 weeks.",
        "Scale to 4 workers. Wait 10 minutes.",
        "# Library\n\nThu: 12-20\nFri: 10-16",
        "Lea: The hall has 40 chairs.\nBo: No, the chairs are old now.",
        "The plan is this.\n\nIn May, the fee is 30 euros. In June, the fee is 35 euros.",
        "Lea: The fee is 30 euros.\nBo: I mean it, the hall has 40 chairs.",
        "Lea: The fair is on Friday.\nBo: You are right.\nLea: Yes, the fair is on Friday.",
        "Lea: The lamp stands in the hall.\nBo: ok\nLea: The chair moved to the hall.",
        "Bo: We'll bring wine.\nMaeve: Sorry, could we do Saturday instead? Dad has the car on Friday.",
        "Luc: On apporte du vin.\nZoé: Pardon, plutôt samedi maintenant.",
        "Ana: Llevamos vino.\nEva: Perdón, mejor el sábado ahora.",
        "The crane is booked for 10:30.\nThe driver is Kofi Mensah.\nSorry, the lamp is out until 11:15.",
        "Boiler 2 runs at 6.5 bar.\nUpdate 13:10: the pump is down to 5.8 bar.",
        "Night shift: Ewa and Luc\nKey to the cage: Mario\n\nUpdate: the night shift has a new lamp.",
        "The library opens on Monday at 9:00.\nIt has two floors.\nThe book club of the library moved to Thursday.",
        "The library opens on Friday.\nIt has two floors.\nThe choir moved from Friday to Monday.",
        "The sugar costs 3 euros.\nIt rains.\nThe cake has no sugar but honey.",
        "The filter costs 35 euros.\nIt rains.\nThe old filter was replaced, the work took 40 euros.",
        "The key is with Mario.\nUpdate 13:10: boiler 2 is down to 5.8 bar.",
        "Update 13:10: boiler 2 is down to 5.8 bar.\nSorry, the crane moved: 11:15.",
        "# Moving\n\n3 April: The tiles are blue.\n\n8 April: Ana can't come, Bo will lay the floor instead.",
        "# Moving\n\n3 April: The tiles cost 90 euros.\n\n9 April: The plumber now wants 140 euros.",
        "Lea: The key is under the blue pot.\nBo: ok\nLea: The key to the cellar is now with Mrs Holt.",
        "Lea: The lamp is in the hall.\nBo: ok\nLea: The chair is now in the barn.",
        "Lea: Kofi is the release manager.\nBo: ok\nLea: Bettina takes over as caretaker.",
        "The crane is booked for 10:30.\nThe crane driver comes at 11:15.",
        "We need 40 pallets.\nEDIT: not quay 3 but quay 5, the harbour master moved us.",
        "Lea: The fee is 30 euros.\nBo: Update: the parking fee is 5 euros.",
        "# 2026-05-04 Diary\n\nThe choir visited Porto.\n\n# 2026-06-01 Diary\n\nThe choir visited Rome.",
    ],
)
async def test_what_is_about_another_thing_or_says_the_same_replaces_nothing(text: str):
    facts = await said(text)
    assert not replaces(facts[-1], facts[0])


ELSEWHERE = [
    "会议在六点开始。\n天气很好。\n更正：会议在七点开始。",
    "Die Sitzung ist am Freitag.\nDas Wetter ist gut.\nNachtrag: Die Sitzung wurde auf Montag verlegt.",
    "Die Sitzung ist am 12. Mai.\nDas Wetter ist gut.\nDie Sitzung wurde auf den 19. Mai verschoben.",
    "Mötet är den 3 maj.\nVi äter sedan.\nÄndring: mötet blir den 9 maj.",
    "Montaż odbędzie się w środę.\nPogoda jest dobra.\nZmiana: montaż przesunięty na piątek.",
    "会议在六点开始。\n天气很好。\n会议改到七点了。",
    "Schůze je ve středu.\nPočasí je dobré.\nOprava: schůze se přesouvá na čtvrtek.",
    "회의는 수요일에 있습니다.\n날씨가 좋습니다.\n회의가 금요일로 변경되었습니다.",
    "Mødet er på mandag.\nVejret er godt.\nMødet er flyttet til onsdag.",
    "La réunion est mardi.\nIl fait beau.\nLa réunion est reportée à jeudi.",
    "La reunión es el martes.\nHace buen tiempo.\nLa reunión se aplaza al jueves.",
    "La riunione è martedì.\nFa bel tempo.\nLa riunione è spostata a giovedì.",
    "A reunião é na terça.\nO tempo está bom.\nA reunião foi adiada para quinta.",
    "De vergadering is op dinsdag.\nHet weer is goed.\nDe vergadering is verzet naar donderdag.",
    "Собрание во вторник.\nПогода хорошая.\nСобрание перенесли на четверг.",
    "Збори у вівторок.\nПогода гарна.\nЗбори перенесено на четвер.",
    "Kokous on tiistaina.\nSää on hyvä.\nKokous siirtyy torstaihin.",
    "Toplantı salı günü.\nHava güzel.\nToplantı perşembe gününe ertelendi.",
    "Ședința este marți.\nVremea e bună.\nȘedința a fost mutată joi.",
    "Η συνάντηση είναι την Τρίτη.\nΟ καιρός είναι καλός.\nΗ συνάντηση μεταφέρθηκε την Πέμπτη.",
    "الاجتماع يوم الثلاثاء.\nالطقس جميل.\nتم تأجيل الاجتماع إلى يوم الخميس.",
    "הישיבה ביום שלישי.\nמזג האוויר טוב.\nהישיבה נדחתה ליום חמישי.",
    "会議は火曜日です。\n天気がいいです。\n会議は木曜日に変更になりました。",
    "Rapat diadakan hari Selasa.\nCuaca bagus.\nRapat dipindah ke hari Kamis.",
    "Cuộc họp vào thứ ba.\nThời tiết đẹp.\nCuộc họp dời sang thứ năm.",
    "Der Preis beträgt 30 Euro.\nDas Wetter ist gut.\nKorrektur: Der Preis beträgt 35 Euro.",
    "Cena wynosi 30 zł.\nPogoda jest dobra.\nPoprawka: cena wynosi 35 zł.",
    "Le prix est de 30 euros.\nIl fait beau.\nRectificatif : le prix est de 35 euros.",
    "El precio es de 30 euros.\nHace sol.\nRectificación: el precio es de 35 euros.",
    "Цена 30 рублей.\nПогода хорошая.\nИсправление: цена 35 рублей.",
]


@pytest.mark.parametrize("text", ELSEWHERE)
async def test_people_move_and_correct_things_in_other_languages(text: str):
    first, *_, last = await said(text)
    assert replaces(last, first)
    assert not replaces(first, last)


@pytest.mark.parametrize(
    "text",
    [
        "Die Sitzung ist am Freitag.\nDas Wetter ist gut.\nDas Konzert wurde auf Montag verlegt.",
        "La réunion est mardi.\nIl fait beau.\nLe concert est reporté à jeudi.",
        "Собрание во вторник.\nПогода хорошая.\nКонцерт перенесли на четверг.",
        "会议在六点开始。\n天气很好。\n音乐会改到七点了。",
        "Rapat diadakan hari Selasa.\nCuaca bagus.\nKonser dipindah ke hari Kamis.",
        "Η συνάντηση είναι την Τρίτη.\nΟ καιρός είναι καλός.\nΗ συναυλία μεταφέρθηκε την Πέμπτη.",
        "Der Preis beträgt 30 Euro.\nDas Wetter ist gut.\nKorrektur: Die Miete beträgt 35 Euro.",
        "La reunión es el martes.\nHace buen tiempo.\nEl perro es mío, y la cena es el jueves.",
    ],
)
async def test_in_other_languages_too_another_thing_is_moved_alone(text: str):
    first, *_, last = await said(text)
    assert not replaces(last, first)


async def test_other_sources_replace_nothing():
    (old,), (new,) = await said("The rent is 900 euros."), await said("The rent is 950 euros.")
    assert not replaces(replace(new, sources=("other.md",), learned_at_us=9), old)


async def test_a_correction_that_says_nothing_alone_comes_with_what_it_corrects():
    friday, sunday, other = map(
        hit_of, await said("Lea: The fair is on Friday.\nBo: No, on Sunday now.\nLea: The mill is in Porto.")
    )
    assert corrections_of([friday], [sunday, other, friday]) == [sunday]
    assert corrections_of([other], [sunday, friday]) == []


MINUTES = {
    "crane.md": "The crane starts at 10:30.\nThe key is with Mario.\nSorry, the crane moved: 11:15.",
    "boiler.md": "The pressure of boiler 2 is 5.2 bar.\nIt rains.\nUpdate 13:10: the pressure of boiler 2 is 5.8 bar.",
    "fair.md": "Lea: The fair is on Friday.\nBo: Good, I bring the lamp.\nLea: No, the fair is on Sunday now.",
    "gate.md": "The gateway listens on port 8443.\n\nThe gateway listens on port 9443 now.",
}
LATER = {
    "When does the crane start?": "11:15",
    "What pressure has boiler 2?": "5.8 bar",
    "When is the fair?": "on Sunday",
    "Which port does the gateway listen on?": "9443",
}


@pytest.mark.parametrize("topology", ["single", "flat", "federated", "sharded"])
async def test_a_member_that_reads_them_from_the_hive_sees_the_later_statement_first(tmp_path: Path, topology: TopologyName):
    """What was said in one text is shared in one millisecond, and keeps its order there."""
    plan = FleetPlan(topology, ("ada", "bob", "cyd"), group_size=2)
    async with await open_fleet(Settings(home=tmp_path, store="memory", embed="none"), plan, NoEmbedder()) as fleet:
        writer = LearningAgent("ada", fleet.memory("ada"), ExtractiveReader())
        asked = LearningAgent("cyd", fleet.memory("cyd"), ExtractiveReader()) if topology != "single" else writer
        for source, text in MINUTES.items():
            await writer.learn_from_content(Content(text, source))
        await fleet.settled()
        answers = {question: (await asked.answer_question(question)).sources for question in LATER}
    assert {
        question: LATER[question] in hits[0].fact.content and replaces(hits[0].fact, hits[1].fact)
        for question, hits in answers.items()
    } == dict.fromkeys(LATER, True)
