"""The record for public registries: its figures are the ledger's, it reads back, and what nobody
but the publisher knows stays null."""

import json
import os
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledgers import agreed, limit
from refusals import refusal

import dppandas as dp
from dppandas import __main__
from dppandas.errors import QueryError, StoreError
from dppandas.ledger import export
from dppandas.ledger.deployment.record import PublisherFacts, _up
from dppandas.ledger.deployment.yaml_text import Noted, as_yaml, plain
from dppandas.ledger.earlier_questions import earlier
from dppandas.ledger.storage.sqlite import SqliteStore
from dppandas.ledger.storage.store import Entry, MemoryStore
from dppandas.privacy.accounting.composition import Part
from dppandas.privacy.accounting.losses import Epsilon, Loss

yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra [suite]")

SESSIONS: dict[str, dict[str, Any]] = {
    "no limit": {}, "pure": {"epsilon": 2}, "approximate": {"epsilon": 2, "delta": 1e-6},
    "zcdp": {"rho": "0.3", "delta": 1e-6, "delta_releases": 1e-7},
}  # fmt: skip


def asked(session: str = "pure", store: Path | None = None) -> dp.types.Ledger:
    """A ledger with answers of several kinds, one of them given twice."""
    dp.session(store=store, **SESSIONS[session])
    secret = pd.DataFrame({
        "salary": range(100, 200), "town": list("ab") * 50, "who": [i // 4 for i in range(100)],
    })  # fmt: skip
    people = dp.protect(secret, name="people", version="1")
    visits = dp.protect(secret[["salary", "who"]], "visits", unit="who", max_rows=2, version="b")
    people.count(epsilon=0.25)
    people.query("salary < 150")["town"].value_counts(keys=["a", "b"], epsilon="1/3")
    people["salary"].median(bounds=(0, 300), epsilon="0.1")
    visits["salary"].sum(bounds=(0, 300), epsilon="0.1")
    dp.private(secret, unit="row").count(epsilon="0.1")
    people.count(epsilon=0.25)
    return dp.ledger()


def exported(ledger: dp.types.Ledger, file: Path, **more: Any) -> Any:
    ledger.export(file, **more)
    return yaml.safe_load(file.read_text("utf-8"))


@pytest.mark.parametrize("session", SESSIONS)
def test_its_figures_are_those_of_the_ledger(session: str, tmp_path: Path) -> None:
    ledger = asked(session)
    said, table = exported(ledger, tmp_path / "d.yaml"), ledger.to_frame()
    charged = table[table["status"] != "replayed"]
    figures, counted = said["ledger"], [n for n in ("epsilon", "rho", "delta") if n in table]
    assert set(figures["spent"]) == set(counted)
    for name in counted:
        assert Fraction(figures["spent"][name]) == getattr(ledger.loss, name)
        if ledger._left is not None:
            assert Fraction(figures["left"][name]) == getattr(ledger._left, name)
            assert Fraction(figures["budget"][name]) == getattr(ledger._terms.limit, name)
    assert (figures["budget"] is None) == (figures["left"] is None) == (session == "no limit")
    assert figures["is_exhausted"] is (None if session == "no limit" else False)
    assert {s["name"]: s["releases"] for s in figures["sources"]} == {"people": 4, "visits": 1}
    assert [s["units"] for s in figures["sources"]] == [
        ["each row"], ["each 'who' (at most 2 rows)"],
    ]  # fmt: skip
    releases = figures["releases"]
    assert (releases["charged"], releases["answered"], releases["replayed"]) == (5, 5, 1)
    told = sorted(
        (each["mechanism"], Fraction(each["loss"][counted[0]]), each["releases"])
        for each in releases["by_mechanism"]
    )
    entries = [e for e in ledger._entries() if e.status != "replayed"]
    pairs = [(e.mechanism, getattr(e.loss, counted[0])) for e in entries]
    assert told == sorted((*pair, pairs.count(pair)) for pair in {*pairs})
    assert releases["first_day"] == charged["time"].min().strftime("%Y-%m-%d")
    assert figures["neighbours"] == "add or remove one unit"


@pytest.mark.parametrize("session", SESSIONS)
def test_what_is_promised_never_looks_stronger_than_it_is(session: str, tmp_path: Path) -> None:
    ledger = asked(session)
    told = exported(ledger, tmp_path / "d.yaml")["deployment"]
    terms, promised = ledger._terms, told["privacy_loss"]["privacy_parameters"]
    expected = {
        "no limit": {"epsilon": ledger.spent},
        "pure": {"epsilon": Epsilon(2)},
        "approximate": {"epsilon": Epsilon(2), "delta": Fraction(1, 10**6)},
        "zcdp": {"epsilon": terms.epsilon, "delta": Fraction(11, 10**7), "rho": Fraction(3, 10)},
    }[session]
    assert set(promised) == set(expected)
    for name, exact in expected.items():
        assert exact is not None
        assert isinstance(promised[name], float), name  # YAML 1.1 takes 1e-06 for a text
        assert 0 <= Fraction(repr(promised[name])) - exact <= exact * Fraction(1, 10**15)
    words = told["privacy_loss"]["privacy_parameters_details"]
    assert ("nothing kept them from growing" in " ".join(words.split())) == (session == "no limit")
    assert told["dp_variant"]["variant_name"] == {
        "approximate": "Approximate DP", "zcdp": "Zero-concentrated DP",
    }.get(session, "Pure DP")  # fmt: skip


@given(st.fractions(min_value=0, max_value=10**12))
def test_numbers_are_rounded_up(exact: Fraction) -> None:
    told = _up(exact)
    assert exact <= Fraction(repr(told)) <= exact * (1 + Fraction(1, 2**50)) + Fraction(1, 10**300)


def test_a_number_that_no_float_holds_is_told_to_the_letter() -> None:
    assert _up(Epsilon(10**400)) == str(10**400)
    assert _up(Fraction(3, 10)) == 0.3


#: The sections of a registry's record and what stands in each.
FIELDS = {
    "basic": "name data_curators intended_use data_product_type data_product_region description "
    "publication_date data_product_sector",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details privacy_parameters "
    "privacy_parameters_details",
    "deployment_model": "model_name model_name_details actors release_type data_source_type "
    "access_type",
    "accounting": "post_processing composition",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms justification",
    "administrative": "sources registry_authors",
}


def test_it_has_the_fields_of_a_registry_and_asks_for_what_is_missing(tmp_path: Path) -> None:
    said = exported(asked(), tmp_path / "d.yaml")
    assert list(said) == ["form", "deployment", "safeguards", "ledger"]
    assert said["form"] == 1
    assert {name: " ".join(said["deployment"][name]) for name in said["deployment"]} == FIELDS
    text = (tmp_path / "d.yaml").read_text("utf-8")
    missing = [line for line in text.splitlines() if re.search(r": null\b", line)]
    assert len(missing) >= 15
    assert [line for line in missing if not re.search(r": null  # \w", line)] == []
    assert "TODO" not in text


def test_what_the_publisher_says_stands_in_its_place(tmp_path: Path) -> None:
    facts = {
        "name": "Pay by town", "curator": "Town: hall # 1", "purpose": "To teach",
        "description": "Counts\nand a median", "justification": "ε = 2 is 'usual'",
    }  # fmt: skip
    assert set(facts) == set(PublisherFacts._fields)
    ledger = asked()
    for said in (
        exported(ledger, tmp_path / "d.yaml", **facts)["deployment"],
        exported(ledger, tmp_path / "d.json", **facts)["deployment"],
    ):
        basic = said["basic"]
        assert basic["data_curators"][0]["data_curator_name"] == facts["curator"]
        assert said["implementation"]["justification"] == facts["justification"]
        assert [basic["name"], basic["intended_use"], basic["description"]] == [
            facts["name"], facts["purpose"], facts["description"],
        ]  # fmt: skip


def test_programs_get_the_same_as_json(tmp_path: Path) -> None:
    ledger = asked("approximate")
    ledger.export(tmp_path / "d.json")
    as_json = json.loads((tmp_path / "d.json").read_text("utf-8"))["deployment"]
    assert as_json == exported(ledger, tmp_path / "d.yml")["deployment"]


def test_it_says_what_is_known_of_attacks_on_implementations(tmp_path: Path) -> None:
    said = exported(asked(), tmp_path / "d.yaml")
    assert list(said["safeguards"]) == ["floating_point", "timing", "randomness", "accounting"]
    assert "experimental" not in said["safeguards"]["floating_point"]
    mechanisms = " ".join(said["deployment"]["implementation"]["mechanisms"].split())
    assert "- discrete Laplace: 4 releases. - exponential: 1 release. - float" in mechanisms
    for text in said["safeguards"].values():
        assert " ".join(text.split()) in mechanisms
    dp.reset()
    dp.session(epsilon=9, experimental=True)
    column = pd.Series(range(100), name="x").dp
    column.median(bounds=(0, 99), method="smooth", epsilon=1)
    floats = exported(dp.ledger(), tmp_path / "e.yaml")["safeguards"]["floating_point"]
    assert "they compute in floats, about which nothing is proven" in " ".join(floats.split())


def test_it_says_that_a_score_was_vouched_for(tmp_path: Path) -> None:
    dp.session(epsilon=9)
    frame = pd.DataFrame({"x": range(100)})
    dp.protect(frame, name="x").count(epsilon=1)
    dp.select(frame, [1, 2], score=lambda rows, key: len(rows) // key, sensitivity=1, epsilon=1)
    said = exported(dp.ledger(), tmp_path / "d.yaml")
    unit = " ".join(said["deployment"]["privacy_loss"]["privacy_unit_details"].split())
    assert "In 1 of 2 releases the analyst vouches for how much one unit changes a score" in unit
    floats = " ".join(said["safeguards"]["floating_point"].split())
    assert "Scores of the analyst's own function are the exception" in floats
    dp.ledger().export(tmp_path / "d.html")
    page = (tmp_path / "d.html").read_text("utf-8")
    assert "In 1 of 2 releases, one unit changes a score by no more than stated" in page


@pytest.mark.parametrize("ending", ["yaml", "json", "html"])
def test_terms_are_those_of_after_the_charges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    """A session in memory gets its budget, and answers, just before the charges are read."""
    file, sealed = tmp_path / f"late.{ending}", MemoryStore.sealed

    def late(store: MemoryStore) -> Any:
        dp.session(rho=5, delta=1e-6)
        dp.protect(pd.DataFrame({"x": range(9)}), name="p").count(rho=4)
        return sealed(store)

    monkeypatch.setattr(MemoryStore, "sealed", late)
    dp.ledger().export(file)
    said = file.read_text("utf-8")
    if ending == "html":
        assert "zero-concentrated" in said
    else:
        read = yaml.safe_load(said)
        assert Fraction(read.get("ledger", read).get("spent", read.get("spent"))["rho"]) == 4


def test_a_file_that_comes_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, file = os.link, tmp_path / "d.yaml"
    ledger = asked()

    def late(half: Path, target: Path) -> None:
        file.write_text("mine")
        link(half, target)

    monkeypatch.setattr(export.os, "link", late)
    refusal(lambda: ledger.export(file), "there already", StoreError)
    assert [each.name for each in tmp_path.iterdir()] == ["d.yaml"]
    assert file.read_text() == "mine"


@pytest.mark.parametrize("is_there", [False, True])
def test_a_disk_without_links_takes_a_record_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    ledger, file = asked(), tmp_path / "d.yaml"

    def without(half: Path, target: Path) -> None:
        if is_there:
            file.write_text("mine")
        raise PermissionError("no links here")

    monkeypatch.setattr(export.os, "link", without)
    if is_there:
        refusal(lambda: ledger.export(file), "there already", StoreError)
        assert file.read_text() == "mine"
    else:
        assert exported(ledger, file)["form"] == 1
    assert [each.name for each in tmp_path.iterdir()] == ["d.yaml"]


def test_a_disk_that_fails_leaves_no_empty_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*paths: Path) -> None:
        raise PermissionError("read only by now")

    for function in ("link", "replace"):
        monkeypatch.setattr(export.os, function, fails)
    refusal(lambda: dp.ledger().export(tmp_path / "d.yaml"), "can't be written", StoreError)
    assert not [*tmp_path.iterdir()]


def test_no_ledger_is_overwritten(tmp_path: Path) -> None:
    other = tmp_path / "other.html"
    dp.session(epsilon=1, store=other)
    dp.reset()
    before = other.read_bytes()
    (tmp_path / "link.json").symlink_to(other)
    for name in ("other.html", "link.json"):
        refusal(lambda name=name: dp.ledger().export(tmp_path / name), "database", StoreError)
    assert other.read_bytes() == before


@pytest.mark.parametrize("path", ["a\0b.yaml", "x" * 300 + ".yaml"])
def test_a_path_that_no_disk_takes_is_refused(tmp_path: Path, path: str) -> None:
    refusal(lambda: dp.ledger().export(tmp_path / path), "can't be written", StoreError)


def test_it_says_how_losses_were_added_up_and_on_whose_word(tmp_path: Path) -> None:
    def words(ledger: dp.types.Ledger, section: str, name: str) -> str:
        said = exported(ledger, tmp_path / "d.yaml", replace=True)["deployment"]
        return " ".join(said[section][name].split())

    unit = "privacy_loss", "privacy_unit_details"
    ledger = asked()
    asserted = (ledger.to_frame()["lineage"] == "asserted").sum()
    assert f"{asserted} of 5 releases have asserted lineage" in words(ledger, *unit)
    assert "parts of a partition" not in words(ledger, "accounting", "composition")
    dp.reset()
    dp.session(epsilon=2)
    frame = pd.DataFrame({"sex": ["f", "m"] * 50})
    people = dp.protect(frame, name="people")
    for each in people.partition("sex", keys=["f", "m"]).values():
        each.count(epsilon=1)
    assert "asserted" not in words(dp.ledger(), *unit)
    assert "parts of a partition" in words(dp.ledger(), "accounting", "composition")
    assert exported(dp.ledger(), tmp_path / "p.yaml")["ledger"]["spent"] == {"epsilon": "1"}


def test_what_has_no_answer_is_counted_apart(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "a.ledger", limit(2))
    draft = Entry(0, 0.0, "s", "verified", earlier("count"), Loss(Epsilon(1)), "m", "1", "", None)
    store.add([draft._replace(path=(Part("sex", k, 1),)) for k in "fm"], agreed)
    store.add([draft], agreed)
    store.settle(1, "failed")
    store.settle(3, "recorded")
    ledger = dp.types.Ledger(store.terms, store)
    figures = exported(ledger, tmp_path / "d.yaml")["ledger"]
    counts = [figures["releases"][n] for n in ("charged", "answered", "failed", "in_audits")]
    assert counts == [3, 0, 1, 1]
    assert figures["releases"]["without_outcome"] == 1
    assert figures["releases"]["refused"] is None  # nobody knows
    assert figures["is_exhausted"] is True
    assert (figures["file"], len(figures["head"])) == ("a.ledger", 64)
    assert str(tmp_path) not in (tmp_path / "d.yaml").read_text("utf-8")


def test_an_empty_ledger_has_a_record(tmp_path: Path) -> None:
    said = exported(dp.ledger(), tmp_path / "d.yaml")
    assert said["ledger"]["sources"] == said["ledger"]["releases"]["by_mechanism"] == []
    assert said["deployment"]["deployment_model"]["release_type"] is None
    assert said["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.0}
    pd.DataFrame({"x": [1]}).dp.count(epsilon=1)
    said = exported(dp.ledger(), tmp_path / "e.yaml")
    assert said["deployment"]["deployment_model"]["release_type"] == "One release"


def test_it_costs_nothing_and_shows_no_query_and_no_answer(tmp_path: Path) -> None:
    ledger = asked()
    before = ledger.loss, ledger._count()
    text = [exported(ledger, tmp_path / "d.yaml"), (tmp_path / "d.yaml").read_text("utf-8")][1]
    assert (ledger.loss, ledger._count()) == before
    assert not re.search(r"salary|town|value_counts|median", text)  # columns and queries
    assert not re.search(r"±|\b(estimate|interval|value)\b", text)


def test_people_who_wrote_in_a_record_keep_what_they_wrote(tmp_path: Path) -> None:
    ledger, file = dp.ledger(), tmp_path / "d.yaml"
    file.write_text("name: what somebody wrote\n")
    for more in ({}, {"replace": None}, {"replace": False}):
        refusal(lambda more=more: ledger.export(file, **more), "is there already", StoreError)
    assert file.read_text() == "name: what somebody wrote\n"
    assert exported(ledger, file, replace=True)["form"] == 1
    for ending in ("html", "json", "csv"):  # nobody writes in these
        other = tmp_path / f"r.{ending}"
        other.write_text("old")
        refusal(lambda other=other: ledger.export(other, replace=False), "replace=True", StoreError)
        ledger.export(other)
        assert other.read_text("utf-8") != "old"


def test_wrong_arguments_are_refused_and_write_nothing(tmp_path: Path) -> None:
    ledger = dp.ledger()
    refused: list[tuple[str, dict[str, Any], str]] = [
        ("d.yaml", {"purpose": 3}, r"purpose=3 must be a text, such as purpose="),
        ("d.yaml", {"name": " "}, r"name=' ' must be a text"),
        ("d.yaml", {"curator": pd.DataFrame({"secret": [1]})}, r"curator=a DataFrame must be"),
        ("d.html", {"purpose": "x"}, r"purpose= has no place in a \.html file"),
        ("d.csv", {"justification": "x"}, r"justification= has no place in a \.csv file"),
        ("d.yaml", {"replace": "yes"}, r"replace='yes' must be True or False"),
        ("d.toml", {}, r"must end in \.html .* or \.yaml"),
    ]
    for name, more, said in refused:
        ask = lambda name=name, more=more: ledger.export(tmp_path / name, **more)  # noqa: E731
        refusal(ask, said, QueryError)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.yaml")
        refusal(lambda: ledger.export(tmp_path / "pipe.yaml"), "isn't a regular file", StoreError)
        (tmp_path / "pipe.yaml").unlink()
    assert os.listdir(tmp_path) == []


def test_a_terminal_writes_it_too(tmp_path: Path, capsys: Any) -> None:
    asked("pure", tmp_path / "a.ledger")
    dp.reset()
    command = ["export", str(tmp_path / "a.ledger"), str(tmp_path / "d.yaml")]
    assert __main__.main(command) == 0
    first = (tmp_path / "d.yaml").read_bytes()
    assert __main__.main(command) == 2
    assert "is there already" in capsys.readouterr().err
    assert __main__.main([*command, "--replace"]) == 0
    assert (tmp_path / "d.yaml").read_bytes() == first


def test_a_terminal_takes_what_only_the_publisher_knows(tmp_path: Path, capsys: Any) -> None:
    asked("pure", tmp_path / "a.ledger")
    facts = {name: f"our {name}" for name in PublisherFacts._fields}
    dp.reset()
    options = [word for name, said in facts.items() for word in (f"--{name}", said)]
    command = ["export", str(tmp_path / "a.ledger")]
    assert __main__.main([*command, str(tmp_path / "other.yaml"), *options]) == 0
    written = (tmp_path / "other.yaml").read_text(encoding="utf-8")
    assert [said for said in facts.values() if said not in written] == []
    assert __main__.main([*command, str(tmp_path / "a.csv"), "--purpose", "this"]) == 2
    assert "purpose= has no place in a .csv file" in capsys.readouterr().err


# --- YAML -----------------------------------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers() | st.text() | st.floats(
    allow_nan=False, allow_infinity=False
)  # fmt: skip
KEYS = st.text("abcdefgh_", min_size=1).filter(lambda key: not key.startswith("_"))
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.dictionaries(KEYS, inner | st.builds(Noted, inner, st.text()))
        | st.lists(SCALARS | st.dictionaries(KEYS, inner))
    ),
    max_leaves=12,
)


