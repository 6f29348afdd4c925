"""The documentation runs: its Python, its commands, its links and its numbers."""

import contextlib
import importlib.util
import io
import json
import re
import shlex
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

import ratewise
from ratewise.cli.main import app, main

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "ratewise"
PAGES = sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
COMMANDS = get_command(app).commands
EXTRAS = [
    set(),
    *({name} for name in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]),
]
DEMO = ("pilot.csv", "pool.csv", "plan.json", "rated.csv")

_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page):
    """(language, content, text up to the next block) of every fenced block."""
    text = page.read_text(encoding="utf-8")
    found = list(_FENCE.finditer(text))
    ends = [match.start() for match in found] + [len(text)]
    return [(match[1], match[2], text[match.end() : end]) for match, end in zip(found, ends[1:], strict=True)]


def pages_with(language):
    return [page for page in PAGES if any(block[0] == language for block in blocks(page))]


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """What `ratewise demo` writes."""
    folder = tmp_path_factory.mktemp("demo") / "ratewise-demo"
    with contextlib.redirect_stdout(io.StringIO()), pytest.raises(SystemExit) as left:
        main(["demo", "-o", str(folder)])
    assert left.value.code == 0
    return folder


@pytest.fixture(scope="session")
def by_hand(demo, tmp_path_factory):
    """The files of one who plans, draws and estimates step by step, from the demo's pilot and pool."""
    folder = tmp_path_factory.mktemp("by_hand")
    for name in ("pilot.csv", "pool.csv"):
        shutil.copy(demo / name, folder / name)
    made = ratewise.plan(
        folder / "pilot.csv", weak="judge", strong="human", weak_cost=0.01, strong_cost=1.0, budget=400, pool_size=4000
    )
    made.save(folder / "plan.json")
    drawn = ratewise.draw_pool(folder / "pool.csv", made.transfer, seed=7)
    human = [json.loads(line)["rating"] for line in (demo / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
    rated = drawn.table.with_columns({"human": np.where(drawn.selected, human, np.nan)})
    ratewise.write_table(rated, folder / "rated.csv")
    return folder


@pytest.fixture
def folder(demo, tmp_path, monkeypatch):
    """A folder in which the files that the pages speak of are there."""
    shutil.copytree(demo, tmp_path / "ratewise-demo")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_fence_is_closed_and_named():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(re.findall(r"^```", text, re.MULTILINE)) == 2 * len(blocks(page)), name_of(page)


def test_files_that_pages_name_exist():
    """`core/policy.py` and the like, as seen from src/ratewise or from the top."""
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        for path in re.findall(r"`([\w/]+/\w+\.py)`", page.read_text(encoding="utf-8")):
            top = PACKAGE if path.split("/")[0] in rooms else ROOT
            assert (top / path).is_file(), f"{name_of(page)} names {path}"


def test_one_rating_walks_through_the_rooms_in_thirty_hops():
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    hops = re.findall(r"^(\d+)\. `([\w/]+\.py)`: `(\w+)`", text, re.MULTILINE)
    assert [int(number) for number, _, _ in hops] == list(range(1, len(hops) + 1))
    assert 20 <= len(hops) <= 30
    for _, path, name in hops:
        assert re.search(rf"def {name}\(", (PACKAGE / path).read_text(encoding="utf-8")), f"{path} has no {name}"


# Python


@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_python_runs_and_prints_what_the_page_says(page, folder):
    """All blocks of a page in one namespace; a text block right after one is its output, to the letter."""
    space = {"__name__": "example"}
    found = blocks(page)
    for number, (language, code, after) in enumerate(found):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, f"{name_of(page)}, block {number + 1}", "exec"), space)
        follows = number + 1 < len(found) and found[number + 1][0] == "text" and not after.strip()
        if follows:
            assert printed.getvalue() == found[number + 1][1]


def test_the_readme_has_an_example_with_its_output():
    languages = [language for language, _, _ in blocks(ROOT / "README.md")]
    assert languages[languages.index("python") + 1] == "text"
    (code,) = [content for language, content, _ in blocks(ROOT / "README.md") if language == "python"]
    assert code.count("print(") >= 1


# Commands


def commands(page):
    """Every command of the console blocks: continued lines joined, prompts taken off."""
    lines = []
    for language, content, _ in blocks(page):
        if language == "console":
            lines += content.replace("\\\n", " ").splitlines()
    return [re.sub(r"\s+#.*", "", line.removeprefix("$ ")).strip() for line in lines if line.strip()]


