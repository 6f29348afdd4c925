"""Reports, in one line, a store whose tables can be read but make no sense: it is not a mistake of the program."""

from ratewise.campaign.items import LoggedItems
from ratewise.campaign.snapshot import reader_of
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.verify import verify_log
from ratewise.errors import RatewiseError, StoreError
from ratewise.raters.text import one_line
from ratewise.store.store import Store

UNREADABLE = (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, TypeError, ValueError)


def is_sound(spec: Spec) -> bool:
    """Whether the whole log can be replayed; called only after something has gone wrong."""
    store = Store.at(spec.store, str(spec.folder), spec.name)
    try:
        if not store.exists():
            return True
        with store.still():
            reader = reader_of(spec, store)
            assert isinstance(reader.items, LoggedItems)
            return verify_log(spec, store, reader.items, reader).passed
    except (RatewiseError, *UNREADABLE):
        return False
    finally:
        store.close()


def damaged_log(spec: Spec, error: Exception) -> StoreError:
    """In one line."""
    reason = one_line(f"{type(error).__name__}: {error}", 120)
    return StoreError(
        f"the log of {spec.name!r} is damaged: what it says does not fit together ({reason}); `ratewise verify` may "
        "say where, and a backup helps: nothing was changed"
    )
