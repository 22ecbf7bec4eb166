"""What the scripted model knows how to do: one generator for each kind of task.

A skill yields what it wants to use and is sent the result, or has Refused thrown into it where the tool failed; what it
returns is the answer.
"""

import re
from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, NamedTuple

from scenarios.trace.desk.arithmetic import SumError, value_of

__all__ = ["Mind", "Refused", "Skill", "Use", "skill_for"]

type Skill = Generator[Use, Any, str]


class Refused(Exception):
    """What was asked for cannot be had; the message says why, as it is told."""


class Use(NamedTuple):
    """A tool that is wanted, by what it does."""

    what: str
    arguments: dict[str, Any]


class Mind:
    """What there is to go by: the prompt, what the person said before, and which model it is."""

    def __init__(
        self,
        system: str,
        earlier: Sequence[str],
        *,
        has_calculator: bool = True,
        is_small: bool = False,
        rewords: bool = False,
        reverses_reads: bool = False,
    ) -> None:
        self.system = system
        self.earlier = earlier
        self.computes_in_head = is_small or not has_calculator or "calculator" not in system
        self.looks_first = re.search(
            r"look at an order before|before you change an order, look", system, re.I
        )
        self.looks_afterwards = re.search(r"change an order, then look", system, re.I)
        self.reads_again = re.search(r"read a file again", system, re.I)
        self.is_small = is_small
        self.rewords = rewords
        self.reverses_reads = reverses_reads

    def say(self, text: str, other: str) -> str:
        """One of two ways to say it."""
        return other if self.rewords else text

    def customer(self, task: str) -> str:
        """Who is meant: a name in the task, else who the person said they are. Raises Refused."""
        for text in (task, *reversed(self.earlier)):
            found = re.search(r"(?:orders of|my name is|this is|I am) ([A-Z]\w+ [A-Z]\w+)", text, re.I)
            if found:
                return found[1]
        raise Refused("I do not know who you are")

    def order(self, task: str) -> str:
        """Which order is meant. Raises Refused."""
        for text in (task, *reversed(self.earlier)):
            found = re.search(r"order (\d+)", text)
            if found:
                return found[1]
        raise Refused("I do not know which order you mean")

    def category(self, text: str) -> str:
        """Of a ticket, by the words with which the prompt describes each."""
        words = {word[:5].lower() for word in re.findall(r"[a-z]{4,}", text, re.I)}
        for name, described in re.findall(r"(billing|delivery|repairs): ([^.]*)\.", self.system):
            if words & {word[:5].lower() for word in re.findall(r"[a-z]{4,}", described, re.I)} - {"that"}:
                return str(name)
        return "repairs"

    def compute(self, expression: str) -> Generator[Use, Any, Any]:
        """The value of a sum, by the calculator; from the head it is about right."""
        if not self.computes_in_head:
            return (yield Use("calculate", {"expression": expression}))
        try:
            return _shown(float(f"{value_of(expression):.1e}"))
        except SumError as error:
            raise Refused(str(error)) from None


def skill_for(task: str, mind: Mind) -> Skill:
    """The skill for a task."""
    for pattern, skill in _SKILLS:
        found = re.search(pattern, task)
        if found:
            return skill(found, mind)
    return _listen(task, mind)


def _listen(task: str, mind: Mind) -> Skill:
    yield from ()
    return mind.say("Noted.", "I made a note of that.")


def _sum(found: re.Match[str], mind: Mind) -> Skill:
    value = yield from mind.compute(found[1].strip())
    return mind.say(f"The value of {found[1]} is {value}.", f"{found[1]} gives {value}.")


def _boxes(found: re.Match[str], mind: Mind) -> Skill:
    value = yield from mind.compute(f"{found[1]} * {found[2]}")
    return mind.say(f"There are {value} in all.", f"In all there are {value}.")


def _share(found: re.Match[str], mind: Mind) -> Skill:
    part = yield from mind.compute(f"{found[2]} * {found[1]} / 100")
    rest = yield from mind.compute(f"{found[2]} - {part}")
    return mind.say(
        f"{found[1]} percent of {found[2]} is {part}, and {rest} remains.",
        f"{found[1]} percent of {found[2]} are {part}; what remains is {rest}.",
    )


def _extension(found: re.Match[str], mind: Mind) -> Skill:
    person = yield Use("person", {"name": found[1]})
    return mind.say(
        f"{found[1]} has the extension {person['extension']}.",
        f"The extension of {found[1]} is {person['extension']}.",
    )


def _of_manager(found: re.Match[str], mind: Mind) -> Skill:
    person = yield Use("person", {"name": found[1]})
    if mind.is_small:
        return f"The manager of {found[1]} has the extension {person['extension']}."
    if not person["manager"]:
        raise Refused(f"{found[1]} has no manager")
    manager = yield Use("person", {"name": person["manager"]})
    return mind.say(
        f"The manager of {found[1]} is {manager['name']}, extension {manager['extension']}.",
        f"{manager['name']} manages {found[1]} and has the extension {manager['extension']}.",
    )


