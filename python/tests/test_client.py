"""The client against a running service: `python3 test_client.py ADDRESS MANAGER_TOKEN`; `tests/python.rs` starts both."""

from __future__ import annotations

import asyncio
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from duologue import AsyncClient, Client, Sentence, ServiceError, Turn  # noqa: E402

ADDRESS, TOKEN = sys.argv[1:3]


class Threads(unittest.TestCase):
    def test_an_order_is_taken_and_explained(self) -> None:
        with Client(ADDRESS) as client:
            session = client.open()
            reply = session.say("two soft tacos please")
            self.assertEqual((reply.turn, reply.predicates), (1, ['order("Soft Taco",2)']))
            self.assertTrue(any("Soft Taco" in line for line in reply.lines), reply)
            self.assertTrue(session.why(1))
            self.assertEqual(session.state()["turn"], 1)
            self.assertTrue(any("Soft Taco" in fact["fact"] for fact in session.facts()))

    def test_a_customer_cannot_be_a_manager(self) -> None:
        with Client(ADDRESS) as client, self.assertRaises(ServiceError) as refused:
            client.open(role="manager")
        self.assertIn(refused.exception.status, (401, 403))

    def test_a_reply_comes_sentence_by_sentence(self) -> None:
        with Client(ADDRESS) as client:
            *sentences, turn = client.open().stream("a pepsi and a burrito supreme please")
            assert isinstance(turn, Turn) and all(isinstance(s, Sentence) for s in sentences) and sentences
            self.assertEqual(" ".join(s.text for s in sentences if isinstance(s, Sentence)), turn.text)


class Loops(unittest.IsolatedAsyncioTestCase):
    async def test_what_ran_out_binds_the_customers_next_turn(self) -> None:
        async with AsyncClient(ADDRESS, token=TOKEN) as manager, AsyncClient(ADDRESS) as customer:
            boss, guest = await manager.open(role="manager"), await customer.open()
            await boss.say(predicates=['runout("Tomatoes")'])
            reply = await guest.say(predicates=['order("Crunchy Taco Supreme",1)'])
            self.assertTrue(any("unavailable" in action for action in reply.actions), reply.actions)

    async def test_sessions_go_on_side_by_side(self) -> None:
        async with AsyncClient(ADDRESS) as client:
            sessions = await asyncio.gather(*(client.open() for _ in range(5)))
            replies = await asyncio.gather(*(s.say(predicates=['order("Pepsi",1)']) for s in sessions))
            self.assertEqual([r.turn for r in replies], [1] * 5)

    async def test_a_reply_comes_sentence_by_sentence(self) -> None:
        async with AsyncClient(ADDRESS) as client:
            session = await client.open()
            heard = [event async for event in session.stream("one soft taco")]
            self.assertIsInstance(heard[-1], Turn)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
