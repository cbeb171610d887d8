"""Why something that a file holds is not in the data set: the words in which it is counted and reported, in one place.

A reason says what was left out, so that its count can be checked against the file by hand.
"""

from hive_mind.memory.intake import STATEMENT_CHARACTERS_MAX

SILENT_DOCUMENT = "documents without a word"
LONG_DOCUMENT = f"ends of documents, beyond the {STATEMENT_CHARACTERS_MAX:,} characters that a fact can have"
EMPTY_TURN = "turns without text or picture"
SILENT_TURN = "turns without a word"
REPEATED_SESSION = "sessions that come twice in one history"
SUPERSEDED_FACT = "facts that a newer one replaced"
RETRACTED_FACT = "facts that were taken back"

SILENT_QUESTION = "questions without a word"
UNJUDGED_QUESTION = "questions without a judgement"
NO_EVIDENCE = "questions without evidence"
NO_TURN_LEFT = "questions whose evidence names no turn that exists"
NO_DOCUMENT_LEFT = "questions whose judgements name no document that can be found"
NOTHING_TO_MEASURE = "questions without documents, keywords or a reason for their absence"

UNKNOWN_TURN = "evidence entries that name no turn that exists"
UNREADABLE = "evidence entries that name nothing"
UNKNOWN_SESSION = "evidence sessions that are not in the history"
UNMARKED_SESSION = "evidence sessions without a marked turn"
UNKNOWN_DOCUMENT = "judgements of documents that are not in the corpus"
JUDGED_SILENT = "judgements of documents without a word"
UNKNOWN_QUESTION = "judgements of questions that are not in the file of questions"
REPEATED_JUDGEMENT = "judgements that are given twice"

ABOUT_DOCUMENTS = frozenset(
    {SILENT_DOCUMENT, LONG_DOCUMENT, EMPTY_TURN, SILENT_TURN, REPEATED_SESSION, SUPERSEDED_FACT, RETRACTED_FACT}
)
"""These stay true when other questions are asked of the same documents."""
