"""The site: `make docs` makes it of these pages, of docstrings and of the options. It goes to build/, not into git."""

import sys
from pathlib import Path

from onlooker import __version__

sys.path.insert(0, str(Path(__file__).parent / "site"))  # what only the site needs

project = "Onlooker"
version = release = __version__
copyright = "the Onlooker authors, MIT licence"
language = "en"

extensions = ["myst_parser", "sphinx.ext.autodoc", "filling_in", "docstrings"]
myst_heading_anchors = 4  # as deep as a link may point, by the anchors that code hosts make

highlight_language = "text"  # of blocks that name none: commands and what they print
smartquotes = False  # quotes in a text may be typed on a command line
toc_object_entries_show_parents = "hide"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
maximum_signature_line_length = 100

html_theme = "furo"
html_title = f"{project} {version}"
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
