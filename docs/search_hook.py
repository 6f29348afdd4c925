"""A hook of mkdocs: whoever searches wants a guide, so tables of measurements are left out of the search."""

TABLES = ("coverage", "simulations.md", "wrong-policy.md")
BEHIND = ("auto.md", "everyday.md", "decisions/")


def on_page_markdown(markdown, page, config, files):
    """Say how much a page counts in the search."""
    address, search = page.file.src_uri, page.meta.setdefault("search", {})
    if address.startswith(TABLES):
        search["exclude"] = True
    elif address.startswith(BEHIND):
        search["boost"] = 0.2
    return markdown
