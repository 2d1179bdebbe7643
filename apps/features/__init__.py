"""Features of users and items, as apps share them. There is no program here."""
