"""Pending notifications of a handler, and how they are folded beyond the limit."""

from __future__ import annotations

import pytest

from masthead._sansio.handler_buffer import HandlerBuffer, Notification, NotificationType
from masthead.errors import ArgumentError


def add(key: str, new: int, *, is_initial: bool = False) -> Notification[int]:
    return Notification(NotificationType.ADD, key, None, new, is_initial)


def update(key: str, old: int, new: int) -> Notification[int]:
    return Notification(NotificationType.UPDATE, key, old, new)


def delete(key: str, old: int, *, final_state_known: bool = True) -> Notification[int]:
    return Notification(NotificationType.DELETE, key, old, final_state_known=final_state_known)


SYNC_MARKER: Notification[int] = Notification(NotificationType.SYNC_MARKER)


def folded(*notifications: Notification[int]) -> list[Notification[int]]:
    """The notifications of a buffer that folds from the first one on."""
    buffer = HandlerBuffer[int](limit=0)
    buffer.extend(notifications)
    return buffer.take()


class TestKeeping:
    def test_up_to_its_limit_it_returns_everything_in_order(self) -> None:
        notifications = [
            add("a", 1),
            update("a", 1, 2),
            add("b", 1),
            SYNC_MARKER,
            delete("a", 2),
            add("a", 3),
        ]
        buffer = HandlerBuffer[int](limit=6)
        buffer.extend(notifications)

        assert not buffer.is_folding
        assert len(buffer) == 6
        assert buffer.take() == notifications
        assert len(buffer) == buffer.folded == 0

    def test_it_returns_no_more_than_requested(self) -> None:
        buffer = HandlerBuffer[int]()
        for number in range(5):
            buffer.push(add(str(number), number))

        assert [notification.key for notification in buffer.take(2)] == ["0", "1"]
        assert buffer.take(0) == []
        assert [notification.key for notification in buffer.take(9)] == ["2", "3", "4"]
        assert buffer.take() == []

    def test_taking_frees_capacity(self) -> None:
        buffer = HandlerBuffer[int](limit=2)
        for number in range(50):
            buffer.extend([update("a", number, number + 1), update("a", number + 1, number + 2)])
            buffer.take()

        assert buffer.folded == 0

    def test_a_limit_cannot_be_negative(self) -> None:
        with pytest.raises(ArgumentError, match="0 or more"):
            HandlerBuffer[int](limit=-1)