@pytest.mark.parametrize("page", pages_with("console"), ids=name_of)
def test_console_commands_are_real(page):
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for line in commands(page):
        program, command, *rest = shlex.split(line)
        assert program in {"make", "ratewise", "pip"}, line
        if program == "pip":
            assert (command, set(re.findall(r"\w+", rest[0])) - {"ratewise"}) in [
                ("install", extras) for extras in EXTRAS
            ]
            continue
        if program == "make":
            assert command in targets, line
            continue
        assert command in COMMANDS, line
        legal = {option for parameter in COMMANDS[command].params for option in parameter.opts}
        assert {word for word in rest if word.startswith("-")} <= legal, line


def run_all(page, demo):
    """The page's commands in their order, each without a word of complaint; the demo has been run already."""
    for line in commands(page):
        program, *words = shlex.split(line)
        if program != "ratewise":
            continue
        if words == ["demo"]:
            shutil.copytree(demo, "ratewise-demo", dirs_exist_ok=True)
            continue
        words, target = (words[:-2], words[-1]) if ">" in words else (words, None)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as left:
            main(words)
        assert (left.value.code, err.getvalue()) == (0, ""), line
        assert out.getvalue()
        if target is not None:
            Path(target).write_text(out.getvalue(), encoding="utf-8")


FIRST = [ROOT / "README.md", DOCS / "index.md", DOCS / "tutorial.md"]


@pytest.mark.parametrize("page", [page for page in pages_with("console") if page not in FIRST], ids=name_of)
def test_console_commands_run(page, folder, by_hand, demo):
    """In a folder with the demo's files under the names that the pages use."""
    for name in DEMO:
        shutil.copy(by_hand / name, name)
    shutil.copy("pool.csv", "next-week.csv")
    run_all(page, demo)


@pytest.mark.parametrize("page", FIRST, ids=name_of)
def test_the_first_pages_work_as_pasted(page, tmp_path, monkeypatch, demo):
    """In an empty folder."""
    monkeypatch.chdir(tmp_path)
    run_all(page, demo)


def test_the_figures_of_the_first_line_are_measured():
    """±2.5, ±1.7 and ±1.0 points of README and home page are half the widths of docs/everyday.md."""
    text = (DOCS / "everyday.md").read_text(encoding="utf-8")
    rows = {}
    for row in re.findall(r"^\| 0\.95 \| 300 \| (.+) \|$", text, re.MULTILINE):
        judge, *cells = row.split(" | ")
        rows[judge] = [float(cell.split(" / ")[2].split()[0]) for cell in cells]
    named = re.search(r"^\| accuracy \| labels \| judge \| (.+) \|$", text, re.MULTILINE)[1].split(" | ")
    alone, campaign = named.index("strong alone, Wilson"), named.index("ratewise, campaign")
    said = {"good": 1.0, "fair": 1.7, "useless": 2.5}
    for page in (ROOT / "README.md", DOCS / "index.md"):
        words = " ".join(page.read_text(encoding="utf-8").split())
        assert "300 at random give you ±2.5 points" in words
        assert all(f"±{points:.1f}" in words for points in said.values())
    for judge, points in said.items():
        assert abs(50 * rows[judge][campaign] - points) <= 0.051
        assert abs(50 * rows[judge][alone] - 2.5) <= 0.051


