"""What a redesign has won stays won, and the map is that of the rooms."""

from tests.figures import rooms
from tests.figures.figures import shares, trees_of

PRONOUNS_MAX, GENERIC_MAX = 0.015, 0.055


def test_names_of_values_say_which_thing():
    """The shares fall, room by room, and do not rise again."""
    pronouns, generic = shares(trees_of("hive_mind"))
    assert pronouns <= PRONOUNS_MAX
    assert generic <= GENERIC_MAX


def test_the_map_is_made_of_what_modules_say_today():
    assert rooms.PAGE.read_text("utf-8") == rooms.page(), "make map"
