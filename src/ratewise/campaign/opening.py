"""Opens a campaign's store, to write it or to look at it; a damaged one is an error of one line."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from ratewise.campaign.damage import UNREADABLE, damaged_log, is_sound
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import InputError, RatewiseError
from ratewise.store.archive import readable
from ratewise.store.store import Store


@contextmanager
def opened(spec: Spec, *, looking: bool = False) -> Iterator[Store]:
    """Open the store; to look at a store that cannot be written, such as an archive, a copy is opened."""
    with ExitStack() as held:
        where = spec.store
        if looking and "://" not in where:
            where = held.enter_context(readable(os.path.join(spec.folder, where)))
        store = Store.at(where, str(spec.folder), spec.name)
        held.callback(store.close)
        try:
            with store.sound():
                yield store
        except RatewiseError:
            raise
        except UNREADABLE as error:
            if not is_sound(spec):
                raise damaged_log(spec, error) from error
            raise


@contextmanager
def opened_begun(spec: Spec, *, looking: bool = False) -> Iterator[Store]:
    """Open the store of a campaign that has begun, in this version's form; an InputError where it has not."""
    with opened(spec, looking=looking) as store:
        if not store.exists():
            raise InputError(f"the campaign {spec.name!r} has not begun; start it with: ratewise run {spec.path.name}")
        store.upgrade()
        yield store