class TestFolding:
    def test_beyond_the_limit_pending_notifications_are_folded_too(self) -> None:
        buffer = HandlerBuffer[int](limit=3)
        buffer.extend([add("a", 1), update("a", 1, 2), add("b", 1)])
        assert (buffer.is_folding, len(buffer)) == (False, 3)

        buffer.push(update("a", 2, 3))

        assert buffer.is_folding
        assert len(buffer) == 2
        assert buffer.folded == 2
        assert buffer.take() == [add("a", 3), add("b", 1)]

    def test_folding_lasts_until_the_buffer_is_empty(self) -> None:
        buffer = HandlerBuffer[int](limit=1)
        buffer.extend([update("a", 1, 2), update("b", 1, 2)])
        buffer.take(1)
        assert (buffer.is_folding, len(buffer)) == (True, 1)

        buffer.push(update("b", 2, 3))
        assert len(buffer) == 1
        assert buffer.take() == [update("b", 1, 3)]
        assert not buffer.is_folding

        buffer.push(update("b", 3, 4))
        assert not buffer.is_folding

    def test_cancelled_notifications_leave_an_empty_buffer(self) -> None:
        buffer = HandlerBuffer[int](limit=1)
        buffer.extend([add("a", 1), delete("a", 1)])

        assert not buffer.is_folding
        assert len(buffer) == 0
        assert buffer.folded == 2
        assert buffer.take() == []

    @pytest.mark.parametrize(
        ("came", "expected"),
        [
            ([add("a", 1), update("a", 1, 2)], [add("a", 2)]),
            ([add("a", 1), update("a", 1, 2), update("a", 2, 3)], [add("a", 3)]),
            ([add("a", 1), delete("a", 1)], []),
            ([add("a", 1), update("a", 1, 2), delete("a", 2)], []),
            ([add("a", 1), delete("a", 1), add("a", 2)], [add("a", 2)]),
            ([update("a", 1, 2), update("a", 2, 3)], [update("a", 1, 3)]),
            ([update("a", 1, 2), delete("a", 2)], [update("a", 1, 2), delete("a", 2)]),
            ([delete("a", 1), add("a", 2)], [delete("a", 1), add("a", 2)]),
            ([delete("a", 1), add("a", 2), update("a", 2, 3)], [delete("a", 1), add("a", 3)]),
            ([delete("a", 1), add("a", 2), delete("a", 2)], [delete("a", 1)]),
            (
                [update("a", 1, 2), update("a", 2, 3), delete("a", 3), add("a", 4), update("a", 4, 5)],
                [update("a", 1, 3), delete("a", 3), add("a", 5)],
            ),
            (
                [update("a", 1, 2), delete("a", 2), add("a", 3), delete("a", 3)],
                [update("a", 1, 2), delete("a", 2)],
            ),
        ],
    )
    def test_the_pending_notifications_of_a_key_are_folded(
        self, came: list[Notification[int]], expected: list[Notification[int]]
    ) -> None:
        assert folded(*came) == expected

    def test_contradictory_notifications_are_limited_to_three_a_key(self) -> None:
        assert folded(add("a", 1), add("a", 2)) == [add("a", 2)]
        assert folded(update("a", 1, 2), add("a", 3)) == [update("a", 1, 3)]
        assert folded(delete("a", 1), delete("a", 2)) == [delete("a", 1)]
        assert folded(delete("a", 1), update("a", 1, 2)) == [delete("a", 1), update("a", 1, 2)]
        assert folded(delete("a", 1), update("a", 1, 2), delete("a", 2)) == [delete("a", 1)]
        came = [update("a", 1, 2), delete("a", 2), delete("a", 3), update("a", 4, 5), add("a", 6)]
        assert folded(*came) == [update("a", 1, 2), delete("a", 2), update("a", 4, 6)]

    def test_a_folded_add_is_initial_if_the_first_one_was(self) -> None:
        assert folded(add("a", 1, is_initial=True), update("a", 1, 2)) == [add("a", 2, is_initial=True)]
        assert folded(add("a", 1, is_initial=True), delete("a", 1), add("a", 2)) == [add("a", 2)]

    def test_a_folded_delete_keeps_whether_the_final_state_is_known(self) -> None:
        unseen = delete("a", 2, final_state_known=False)

        assert folded(update("a", 1, 2), unseen) == [update("a", 1, 2), unseen]
        assert folded(unseen, add("a", 3), delete("a", 3)) == [unseen]

    def test_a_key_keeps_its_first_position(self) -> None:
        came = [update("a", 1, 2), update("b", 1, 2), delete("a", 2), update("c", 1, 2), add("a", 3)]

        mine = [update("a", 1, 2), delete("a", 2), add("a", 3)]
        assert folded(*came) == [*mine, update("b", 1, 2), update("c", 1, 2)]

    def test_a_filtering_handler_gets_the_update_that_stops_passing_before_the_delete(self) -> None:
        passing, not_passing = 1, -1
        known = {"a"}
        for notification in folded(update("a", passing, not_passing), delete("a", not_passing)):
            if notification.old == passing:
                known.discard(notification.key)

        assert known == set()

    def test_a_key_that_cancelled_out_gets_a_new_position(self) -> None:
        assert folded(add("a", 1), add("b", 1), delete("a", 1), add("a", 2)) == [add("b", 1), add("a", 2)]

    def test_markers_are_never_folded_and_keep_their_position(self) -> None:
        came = [
            add("a", 1, is_initial=True),
            SYNC_MARKER,
            SYNC_MARKER,
            update("a", 1, 2),
            add("b", 1),
            SYNC_MARKER,
            delete("b", 1),
        ]

        assert folded(*came) == [add("a", 2, is_initial=True), SYNC_MARKER, SYNC_MARKER, SYNC_MARKER]

    def test_a_list_beyond_the_limit_is_returned_in_order_and_folded_with_later_changes(self) -> None:
        buffer = HandlerBuffer[int](limit=3)
        buffer.extend(add(key, 1, is_initial=True) for key in "abcdef")
        buffer.push(SYNC_MARKER)
        buffer.extend([update("b", 1, 2), delete("c", 1), add("g", 1), update("g", 1, 2)])
        assert (len(buffer), buffer.folded) == (7, 4)

        assert [notification.key for notification in buffer.take(2)] == ["a", "b"]
        buffer.push(update("d", 1, 3))
        buffer.push(update("a", 1, 2))

        later = [add("d", 3, is_initial=True), *(add(key, 1, is_initial=True) for key in "ef")]
        assert buffer.take() == [*later, SYNC_MARKER, add("g", 2), update("a", 1, 2)]

    def test_a_marker_within_a_batch_keeps_its_position(self) -> None:
        batch = [add("a", 1), SYNC_MARKER, add("b", 1)]
        assert folded(*batch) == batch
        assert folded(*batch, SYNC_MARKER, update("b", 1, 2)) == [
            add("a", 1),
            SYNC_MARKER,
            add("b", 2),
            SYNC_MARKER,
        ]

    def test_the_first_of_two_notifications_of_a_key_can_be_taken_alone(self) -> None:
        buffer = HandlerBuffer[int](limit=0)
        buffer.extend([delete("a", 1), add("a", 2), update("b", 1, 2)])

        assert buffer.take(1) == [delete("a", 1)]
        assert len(buffer) == 2
        buffer.push(update("a", 2, 3))
        assert buffer.take(1) == [add("a", 3)]
        assert buffer.take() == [update("b", 1, 2)]

    def test_a_delete_after_a_taken_add_is_returned(self) -> None:
        buffer = HandlerBuffer[int](limit=0)
        buffer.extend([delete("a", 1), add("a", 2), add("b", 1)])
        buffer.take(2)
        buffer.push(delete("a", 2))

        assert buffer.take() == [add("b", 1), delete("a", 2)]

    def test_the_count_of_folded_notifications_continues(self) -> None:
        buffer = HandlerBuffer[int](limit=0)
        for _ in range(3):
            buffer.extend([add("a", 1), update("a", 1, 2), update("a", 2, 3)])
            buffer.take()

        assert buffer.folded == 6