def _together(found: re.Match[str], mind: Mind) -> Skill:
    names = [found[1], found[2]]
    departments = {}
    for name in reversed(names) if mind.reverses_reads else names:
        person = yield Use("person", {"name": name})
        departments[name] = person["department"]
    one, other = (departments[name] for name in names)
    if one == other:
        return mind.say(f"Yes, both work in {one}.", f"Yes, {one} is where both work.")
    return mind.say(
        f"No, {names[0]} works in {one} and {names[1]} in {other}.",
        f"No: {names[0]} is in {one}, {names[1]} in {other}.",
    )


def _status(found: re.Match[str], mind: Mind) -> Skill:
    order = yield Use("order", {"order_id": found[1]})
    return mind.say(
        f"Order {found[1]} ({order['item']}) is {order['status']}.",
        f"The status of order {found[1]}, {order['item']}, is {order['status']}.",
    )


def _owed(found: re.Match[str], mind: Mind) -> Skill:
    customer = mind.customer(found.string)
    orders = yield Use("orders", {"customer": customer})
    still = [f"{order['quantity']} * {order['cents']}" for order in orders if order["status"] == "open"]
    if not still:
        return mind.say(f"{customer} has no open orders.", f"There are no open orders of {customer}.")
    cents = yield from mind.compute(" + ".join(still))
    return mind.say(
        f"The open orders of {customer} come to {cents / 100:.2f} euros.",
        f"{customer} has open orders for {cents / 100:.2f} euros.",
    )


def _change(found: re.Match[str], mind: Mind) -> Skill:
    number = mind.order(found.string)
    status = "cancelled" if found[1] == "Cancel" else "shipped"
    if mind.looks_first:
        order = yield Use("order", {"order_id": number})
        if order["status"] != "open":
            raise Refused(f"order {number} is {order['status']} already")
    yield Use("status", {"order_id": number, "status": status})
    if mind.looks_afterwards:
        yield Use("order", {"order_id": number})
    return mind.say(f"Order {number} is now {status}.", f"I marked order {number} as {status}.")


def _ticket(found: re.Match[str], mind: Mind) -> Skill:
    text = found[1]
    subject = f"order {mind.order(text)}" if re.search(r"order", text) else "shop"
    file = Use("ticket", {"category": mind.category(text), "subject": subject, "text": text})
    look = Use("order", {"order_id": subject.removeprefix("order ")}) if subject != "shop" else None
    if look is not None and not mind.looks_afterwards:
        yield look
    said = yield file
    if look is not None and mind.looks_afterwards:
        yield look
    return mind.say(
        f"I filed it under {file.arguments['category']}: {said}.",
        f"It is filed under {file.arguments['category']}: {said}.",
    )


def _says(found: re.Match[str], mind: Mind) -> Skill:
    text = yield Use("read", {"path": found[1]})
    stem = found[2][:5].lower()
    for line in text.splitlines():
        if stem in line.lower():
            return mind.say(f"{found[1]} says: {line}", f"{line} That is what {found[1]} says.")
    raise Refused(f"{found[1]} says nothing about {found[2]}")


def _lines(found: re.Match[str], mind: Mind) -> Skill:
    text = yield Use("read", {"path": found[1]})
    count = len(text.splitlines())
    return mind.say(f"{found[1]} has {count} lines.", f"There are {count} lines in {found[1]}.")


def _add(found: re.Match[str], mind: Mind) -> Skill:
    line, path = found[1], found[2]
    text = yield Use("read", {"path": path})
    yield from _written(mind, path, text.rstrip("\n") + f"\n{line}\n")
    return mind.say(f"I added the line to {path}.", f"The line is added to {path}.")


def _stock(found: re.Match[str], mind: Mind) -> Skill:
    item, count = found[1], found[2]
    text = yield Use("read", {"path": "stock.csv"})
    if f"\n{item}," not in text:
        raise Refused(f"stock.csv has no {item}")
    changed = re.sub(rf"(?m)^{re.escape(item)},\d+$", f"{item},{count}", text.rstrip("\n"))
    yield from _written(mind, "stock.csv", changed + "\n")
    return mind.say(f"The stock of {item} is now {count}.", f"There are now {count} of {item} in stock.")


def _written(mind: Mind, path: str, content: str) -> Generator[Use, Any]:
    yield Use("write", {"path": path, "content": content})
    if mind.reads_again:
        yield Use("read", {"path": path})


def _shown(value: float) -> float | int:
    return int(value) if value == int(value) else value


_NAME: Final = r"([A-Z]\w+ [A-Z]\w+)"
_SKILLS: Final[Sequence[tuple[str, Callable[[re.Match[str], Mind], Skill]]]] = (
    (r"^What is ([\d+\-*/(). ]+)\?", _sum),
    (r"(\d+) boxes hold (\d+)", _boxes),
    (r"^What is (\d+) percent of ([\d.]+), and what remains", _share),
    (rf"extension of the manager of {_NAME}", _of_manager),
    (rf"extension of {_NAME}", _extension),
    (rf"Do {_NAME} and {_NAME} work", _together),
    (r"status of order (\d+)", _status),
    (r"open orders", _owed),
    (r"^(Cancel|Ship) (?:order|it)", _change),
    (r"^File a ticket: (.*)$", _ticket),
    (r"What does (\S+) say about (\w+)", _says),
    (r"How many lines has (\S+)\?", _lines),
    (r'^Add the line "([^"]+)" to (\S+)\.$', _add),
    (r"^Set the stock of ([a-z ]+) to (\d+)", _stock),
)
