"""Own writes against a naive model: the history of one object, with the writer of each version."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio.own_writes import CachedVersion, ObjectChange, OwnWrite, is_echo, is_visible


@dataclass(frozen=True)
class Version:
    """One write of a history: whose it is, and whether its request named the version that it replaced."""

    is_own: bool
    is_provable: bool


Histories = st.lists(st.builds(Version, st.booleans(), st.booleans()), min_size=1, max_size=8)


def own_writes(history: list[Version]) -> list[OwnWrite]:
    """The own writes of a history whose versions are 1, 2, …; the first one creates the object."""
    return [
        OwnWrite("maps", "ns/a", "u", str(number or "") if write.is_provable else None, str(number + 1))
        for number, write in enumerate(history)
        if write.is_own
    ]


def change(old: int, new: int, uid: str = "u") -> ObjectChange:
    return ObjectChange("maps", "ns/a", uid, str(old or ""), str(new))


@given(Histories, st.data())
def test_an_echo_consists_of_provably_own_writes(history: list[Version], data: st.DataObject) -> None:
    old = data.draw(st.integers(0, len(history) - 1))
    new = data.draw(st.integers(old + 1, len(history)))
    writes = data.draw(st.permutations(own_writes(history)))
    expected = all(write.is_own and write.is_provable for write in history[old:new])
    assert is_echo(change(old, new), writes) == expected


@given(Histories, st.data())
def test_writes_to_another_object_prove_nothing(history: list[Version], data: st.DataObject) -> None:
    new = data.draw(st.integers(1, len(history)))
    writes = own_writes(history)
    assert not is_echo(change(0, new, uid="other"), writes)
    assert not is_echo(change(0, new)._replace(resource="secrets"), writes)


@given(Histories, st.booleans())
def test_only_an_own_deletion_is_an_echo(history: list[Version], is_own: bool) -> None:
    writes = own_writes(history)
    if is_own:
        writes.append(OwnWrite("maps", "ns/a", "u", None, ""))
    gone = ObjectChange("maps", "ns/a", "u", str(len(history)), "")
    assert is_echo(gone, writes) == is_own
    assert not is_echo(gone._replace(uid="other"), writes)


@given(st.integers(1, 20), st.integers(0, 20), st.integers(0, 20))
def test_a_write_is_visible_once_the_object_or_the_whole_cache_is_as_new(written: int, cached: int, store: int) -> None:
    write = OwnWrite("maps", "ns/a", "u", None, str(written))
    found = CachedVersion("u", str(cached), is_deleting=False) if cached else None
    expected = cached >= written or store >= written
    assert is_visible(write, found, str(store) if store else "") == expected


@given(st.sampled_from(["u", "other", None]))
def test_a_removal_is_visible_once_the_object_is_deleted_or_replaced(uid: str | None) -> None:
    removal = OwnWrite("maps", "ns/a", "u", None, "")
    found = None if uid is None else CachedVersion(uid, "7", is_deleting=False)
    # Whatever the version of the cache as a whole: the version of a removal is not known.
    assert is_visible(removal, found, "1000") == (uid != "u")