def test_a_cleared_buffer_is_as_new() -> None:
    for limit in (0, 10):
        buffer = HandlerBuffer[int](limit)
        buffer.extend([delete("a", 1), add("a", 2), SYNC_MARKER])
        buffer.clear()

        assert len(buffer) == 0
        assert not buffer.is_folding
        assert buffer.take() == []
        buffer.push(add("a", 2))
        assert buffer.take() == [add("a", 2)]


def test_churn_of_names_that_never_return_uses_no_memory() -> None:
    buffer = HandlerBuffer[int](limit=10)
    for number in range(5000):
        buffer.extend([add(f"job-{number}", 1), update(f"job-{number}", 1, 2), delete(f"job-{number}", 2)])
        assert len(buffer) <= 10

    assert buffer.folded + len(buffer) == 15000


def test_the_repr_of_a_notification_shows_no_secrets() -> None:
    notification = Notification(NotificationType.UPDATE, "ns/token", "hunter1", "hunter2")

    assert "hunter" not in repr(notification)
    assert "hunter" not in str(notification.__rich_repr__())
    assert "ns/token" in repr(notification)


class TestBeginningWithAState:
    def items(self, count: int) -> dict[str, int]:
        return {f"key-{number}": number for number in range(count)}

    @pytest.mark.parametrize("count", [0, 5, 6, 100])
    def test_a_list_is_taken_as_initial_adds_in_order(self, count: int) -> None:
        buffer: HandlerBuffer[int] = HandlerBuffer(5)
        buffer.begin_with(self.items(count))
        assert len(buffer) == count
        taken = [notification for _ in range(count + 1) for notification in buffer.take(7)]
        assert [(notification.key, notification.new) for notification in taken] == list(self.items(count).items())
        assert all(notification.type is NotificationType.ADD and notification.is_initial for notification in taken)
        assert not len(buffer)

    def test_changes_are_folded_into_a_list_larger_than_the_limit(self) -> None:
        buffer: HandlerBuffer[int] = HandlerBuffer(2)
        buffer.begin_with(self.items(4))
        buffer.push(Notification(NotificationType.UPDATE, "key-2", 2, 20))
        buffer.push(Notification(NotificationType.DELETE, "key-1", 1, None))
        buffer.push(Notification(NotificationType.SYNC_MARKER))
        buffer.push(Notification(NotificationType.ADD, "key-1", None, 10))
        assert len(buffer) == 5
        taken = [
            (notification.type.value, notification.key, notification.new, notification.is_initial)
            for notification in buffer.take(10)
        ]
        assert taken == [
            ("add", "key-0", 0, True),
            ("add", "key-2", 20, True),
            ("add", "key-3", 3, True),
            (NotificationType.SYNC_MARKER.value, "", None, False),
            ("add", "key-1", 10, False),
        ]
        assert buffer.folded == 3

    def test_taken_notifications_are_not_folded(self) -> None:
        buffer: HandlerBuffer[int] = HandlerBuffer(2)
        buffer.begin_with(self.items(4))
        assert len(buffer.take(2)) == 2
        buffer.push(Notification(NotificationType.DELETE, "key-0", 0, None))
        assert [(notification.type.value, notification.key) for notification in buffer.take(10)] == [
            ("add", "key-2"),
            ("add", "key-3"),
            ("delete", "key-0"),
        ]

    def test_clearing_drops_a_pending_list(self) -> None:
        buffer: HandlerBuffer[int] = HandlerBuffer(2)
        buffer.begin_with(self.items(4))
        buffer.clear()
        assert buffer.take(10) == []
        assert not len(buffer)
