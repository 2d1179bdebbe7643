"""The version of this project."""

VERSION = "0.2.0"
