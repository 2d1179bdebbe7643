"""``tux check`` of a file of one of several edge types."""

from support.programs import typed_programs
from support.programs.typed_programs import shop_edges, shop_files

PROGRAM = f"{typed_programs.__file__}:SocialShop"


def test_the_type_is_named_with_the_file(tmp_path, command):
    named = shop_files(tmp_path, shop_edges())
    code, told = command(f"check tagged={named['tagged']} {PROGRAM}")
    assert code == 0 and "names of columns: item, tag" in told and "edges         40" in told
    code, told = command(f"check {named['tagged']} {PROGRAM}")
    assert code == 2 and f"bought={named['tagged']}" in told
