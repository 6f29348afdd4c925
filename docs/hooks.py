"""Hooks of mkdocs: tables of measurements are left out of the search, and the changelog is a page of the site."""

from pathlib import Path

from mkdocs.structure.files import File

TABLES = ("coverage", "simulations.md", "wrong-policy.md")
BEHIND = ("auto.md", "everyday.md", "decisions/")
CHANGES = Path(__file__).parents[1] / "CHANGELOG.md"


def on_files(files, config):
    """The changelog, which stands beside the README."""
    files.append(File.generated(config, "changelog.md", content=CHANGES.read_text(encoding="utf-8")))
    return files


def on_post_page(output, page, config):
    """Names for readers of screens, which the theme leaves out."""
    return output.replace(
        'data-md-component="search" role="dialog"', 'data-md-component="search" role="dialog" aria-label="Search"'
    )


def on_page_markdown(markdown, page, config, files):
    """Say how much a page counts in the search."""
    address, search = page.file.src_uri, page.meta.setdefault("search", {})
    if address.startswith(TABLES):
        search["exclude"] = True
    elif address.startswith(BEHIND):
        search["boost"] = 0.2
    return markdown
