"""A page that shows a run while it goes on, and afterwards. `tux watch` serves it.

    reading  the content of a run's folder, in pieces that a page asks for
    access   the right to see the page
    answers  the answer to one request
    server   the HTTP server

`static/` has the page. It needs nothing from elsewhere.
"""
