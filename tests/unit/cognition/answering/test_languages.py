"""Parts of words: a text in another language that shares a word with a question answers it no sooner than in English."""

import pytest

from hive_mind.cognition.answering.relevance import RelevanceSettings, relevant
from tests.unit.cognition.reading import hit

# As a search over some hundred facts scores them by words and by parts of words.
SHARES_A_WORD = [
    ("Welches Recht hat Vorrang, wenn es einen Konflikt gibt?", "Alle Schulen haben das Recht, Schulgebühren festzulegen.", 24),
    ("Какое чувство внушают нападения на учителей?", "В ответ Доктор замечает: мне знакомо это чувство.", 22),
    ("بماذا ترتبط فترات النمو الأطول؟", "ومنذ ذلك الحين، بدأ القطاع الخاص بالنمو.", 16),
    ("ما هو حجم منحة المدرسة؟", "المدرسة الخاصة هي مدرسة مستقلة دون أي دعم.", 14),
    ("מתי נכבשה העיר מונטריאול?", "הפרוטוקול של מונטריאול נחתם.", 20),
    ("À quelle heure est la réunion ?", "La réunion est à Lyon.", 4),
    ("Hoeveel kost het roggebrood?", "De bakkerij verkoopt op zaterdag roggebrood.", 6),
]
SAYS_IT = [
    ("Wann wird das Dach der Hütte gestrichen?", "Das Dach der Hütte wird im Mai gestrichen.", 40),
    ("Из чего сделана крыша домика?", "Крыша домика сделана из меди.", 40),
    ("من ماذا صنع سقف الكوخ؟", "سقف الكوخ مصنوع من النحاس.", 30),
    ("Woraus ist das Dach gemacht?", "Das Dach ist aus Schiefer gemacht.", 8),
    ("wer ist hier der Wirt?", "Wirt ist Herr Pohl.", 4),
    ("内存有多大?", "内存：128GB", 2),
    ("谁是负责人?", "负责人是周敏。", 2),
    ("年会在哪里举行?", "公司年会在海棠酒店举行。", 2),
    ("Wofür bezahlen die Mieter?", "Ein Mieter bezahlt für Wasser.", 20),
    ("Wo bekomme ich Strom?", "Strom gibt es am Kiosk.", 6),
    ("À quelle heure est la réunion ?", "La réunion est à 16 h.", 4),
    ("I vilken sal hålls föreläsningen?", "Föreläsningen hålls i 14.", 4),
    ("Hoeveel kost de kaart?", "De kaart kost 5 euro.", 4),
    ("Kto jest kierownikiem?", "Kierownik: Zbigniew Wójcik", 5),
    ("Kuka on puheenjohtaja?", "Puheenjohtajaksi valittiin Päivi Laaksonen.", 9),
]


def is_answered(question: str, statement: str, keyword: float) -> bool:
    return any(judged.answers for judged in relevant(question, [hit(statement, keyword=keyword)], RelevanceSettings()))


@pytest.mark.parametrize(("question", "statement", "keyword"), SHARES_A_WORD)
def test_one_shared_word_and_its_parts_are_no_answer(question: str, statement: str, keyword: float) -> None:
    assert not is_answered(question, statement, keyword)


@pytest.mark.parametrize(("question", "statement", "keyword"), SAYS_IT)
def test_what_says_all_of_it_is(question: str, statement: str, keyword: float) -> None:
    assert is_answered(question, statement, keyword)