def test_what_the_first_page_says_of_intervals_is_what_the_tables_say():
    """Least and greatest coverage, mean and largest width of the cells of rounds and campaigns."""
    text = (DOCS / "coverage-everyday.md").read_text(encoding="utf-8")
    parts = re.findall(r"^## (?:Rounds|Campaigns that).+?(?=^## )", text, re.MULTILINE | re.DOTALL)
    cell = re.compile(r"^\| [^|]+ \| ([\d.]+)% \|[^|]+\|[^|]+\| ([\d.]+) ", re.MULTILINE)
    held, width = zip(*(map(float, row) for part in parts for row in cell.findall(part)), strict=True)
    named = re.findall(r"^\| (?:Rounds|Campaigns that)[^|]+\| [\d,]+ \| (\d+) ", text, re.MULTILINE)
    assert len(held) == sum(map(int, named))
    (coarse,) = re.findall(r"^## (Campaigns with judges .+?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    coarse_held = [float(row[0]) for row in cell.findall(coarse)]
    words = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"held {min(held)} to {max(held)} % of the time" in words
    assert f"were {sum(width) / len(width):.2f} times as wide" in words
    assert f"and {max(width)} times at most" in words
    assert f"campaigns held {sum(coarse_held) / len(coarse_held):.1f} % on average" in words
    assert f"{len(coarse_held)} kinds of them" in words
    beside = (DOCS / "everyday.md").read_text(encoding="utf-8")
    rare = [row.split(" | ") for row in re.findall(r"^\| 0\.985 \| 100 \| (.+) \|$", beside, re.MULTILINE)]
    named = re.search(r"^\| accuracy \| labels \| judge \| (.+) \|$", beside, re.MULTILINE)[1].split(" | ")
    held = [
        int(row[1 + named.index(tool)].split(" / ")[1].rstrip("▽"))
        for row in rare
        for tool in ("ppi-python", "evalstats")
    ]
    assert f"ppi-python and evalstats hold {min(held)} to {max(held)} %" in words


def test_the_pages_of_commands_are_their_help(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")  # the page sets it; put back afterwards
    spec = importlib.util.spec_from_file_location("make_cli_page", DOCS / "make_cli_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "cli").iterdir()}
    assert pages == module.pages(), "run `make docs`"
    assert {f"{name}.md" for name in COMMANDS} == set(pages) - {"index.md"}


# Numbers and names


def test_the_rows_that_the_tutorial_shows_are_the_demo_s(demo):
    (shown,) = [content for language, content, _ in blocks(DOCS / "tutorial.md") if language == "text"]
    pilot = (demo / "pilot.csv").read_text(encoding="utf-8").splitlines()
    assert shown.splitlines() == pilot[: len(shown.splitlines())]
    assert len(shown.splitlines()) >= 3


def test_the_test_vector_of_the_draw():
    text = (DOCS / "guides" / "draw.md").read_text(encoding="utf-8")
    items = {"`a`": "a", "`42`": "42", "`été` (UTF-8)": "été", "the empty text": "", "two hundred times `x`": "x" * 200}
    rows = dict(re.findall(r"^\| (.+?) \| (0\.\d+) \|$", text, re.MULTILINE))
    assert set(rows) == set(items)
    for label, item in items.items():
        assert float(rows[label]) == ratewise.uniform([item], seed=7)[0]


def test_the_sql_of_the_draw():
    import duckdb

    (query,) = [content for language, content, _ in blocks(DOCS / "guides" / "draw.md") if language == "sql"]
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE pool AS SELECT * FROM (VALUES ('a'), ('42'), ('été')) AS rows(id)")
        found = [r for (r,) in connection.execute(query).fetchall()]
    assert found == ratewise.uniform(["a", "42", "été"], seed=7).tolist()


def test_the_table_of_symbols_names_what_exists():
    text = (DOCS / "statistics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| (.+) \| (.+) \| (.+) \|$", text.partition("## The estimator")[0], re.MULTILINE)
    files = {file for row in rows for file in re.findall(r"`([\w/]+\.py)`", row[3])}
    assert len(files) >= 6
    for file in files:
        assert (ROOT / "src" / "ratewise" / file).exists(), file
    for row in rows:
        named = re.findall(r"`([\w/]+\.py)`", row[3])
        source = "".join((ROOT / "src" / "ratewise" / file).read_text(encoding="utf-8") for file in named)
        names = [name.strip("…_").replace("-", "_") for name in re.findall(r"`([\w…-]+)`", row[2])]
        assert not named or any(name in source for name in names), row


# The site


def pages_of_the_site():
    return re.findall(r":\s*(\S+\.md)\s*$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)


def test_every_page_is_in_the_navigation():
    there = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    listed = pages_of_the_site()
    assert there <= set(listed)
    assert len(listed) == len(set(listed))


def test_everything_in_the_navigation_is_there():
    made = {"changelog.md"}  # by docs/hooks.py, from the changelog beside the README
    assert [page for page in pages_of_the_site() if not (DOCS / page).exists() and page not in made] == []


def test_programs_are_kept_out_of_the_site():
    left_out = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("exclude_docs:")[2].partition("\nnav:")[0]
    for program in DOCS.rglob("*.py"):
        assert program.name in left_out or "*.py" in left_out


def anchor(heading):
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.lower())).strip("-")


def anchors(page):
    """Where links to a page may lead; a heading that is there again has a number."""
    found = []
    for heading in re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        name, again = anchor(heading), sum(anchor(heading) == re.sub(r"_\d+$", "", one) for one in found)
        found.append(f"{name}_{again}" if again else name)
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", link):
            continue
        file, _, part = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists():
            broken.append(link)
        elif part:
            broken += [link] * (part not in anchors(target))
    assert broken == []


def test_the_changelog_has_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## (\S+)", text, re.MULTILINE)
    assert versions[0] == ratewise.__version__
    assert len(text.partition(f"## {versions[0]}")[2].strip()) > 100


def test_the_reference_page_is_the_docstrings():
    spec = importlib.util.spec_from_file_location("make_reference_page", DOCS / "make_reference_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "reference").iterdir()}
    assert pages == module.pages(), "run `make docs`"
    assert {f"## {name}" for name in ratewise.__all__} <= set("\n".join(pages.values()).splitlines())


def test_the_site_can_be_searched_and_is_dark_where_people_want_it():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "plugins: [search]" in text
    assert "scheme: slate" in text
    assert (DOCS / "site.css").exists()
    home = (DOCS / "index.md").read_text(encoding="utf-8")
    assert "![" in home
    assert home.index("## The first minute") < home.index("## Where to go next")
