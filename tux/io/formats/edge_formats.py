"""The list of the formats of graphs and matrices, in the order in which they are looked for."""

from tux.io.edges import dimacs, market, mat, metis, network_files, npz, rows
from tux.io.formats.format import Format

EDGE_FORMATS = {
    each.format: each
    for each in (
        mat.MAT,
        npz.NPZ,
        metis.METIS,
        market.MARKET,
        rows.ADJLIST,
        network_files.PAJEK,
        network_files.GRAPHML,
        network_files.GML,
        dimacs.DIMACS,
        rows.EDGE_DATA,
    )
}


def one_type_reason(format: Format) -> str:
    """Return why the vertices of a file of some format are of one type; "" if they need not be."""
    return EDGE_FORMATS[format].one_type if format in EDGE_FORMATS else ""
