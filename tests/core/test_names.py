import subprocess
import sys

from ratewise.core import names


def test_every_list_of_words_is_that_of_its_type():
    assert names.ESTIMANDS == ("population", "pool")
    assert names.MODES == ("stream", "pool")
    lists = [value for name, value in vars(names).items() if name.isupper()]
    assert len(lists) == 12
    assert all(len(set(words)) == len(words) > 1 for words in lists)
    assert "auto" in names.METHODS
    assert set(names.REGRESSION_METHODS) <= set(names.METHODS)


def test_it_imports_nothing_heavy():
    code = "import sys, ratewise.core.names; print(*({'numpy', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
