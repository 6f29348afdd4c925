"""A whole JSON document from a file, for adapters."""

import json
import os
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.engine import one_line, reason


def read_json(path: str) -> Any:
    """What the file holds; a missing or broken file is one clear line."""
    name = one_line(os.path.basename(path))
    try:
        with open(path, encoding="utf-8-sig") as file:
            return json.load(file)
    except FileNotFoundError as error:
        raise TableError(f"{one_line(path)} does not exist; check the path") from error
    except OSError as error:
        raise TableError(f"{name} cannot be read: {reason(error)}") from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise TableError(f"{name} is not JSON: {one_line(str(error))}") from error
