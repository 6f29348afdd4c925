"""The text of a campaign's TOML, as most tests need it; parts in braces are left for `str.format`."""


def rater(name, *, kind="column", price="1", column="", more=""):
    """One rater; a column is called as the rater is, unless said."""
    own = f'column = "{column or name}"\n' if kind == "column" else ""
    return f'[[raters]]\nname = "{name}"\nkind = "{kind}"\n{own}price = "{price}"\n{more}\n'


def toml_of(*raters, top="seed = 7", table="items.csv", items="", rating='kind = "binary"', goal='budget = "30"'):
    """A campaign of such raters."""
    parts = (top, "[items]", f'table = "{table}"', items, "[rating]", rating, "[goal]", goal)
    return "\n".join(part for part in parts if part) + "\n" + "".join(raters)