@given(st.dictionaries(KEYS, VALUES), st.text("ab #:-"))
def test_what_is_written_reads_back_the_same(value: dict[str, Any], comment: str) -> None:
    read = yaml.safe_load(as_yaml(value, comment))
    assert (read or {}) == plain(value)
    assert repr(read or {}) == repr(plain(value))  # 1 is not 1.0, nor True


@pytest.mark.parametrize("text", [
    "no", "null", "~", "1", "1e3", "0x1f", "2025-12-31", "12:30:45", ": a", "a: b", "# a", "- a",
    "!!python/object:os.system", "&a *a", "<<", "a\nb", "a\n\nb", " a\nb", "a\n b", "a \nb", "a\n",
    "\na", "\n", "", " ", "\t", "a\tb\nc", "'\"\\", "\x00\x1b\x85\xa0\u2028\ufeff", "\ud800", "😀",
    "---\n...", "%YAML 1.2", "|-", "a\r\nb",
])  # fmt: skip
def test_texts_stay_texts(text: str) -> None:
    written = as_yaml({"key": text, "list": [text, {"in": Noted(text, text), "end": 1}]})
    assert yaml.safe_load(written) == {"key": text, "list": [text, {"in": text, "end": 1}]}
    assert all(line.isprintable() for line in written.splitlines())


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1j, b"a", {1, 2}, Epsilon(1)])
def test_nothing_else_is_written(value: Any) -> None:
    with pytest.raises(TypeError, match="no YAML for a"):
        as_yaml({"key": value})
