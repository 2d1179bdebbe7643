"""Graphs as the input of programs: links with a direction, and links without."""

from tux import Graph


class DirectedLinks(Graph):
    def topology(self, program):
        return "directed"


class UndirectedLinks(Graph):
    def topology(self, program):
        return "undirected"
