"""Questions for people are known in every language that has a stemmer and writes names with a capital."""

import pytest
import Stemmer

from hive_mind.cognition.answering.answer_forms import may_answer
from hive_mind.cognition.answering.other_languages import REASON, WHO, asks_why
from hive_mind.cognition.answering.wordings import content_terms, is_inflected
from hive_mind.ranking.tokens import terms_in

# Names of these can't be told by how they are written; and English and German ask by words of their own.
WITHOUT_CAPITALS = frozenset("arabic hindi nepali persian tamil yiddish".split())
AT_HOME = frozenset("english porter german german2 dutch dutch_porter kraaij_pohlmann lovins".split())


def test_each_language_with_a_stemmer_and_capitals_has_its_words():
    told = {language for languages in WHO for language in languages.split()}
    assert set(Stemmer.algorithms()) - WITHOUT_CAPITALS - AT_HOME <= told


@pytest.mark.parametrize(("word", "language"), [(word, name) for name, words in WHO.items() for word in words.split()])
def test_somebody_answers_and_a_thing_does_not(word: str, language: str):
    question = f"{word} xxx?" if language == "turkish" else f"{word.capitalize()} xxx yyy?"
    assert may_answer(question, "xxx yyy Ana Lopes."), language
    assert not may_answer(question, "xxx yyy 12."), language


def test_the_dutch_word_is_german_for_how():
    assert not may_answer("Wie regelt de bus?", "de bus is rood.")
    assert may_answer("Wie regelt de bus?", "Sanne regelt de bus.")
    assert may_answer("Wie wird die Pumpe gestartet?", "mit dem grünen Knopf.")


FIGURES = [
    ("Quanto è profondo il pozzo?", "Il pozzo è profondo sei metri.", "Regole del pozzo"),
    ("Hoe diep is de put?", "De put is 6 meter diep.", "De put is van de buren."),
    ("Hur djup är brunnen?", "Brunnen är sex meter djup.", "Brunnen är av sten."),
    ("¿Cuántos gansos hay?", "Hay siete gansos.", "Los gansos son de Pilar."),
    ("Combien d'oies y a-t-il ?", "Il y a 7 oies.", "Les oies sont au pré."),
    ("De quantos barcos falamos?", "Falamos de três barcos.", "Os barcos são velhos."),
    ("Ile kosztuje bilet?", "Bilet kosztuje 12 zł.", "Bilet z 2024 roku jest ważny."),
    ("Kolik stojí lístek?", "Lístek je zdarma.", "Lístek je modrý."),
    ("Jak głęboka jest studnia?", "Studnia ma 6 metrów.", "Studnia jest stara."),
    ("Сколько гусей на дворе?", "На дворе семь гусей.", "Гуси на дворе."),
    ("Скільки коштує квиток?", "Квиток коштує 90 гривень.", "Квиток синій."),
    ("Πόσο κοστίζει το εισιτήριο;", "Το εισιτήριο κοστίζει 4 ευρώ.", "Το εισιτήριο είναι μπλε."),
    ("Bilet ne kadar?", "Bilet 40 lira.", "Bilet mavi."),
    ("Köyde kaç kaz var?", "Köyde yedi kaz var.", "Köyde kaz var."),
    ("Hány liba van?", "Hét liba van.", "A libák fehérek."),
    ("Cât costă biletul?", "Biletul costă 9 lei.", "Biletul e albastru."),
    ("Berapa harga tiket?", "Harga tiket 9000.", "Tiket itu biru."),
    ("كم عدد الطلاب؟", "عدد الطلاب ٤٠.", "الطلاب في الفصل."),
    ("כמה עולה הכרטיס?", "הכרטיס עולה 30 שקל.", "הכרטיס כחול."),
    ("टिकट कितने का है?", "टिकट 40 रुपये का है।", "टिकट नीला है।"),
    ("门票多少钱？", "门票四十元。", "门票是蓝色的。"),
    ("入場券はいくらですか？", "入場券は400円です。", "入場券は青いです。"),
    ("표는 얼마예요?", "표는 4000원입니다.", "표는 파란색입니다."),
    ("ตั๋วราคาเท่าไหร่", "ตั๋วราคา 40 บาท", "ตั๋วสีฟ้า"),
]
TIMES = [
    ("Quando chiude il museo?", "Il museo chiude il lunedì.", "Il museo è chiuso."),
    ("Fino a che ora è aperto il bar?", "Il bar è aperto fino alle 22.", "Il bar è aperto."),
    ("Desde cuándo vive aquí?", "Vive aquí desde 2015.", "Vive aquí con Pilar."),
    ("Um wie viel Uhr beginnt das Konzert?", "Das Konzert beginnt um halb 9.", "Das Konzert beginnt mit Bach."),
    ("Quand part le bateau ?", "Le bateau part demain.", "Le bateau part de Sète."),
    ("A que horas abre a loja?", "A loja abre às 9.", "A loja é azul."),
    ("Hoe laat begint de les?", "De les begint om 9 uur.", "De les begint in zaal B."),
    ("När börjar lektionen?", "Lektionen börjar på tisdag.", "Lektionen börjar i sal B."),
    ("Kiedy przyjdzie kominiarz?", "Kominiarz przyjdzie w środę.", "Kominiarz przyjdzie z synem."),
    ("В каком году построен мост?", "Мост построен в 1904.", "Мост построен из камня."),
    ("Когда придёт мастер?", "Мастер придёт во вторник.", "Мастер придёт с сыном."),
    ("Πότε κλείνει το μουσείο;", "Το μουσείο κλείνει τη Δευτέρα.", "Το μουσείο κλείνει."),
    ("Usta ne zaman gelecek?", "Usta pazartesi gelecek.", "Usta gelecek."),
    ("متى يفتح المتحف؟", "يفتح المتحف يوم الأحد.", "المتحف كبير."),
    ("मेला कब है?", "मेला रविवार को है।", "मेला बड़ा है।"),
    ("博物馆什么时候开门？", "博物馆早上九点开门。", "博物馆开门了。"),
    ("祭りはいつですか？", "祭りは土曜です。", "祭りは中止です。"),
    ("축제는 언제예요?", "축제는 월요일입니다.", "축제는 큽니다."),
]
# A figure of another kind is none: a day is no price, and a telephone no age.
MEASURES = [
    ("Quanto costa l'auto?", "L'auto costa 90 euro.", "L'auto è pronta il 12 maggio."),
    ("Vad kostar lott 14?", "Lott 14 säljs för 900 kronor.", "Lott 14 är ledig i 3 veckor."),
    ("Mikä on saunan hinta?", "Sauna on 15 euroa.", "Sauna siirtyy 2 tunnilla."),
    ("Cât costă reparația?", "Reparația a costat 380 de lei.", "Reparația durează 3 zile."),
    ("Qual é o preço do curso?", "O curso custa R$ 300.", "O curso tem 12 lições."),
    ("Berapa harga lampu?", "Lampu dijual Rp75.000.", "Lampu itu 3 buah."),
    ("修理費はいくらですか？", "修理は八千円です。", "修理は3日かかります。"),
    ("Какая стоимость билета?", "Билет — 18 тысяч рублей.", "Билет на 18 мая."),
    ("Jaki jest numer telefonu pani Wójcik?", "Pani Wójcik: 601 220 118", "Pani Wójcik mieszka pod numerem 60."),
    ("Berapa nomor telepon Agus?", "Agus: 0812-5550-331", "Agus punya 2 anak."),
    ("护士的电话号码是多少？", "护士：13900005566", "护士有3个孩子。"),
    ("كم عمر السائق؟", "عمر السائق 40 سنة.", "رقم هاتف السائق 0661-555-204."),
    ("Kaç yaşında Elif?", "Elif 12 yaşında.", "Elif 3906 numarada."),
    ("מה משקל הכלב?", "הכלב שוקל 12 קילו.", "הכלב נולד ב-2019."),
    ("Kaç kişi katılacak?", "Dokuz kişi katılacak.", "Toplantı saat 14.30'da."),
    ("Combien de chaises y a-t-il ?", "Il y a 12 chaises.", "Les chaises arrivent le 9 mai."),
    ("Сколько весит ящик?", "Ящик весит 7 кг.", "Ящик стоит у двери."),
]


