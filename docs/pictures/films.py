"""Writes docs/films.csv: ratings of thirty films by sixty people, who like some genres more than
others. Run it at the top of the tree: python docs/pictures/films.py
"""

import csv
from pathlib import Path

import numpy as np

PEOPLE = (
    "Ada Ali Amir Ana Ben Bo Carla Chen Clara Dana David Elif Emil Emma Eva Farid Finn Gina "
    "Hana Hugo Ida Ines Ivan Jana Jonas Julia Kai Karim Lara Lena Leo Lin Luca Maja Marco Maria "
    "Mei Mia Milan Nadia Nils Nora Olga Omar Otto Paula Pedro Priya Ravi Rosa Sami Sara Sofia "
    "Tara Theo Tom Vera Viktor Yara Zoe"
).split()
FILMS = {  # science fiction, crime, romance
    (1.0, 0.1, 0.0): "Alien;Blade Runner;Contact;Dune;Gravity;Interstellar;Moon;Solaris;Stalker",
    (0.1, 1.0, 0.0): "Chinatown;Fargo;Goodfellas;Heat;M;Rififi;Se7en;The Godfather;The Third Man",
    (0.0, 0.1, 1.0): "Amelie;Casablanca;Emma;Notting Hill;Once;Roman Holiday;Titanic",
    (0.7, 0.7, 0.0): "Inception;Looper;Minority Report",
    (0.5, 0.0, 0.7): "Her;Wall-E",
}
SHARE = 0.5  # of all pairs that are rated


def rows():
    """Yield (person, film, stars), people in alphabetical order."""
    rng = np.random.default_rng(17)
    films = [(name, genre) for genre, names in FILMS.items() for name in names.split(";")]
    for person in PEOPLE:
        taste = rng.dirichlet([0.4, 0.4, 0.4])
        for name, genre in sorted(films):
            stars = 1.5 + 3.5 * min(1.0, 1.3 * float(taste @ genre)) + rng.normal(0, 0.4)
            if rng.uniform() < SHARE:
                yield person, name, int(np.clip(round(stars), 1, 5))


if __name__ == "__main__":
    with Path("docs/films.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["person", "film", "stars"])
        writer.writerows(rows())
