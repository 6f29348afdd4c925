"""Files that other tools write → tables. Read-only: nothing is written in these formats.

An adapter is a function from a path to a `Table`, in a file of its own; a new one is that file and a line here.
`read_table(path, format="helm")` finds it by its name.
"""

from collections.abc import Callable

from ratewise.tables.adapters.helm import read_helm
from ratewise.tables.table import Table

ADAPTERS: dict[str, Callable[[str], Table]] = {"helm": read_helm}