@pytest.mark.parametrize(("question", "answer", "aside"), [*FIGURES, *TIMES, *MEASURES])
def test_a_figure_and_a_time_are_told_by_what_holds_one(question: str, answer: str, aside: str):
    assert may_answer(question, answer)
    assert not may_answer(question, aside)


@pytest.mark.parametrize("question", ["What is quant research?", "¿Dónde está el bote?", "Why is the ile red?"])
def test_other_questions_want_none(question: str):
    assert may_answer(question, "It is in the shed.")


@pytest.mark.parametrize(
    ("question", "content"),
    [
        ("Hvor meget kokosmel skal der i?", {"kokosmel"}),
        ("Jakiego koloru są płytki?", {"koloru", "plytki"}),
        ("Где находится почта?", {"почт"}),
        ("Var bor Åsa Lindqvist?", {"asa", "lindqvist"}),
        ("أين يتم التسجيل؟", {"تسجيل"}),
        ("Vì sao chị Thảo không đi?", {"chi", "thao"}),
        ("What is there in the van?", {"van"}),
    ],
)
def test_little_words_are_left_out_of_a_question(question: str, content: set[str]):
    assert content_terms(question, terms_in(question)) == content


@pytest.mark.parametrize(
    ("name", "written", "is_same"),
    [
        ("zbigniewa", "zbigniew", True),
        ("ольги", "ольга", True),
        ("окса", "оксано", True),
        ("hanni", "hanna", True),
        ("marek", "marta", False),
        ("jansen", "janssens", False),
    ],
)
def test_a_name_may_have_another_ending(name: str, written: str, is_same: bool):
    assert is_inflected(name, frozenset({written})) is is_same


@pytest.mark.parametrize(
    ("question", "reason", "aside"),
    [
        ("Dlaczego montaż został przesunięty?", "Montaż przesunięty, bo blat jest uszkodzony.", "Lodówkę kupiła Agnieszka."),
        ("Pourquoi ne livre-t-on pas jeudi ?", "Pas jeudi : le camion est en panne.", "Le livreur propose lundi."),
        ("为什么停车不方便？", "因为饭店门口在修路。", "你坐地铁三号线吧。"),
        ("Ahmet Bey neden gelmeyecek?", "Fuara gittiği için gelmeyecek.", "Projektör bozuk."),
        ("Why was it moved?", "It was moved because of the frost.", "It was moved to May."),
    ],
)
def test_a_reason_is_asked_for_and_told(question: str, reason: str, aside: str):
    assert asks_why(question)
    assert not asks_why(reason)
    assert REASON.search(reason)
    assert not REASON.search(aside)
