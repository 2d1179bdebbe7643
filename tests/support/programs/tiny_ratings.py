"""A small file of ratings, as text."""

RATINGS = "user,item,rating\n" + "".join(f"u{i % 7},{i % 11},{i % 5 + 1}\n" for i in range(70))
