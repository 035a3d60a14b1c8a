"""Nothing grows unseen: calls, reads of entropy and modules loaded, beside what is recorded."""

import secrets

import pytest
from work import FILE, WITHIN, Counted, differences, measured, recorded, versions

from dppandas.privacy.accounting.losses import Epsilon, parse_budget
from dppandas.privacy.sampling import entropy


def test_nothing_grows_unseen() -> None:
    """No more and no less: a gain is recorded, or it is lost again unseen."""
    found, known = measured(), recorded().get(versions())
    if known is None:
        print(f"{FILE.name} has no record of {versions()}, so that nothing is compared: {found}")
        return
    assert differences(found, known) == [], (
        "if this was meant, record it and say why: python tests/work.py --save"
    )


def test_it_notices_more_and_less() -> None:
    known = {"count": {"calls": 100, "reads": 1}}
    for calls, is_noticed in ((94, True), (95, False), (100, False), (105, False), (106, True)):
        assert bool(differences({"count": {"calls": calls, "reads": 1}}, known)) == is_noticed
    for reads in (0, 2):
        assert differences({"count": {"calls": 100, "reads": reads}}, known)
    assert differences({}, known), "a question that isn't asked any more"
    assert differences({**known, "mean": {"calls": 1}}, known), "a question that isn't recorded"
    assert WITHIN <= 0.05


def test_a_stray_call_and_a_stray_read_are_counted() -> None:
    with Counted() as once:
        parse_budget(1)
    with Counted() as twice:
        parse_budget(1)
        parse_budget(1)
        [Epsilon(1) for _ in range(3)]
    assert twice["calls"] >= 2 * once["calls"] >= 2
    with Counted() as read:
        entropy.SYSTEM.words(5)
        entropy.SYSTEM.below(7)
        entropy.identifier()
    assert read["reads"] >= 3


def test_its_stream_ends_with_the_count() -> None:
    """Noise is the system's before it and after it."""
    with Counted():
        inside = entropy.key()
    with Counted():
        assert entropy.key() == inside
    assert entropy.key() != inside
    assert secrets.token_bytes(16) != secrets.token_bytes(16)


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt])
def test_its_stream_ends_with_an_error_too(fault: type[BaseException]) -> None:
    with pytest.raises(fault), Counted():
        raise fault
    assert entropy.key() != entropy.key()
