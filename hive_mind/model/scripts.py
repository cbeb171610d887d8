"""Scripts that are written without spaces, or nearly so, as ranges for the brackets of a pattern."""

HAN = "\u3005-\u3007\u303b\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
"""With the marks that repeat a letter or stand for one: 々, 〆, 〇."""
KANA = "\u3040-\u30ff"
HANGUL = "\uac00-\ud7af"
LETTERED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
"""Thai, Lao, Burmese and Khmer, where a character is a letter and not a word or a syllable."""
UNSPACED = LETTERED + KANA + HAN + HANGUL
