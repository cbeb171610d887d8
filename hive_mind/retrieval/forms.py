"""The kinds of files of a workspace, as forms: JSON with comments."""

from typing import Final

from hive_mind.forms.form import Form
from hive_mind.retrieval.active import Active
from hive_mind.retrieval.collection import FIELD_NAME, Collection
from hive_mind.retrieval.configuration import NAME, RetrievalConfig
from hive_mind.retrieval.golden import Golden

_PATTERNS = {
    NAME: "has to be 1 to 64 letters, digits, '.', '_' and '-', with a letter or digit first",
    FIELD_NAME: "has to be 1 to 64 letters, digits, '_' and '-', with a letter first",
}
_HELP = "docs/howto/retrieval.md"
_BEGIN = "begin with `hive-mind retrieval init`"

CONFIG: Final = Form("configuration", RetrievalConfig, _BEGIN, _HELP, "json", levels="three", patterns=_PATTERNS)
COLLECTION: Final = Form("collection", Collection, _BEGIN, _HELP, "json", levels="three", patterns=_PATTERNS)
# Room for some ten thousand questions.
GOLDEN: Final = Form("golden set", Golden, _BEGIN, _HELP, "json", 20_000_000, 500_000, levels="three", patterns=_PATTERNS)
ACTIVE: Final = Form("active configuration", Active, _BEGIN, _HELP, "json", levels="three", patterns=_PATTERNS)
