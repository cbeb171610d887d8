"""Scripts: whether a model can read the script of a question. One that can't finds all texts in it alike, and so says nothing.

The model itself tells: of three sentences in a script, two say the same in other words and one speaks of something else.
MiniLM puts the first two .73 nearer to one another than to the third in English, and at most .15 in any other script below.

The third sentence also tells where the cosines of a model begin: at 0 for MiniLM, and far above it for others.
"""

import unicodedata
from collections import Counter

import numpy as np
from numpy.typing import NDArray

LATIN = "LATIN"
_OTHERS = "DEVANAGARI"
_ALIKE_AND_APART = {
    LATIN: ("The doctor lives near the sea.", "A physician has a house by the ocean.", "Two trains leave tomorrow at noon."),
    "ARABIC": ("الطبيب يسكن قرب البحر.", "لدى الدكتور منزل على الساحل.", "سيغادر قطاران غدا عند الظهر."),
    "ARMENIAN": ("Բժիշկն ապրում է ծովի մոտ։", "Դոկտորը տուն ունի ափին։", "Երկու գնացք մեկնում է վաղը կեսօրին։"),
    "BENGALI": ("ডাক্তার সমুদ্রের কাছে থাকেন।", "চিকিৎসকের বাড়ি সাগরের তীরে।", "দুটি ট্রেন আগামীকাল দুপুরে ছাড়বে।"),
    "CJK": ("医生住在海边。", "大夫的家靠近大洋。", "两列火车明天中午出发。"),
    "CYRILLIC": ("Врач живёт недалеко от моря.", "У доктора есть дом на побережье.", "Два поезда отправляются завтра в полдень."),
    "DEVANAGARI": ("डॉक्टर समुद्र के पास रहता है।", "चिकित्सक का घर सागर के किनारे है।", "दो रेलगाड़ियाँ कल दोपहर को निकलेंगी।"),
    "GEORGIAN": ("ექიმი ზღვასთან ახლოს ცხოვრობს.", "მკურნალს სახლი აქვს სანაპიროზე.", "ორი მატარებელი ხვალ შუადღისას გადის."),
    "GREEK": ("Ο γιατρός μένει κοντά στη θάλασσα.", "Ένας ιατρός έχει σπίτι στην ακτή.", "Δύο τρένα φεύγουν αύριο το μεσημέρι."),
    "HANGUL": ("의사는 바다 근처에 산다.", "닥터의 집은 해변에 있다.", "기차 두 대가 내일 정오에 출발한다."),
    "HEBREW": ("הרופא גר ליד הים.", "לדוקטור יש בית על החוף.", "שתי רכבות יוצאות מחר בצהריים."),
    "HIRAGANA": ("医師は海の近くに住んでいる。", "ドクターの家は浜辺にある。", "明日の正午に電車が二本出る。"),
    "TAMIL": (
        "மருத்துவர் கடலுக்கு அருகில் வசிக்கிறார்.",
        "டாக்டருக்கு சமுத்திரக் கரையில் வீடு உள்ளது.",
        "இரண்டு ரயில்கள் நாளை நண்பகல் புறப்படும்.",
    ),
    "THAI": ("หมออาศัยอยู่ใกล้ทะเล", "แพทย์มีบ้านอยู่ริมชายหาด", "รถไฟสองขบวนออกพรุ่งนี้ตอนเที่ยง"),
}
# A script counts as read where its sentences are this share as far apart as those in English.
_SHARE_OF_ENGLISH_MIN = 0.5
_LETTERS_MAX = 200
# Below the first there is nothing to count from, and above the second a model tells no text from another.
_NEXT_TO_NONE, _NEARLY_ALL = 0.1, 0.95


def script_of(text: str) -> str:
    """The script of most letters of a text, by the first word of their names in Unicode; Latin where there are none.

    One that has no sentences here is judged by those of Devanagari: a model reads it only if it reads many.
    """
    letters = [character for character in text[: 5 * _LETTERS_MAX] if character.isalpha()][:_LETTERS_MAX]
    if text.isascii() or not letters:
        return LATIN
    counts = Counter(unicodedata.name(letter, "").replace("-", " ").partition(" ")[0] for letter in letters)
    if counts["HIRAGANA"] or counts["KATAKANA"]:
        counts["HIRAGANA"] += counts.pop("KATAKANA", 0) + counts.pop("CJK", 0)
    script = counts.most_common(1)[0][0]
    return script if script in _ALIKE_AND_APART else _OTHERS


def probes(script: str) -> tuple[str, ...]:
    """Texts to embed for `is_read`: three in English, then three in the script if it is another."""
    return _ALIKE_AND_APART[LATIN] if script == LATIN else (*_ALIKE_AND_APART[LATIN], *_ALIKE_AND_APART[script])


def unrelated_cosine(rows: NDArray[np.float32]) -> float:
    """The cosine of sentences with nothing in common, by the rows of a script's probes; 0 where it is next to none, or all."""
    cosine = float(rows[0] @ rows[2] + rows[1] @ rows[2]) / 2
    return cosine if _NEXT_TO_NONE < cosine < _NEARLY_ALL else 0.0


def is_read(rows: NDArray[np.float32]) -> bool:
    """Whether a model reads a script, by the unit rows of its probes, shape (6, dimension)."""
    in_english, in_script = (_nearer(three) for three in (rows[:3], rows[3:]))
    return in_script > 0.0 and in_script >= _SHARE_OF_ENGLISH_MIN * in_english


def _nearer(rows: NDArray[np.float32]) -> float:
    """By how much the first two rows are nearer to one another than to the third."""
    alike, first_apart, second_apart = rows[0] @ rows[1], rows[0] @ rows[2], rows[1] @ rows[2]
    return float(alike - max(first_apart, second_apart))
