"""A page that shows a run while it goes on, and afterwards: what `tux watch` serves.

reading  what a run's folder holds, in pieces that a page asks for
access   who may ask
answers  the answer to one request
server   the HTTP server

`static/` has the page. It needs nothing from elsewhere.
"""
