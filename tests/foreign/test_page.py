"""docs/formats.md says what the tests beside it go through."""

from foreign_page import PAGE, page


def test_the_page_is_up_to_date():
    """If not: python tests/foreign_page.py."""
    assert PAGE.read_text(encoding="utf-8") == page()
