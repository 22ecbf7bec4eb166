"""Numbers, amounts, dates and times of a text, in one normal form: 2 minutes are 120 seconds, Q3 the third quarter. Pure.

A quantity is a kind and a value: seconds, months, bytes, metres, grams, a ratio, a currency, a clock's minutes, a date,
or a bare number. Two are the same where both are. What is no number to a reader (one of them, a second thought) is
*soft*: it may be missing on one side. English, and what all of technical writing shares.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Quantity", "find_quantities", "is_amount", "is_same_quantity"]


def _listed(words: str) -> list[str]:
    return words.split()


_UNITS: dict[str, tuple[str, float]] = {
    **dict.fromkeys(("ns", "nanosecond"), ("time", 1e-9)),
    **dict.fromkeys(("µs", "us", "microsecond"), ("time", 1e-6)),
    **dict.fromkeys(("ms", "msec", "millisecond"), ("time", 1e-3)),
    **dict.fromkeys(("s", "sec", "second"), ("time", 1.0)),
    **dict.fromkeys(("min", "minute"), ("time", 60.0)),
    **dict.fromkeys(("h", "hr", "hour"), ("time", 3600.0)),
    "day": ("time", 86400.0),
    "week": ("time", 7 * 86400.0),
    "fortnight": ("time", 14 * 86400.0),
    "month": ("months", 1.0),
    "year": ("months", 12.0),
    "decade": ("months", 120.0),
    **dict.fromkeys(("b", "byte"), ("bytes", 1.0)),
    **{f"{letter}b": ("bytes", 1000.0**power) for power, letter in enumerate("kmgtp", 1)},
    **{f"{letter}ib": ("bytes", 1024.0**power) for power, letter in enumerate("kmgtp", 1)},
    "kilobyte": ("bytes", 1e3),
    "megabyte": ("bytes", 1e6),
    "gigabyte": ("bytes", 1e9),
    "terabyte": ("bytes", 1e12),
    **dict.fromkeys(("mm", "millimetre", "millimeter"), ("metres", 1e-3)),
    **dict.fromkeys(("cm", "centimetre", "centimeter"), ("metres", 1e-2)),
    **dict.fromkeys(("m", "metre", "meter"), ("metres", 1.0)),
    **dict.fromkeys(("km", "kilometre", "kilometer"), ("metres", 1e3)),
    **dict.fromkeys(("mi", "mile"), ("metres", 1609.344)),
    **dict.fromkeys(("ft", "foot", "feet"), ("metres", 0.3048)),
    **dict.fromkeys(("inch", "inches"), ("metres", 0.0254)),
    **dict.fromkeys(("mg", "milligram"), ("grams", 1e-3)),
    **dict.fromkeys(("g", "gram"), ("grams", 1.0)),
    **dict.fromkeys(("kg", "kilo", "kilogram"), ("grams", 1e3)),
    **dict.fromkeys(("t", "ton", "tonne"), ("grams", 1e6)),
    **dict.fromkeys(("lb", "lbs", "pound"), ("grams", 453.59237)),
    **dict.fromkeys(("oz", "ounce"), ("grams", 28.349523125)),
    **dict.fromkeys(("%", "percent", "per cent", "pct"), ("ratio", 0.01)),
    **dict.fromkeys(("€", "eur", "euro"), ("EUR", 1.0)),
    **dict.fromkeys(("$", "usd", "dollar"), ("USD", 1.0)),
    **dict.fromkeys(("£", "gbp"), ("GBP", 1.0)),
    **dict.fromkeys(("¥", "jpy", "yen"), ("JPY", 1.0)),
    **dict.fromkeys(("°c", "celsius"), ("celsius", 1.0)),
    **dict.fromkeys(("°f", "fahrenheit"), ("fahrenheit", 1.0)),
    **dict.fromkeys(("hz", "hertz"), ("hertz", 1.0)),
    **dict.fromkeys(("x", "×"), ("", 1.0)),
    "khz": ("hertz", 1e3),
    "mhz": ("hertz", 1e6),
    "ghz": ("hertz", 1e9),
}
_SCALES = {
    **dict.fromkeys(("hundred",), 1e2),
    **dict.fromkeys(("k", "thousand"), 1e3),
    **dict.fromkeys(("million", "mn", "mio"), 1e6),
    **dict.fromkeys(("billion", "bn"), 1e9),
    "trillion": 1e12,
    "dozen": 12.0,
}
_SMALL = _listed(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = _listed("twenty thirty forty fifty sixty seventy eighty ninety")
_WORDS = {
    **{word: float(number) for number, word in enumerate(_SMALL) if number},
    **{word: 10.0 * number for number, word in enumerate(_TENS, 2)},
}
_ORDINALS = {
    word: float(number)
    for number, word in enumerate(
        _listed("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"), 1
    )
}
_FRACTIONS = {"half": 1 / 2, "third": 1 / 3, "quarter": 1 / 4, "fifth": 1 / 5, "tenth": 1 / 10}
_MONTHS = _listed("january february march april may june july august september october november december")
_DAYS = _listed("monday tuesday wednesday thursday friday saturday sunday")
_MONTH = (
    "(?P<month>" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in map(str.capitalize, _MONTHS)) + r")\b\.?"
)
_NUMBER = r"\d{1,3}(?:[,\u202f]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_SIGN = r"(?<![\w.,)\]])[-\u2212](?=[\d.])"
_UNIT = "|".join(
    sorted((re.escape(unit) + ("s?" if len(unit) > 2 else "") for unit in _UNITS), key=len, reverse=True)
)
_SCALE = "|".join(sorted(map(re.escape, _SCALES), key=len, reverse=True))
_AMOUNT = re.compile(
    rf"(?:(?P<before>[$€£¥]|\b(?:usd|eur|gbp|jpy)(?=\s))\s?)?(?P<sign>{_SIGN})?(?P<number>{_NUMBER})(?![\d.]*\.\d)"
    rf"(?:(?P<ordinal>st|nd|rd|th)\b|[\s-]?(?P<scale>{_SCALE}|M)\b)?"
    rf"(?:[\s-]?(?P<unit>{_UNIT})(?!\w))?",
    re.IGNORECASE,
)
_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
_SPELLED = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(_TENS)})[\s-])?(?P<word>{_WORD})\b(?:[\s-](?P<scale>{_SCALE})\b)?"
    rf"(?:[\s-](?P<unit>{_UNIT})(?!\w))?",
    re.IGNORECASE,
)
_FRACTION = re.compile(
    r"\b(?:(?P<count>a|an|one|two|three|four)[\s-])?(?P<part>half|third|quarter|fifth|tenth)(?P<many>s?)\b"
    rf"(?:\s(?:an?|the)?\s?(?P<unit>{_UNIT})(?!\w))?",
    re.IGNORECASE,
)
_ORDINAL = re.compile(rf"\b(?P<word>{'|'.join(_ORDINALS)})\b", re.IGNORECASE)
_SINGLE = re.compile(rf"\b(?:an?|per|every|each)\s(?P<unit>{_UNIT})(?!\w)", re.IGNORECASE)
_TIMES = re.compile(r"\b(?P<word>once|twice|thrice|double|triple)\b", re.IGNORECASE)
# "7 to 10 days" are 7 days and 10 days.
_AFTER_RANGE = re.compile(
    rf"(?:\s?[-–]\s?|\s(?:to|and|or)\s)(?:{_NUMBER})\s?(?P<unit>{_UNIT})(?!\w)", re.IGNORECASE
)
_DATES = (
    re.compile(r"\b(?P<year>\d{4})-(?P<m>\d{2})-(?P<day>\d{2})\b"),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}(?:,?\s(?P<year>\d{{4}})\b)?"),
    re.compile(rf"\b{_MONTH}\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s(?P<year>\d{{4}})\b)?"),
    re.compile(rf"\b{_MONTH}\s(?P<year>\d{{4}})\b"),
)
_CALENDAR = re.compile(
    r"\bQ(?P<q>[1-4])\b|\b(?P<nth>first|second|third|fourth|1st|2nd|3rd|4th) quarter\b"
    rf"|\b(?P<day>{'|'.join(map(str.capitalize, _DAYS))})s?\b"
    rf"|\b(?P<short>{'|'.join(name[:3].capitalize() for name in _DAYS)})\b(?=[.,])"
    rf"|\b(?P<month>{'|'.join(name.capitalize() for name in _MONTHS if name != 'may')})\b"
    r"|(?<=\b(?:in|by|of|to) )(?P<may>May)\b"
)
_CLOCK = re.compile(
    r"\b(?P<hour>\d{1,2})(?::(?P<minute>\d{2})(?::\d{2})?)?\s?(?P<half>[ap])\.?m\b\.?"
    r"|\b(?P<hours>[01]?\d|2[0-4]):(?P<minutes>[0-5]\d)\b|\b(?P<word>noon|midday|midnight)\b",
    re.IGNORECASE,
)
_DURATION = re.compile(r"\b(?P<hours>\d{1,3})\s?h\s?(?P<minutes>\d{1,2})\s?(?:m|min)?\b")
_VERSION = re.compile(r"\bv?(?P<version>\d+(?:\.\d+){2,}(?:[-+.][0-9A-Za-z.]*[0-9A-Za-z])?)\b")


class Quantity(NamedTuple):
    """`text` as it stood there, `start` where; `is_soft`: may be missing on the other side."""

    kind: str
    value: float | str
    text: str
    start: int
    is_soft: bool = False


def is_same_quantity(left: Quantity, right: Quantity) -> bool:
    """Whether two say the same: of one kind and value; a bare 0.93 is also 93 percent, a bare 10 also 10 o'clock."""
    if isinstance(left.value, str) or isinstance(right.value, str):
        return left.kind == right.kind and _is_same_name(str(left.value), str(right.value))
    kinds = {left.kind, right.kind}
    if kinds == {"", "clock"}:
        return left.value == right.value * 60 or right.value == left.value * 60
    if len(kinds) > 1 and not (kinds == {"", "ratio"} and 0 < left.value <= 1):
        return False
    return abs(left.value - right.value) <= 1e-9 * max(abs(left.value), abs(right.value))


def _is_same_name(left: str, right: str) -> bool:
    # 31 May is the same day with and without its year.
    return left == right or ("*" in left + right and left.split("-")[1:] == right.split("-")[1:])


def is_amount(text: str) -> bool:
    """Whether the whole text is a number with its unit, such as 5km, 3.4k, 2nd, GiB."""
    return any(shape.fullmatch(text) for shape in (_AMOUNT, _CLOCK, _DURATION)) or text.lower() in _UNITS


def find_quantities(text: str) -> tuple[list[Quantity], str]:
    """The quantities in order, and the text with blanks where they stood."""
    found: list[Quantity] = []
    given = text
    for finder in (
        _dates,
        _calendar,
        _versions,
        _clocks,
        _durations,
        _amounts,
        _spelled,
        _fractions,
        _ordinals,
        _singles,
    ):
        news = list(finder(text))
        found += news
        for one in news:
            text = text[: one.start] + " " * len(one.text) + text[one.start + len(one.text) :]
    found = [one if one.is_soft or not _is_known(given, one) else one._replace(is_soft=True) for one in found]
    return _joined(sorted(found, key=lambda one: one.start), given), text


_KNOWN = re.compile(r"\b(?:the|these|those|all|both)\s$", re.IGNORECASE)


def _is_known(text: str, one: Quantity) -> bool:
    """Whether a number only repeats how many there are: the two tables."""
    return one.kind == "" and bool(_KNOWN.search(text[max(0, one.start - 8) : one.start]))


def _joined(found: list[Quantity], text: str) -> list[Quantity]:
    """Two hours and a quantity of a smaller unit right after it are one time: 2 h 15 min."""
    joined: list[Quantity] = []
    for one in found:
        last = joined[-1] if joined else None
        if last and last.kind == one.kind == "time" and float(one.value) < float(last.value):
            end = last.start + len(last.text)
            if _JOINT.fullmatch(text[end : one.start]) and last.text[-2:] != one.text[-2:]:
                whole = text[last.start : one.start + len(one.text)]
                joined[-1] = Quantity("time", float(last.value) + float(one.value), whole, last.start)
                continue
        joined.append(one)
    return joined


_JOINT = re.compile(r",?\s?(?:and\s)?")


def _dates(text: str) -> Iterator[Quantity]:
    taken = 0
    matches = sorted(
        (match for pattern in _DATES for match in pattern.finditer(text)),
        key=lambda one: (one.start(), -one.end()),
    )
    for match in matches:
        if match.start() < taken:
            continue
        taken = match.end()
        parts = match.groupdict()
        month = int(parts["m"]) if parts.get("m") else _month(match["month"])
        value = f"{parts.get('year') or '*'}-{month:02}-{int(parts.get('day') or 0):02}"
        yield Quantity("date", value, match[0], match.start())


def _month(name: str) -> int:
    return next(number for number, full in enumerate(_MONTHS, 1) if full.startswith(name.lower().rstrip(".")))


def _calendar(text: str) -> Iterator[Quantity]:
    for match in _CALENDAR.finditer(text):
        if match["q"] or match["nth"]:
            number = match["q"] or str(int(_ORDINALS.get(match["nth"].lower(), 0)) or match["nth"][0])
            yield Quantity("quarter", number, match[0], match.start())
        elif match["day"]:
            yield Quantity("weekday", match["day"].lower(), match[0], match.start())
        elif match["short"]:
            day = next(name for name in _DAYS if name.startswith(match["short"].lower()))
            yield Quantity("weekday", day, match[0], match.start())
        else:
            name = (match["month"] or match["may"]).lower()
            yield Quantity("month", name, match[0], match.start())


def _versions(text: str) -> Iterator[Quantity]:
    for match in _VERSION.finditer(text):
        yield Quantity("version", match["version"], match[0], match.start())


def _clocks(text: str) -> Iterator[Quantity]:
    for match in _CLOCK.finditer(text):
        if match["word"]:
            minutes = 0 if match["word"].lower() == "midnight" else 720
        elif match["half"]:
            hour = int(match["hour"]) % 12 + (12 if match["half"].lower() == "p" else 0)
            minutes = hour * 60 + int(match["minute"] or 0)
        else:
            minutes = int(match["hours"]) * 60 + int(match["minutes"])
        yield Quantity("clock", float(minutes), match[0], match.start())


def _durations(text: str) -> Iterator[Quantity]:
    for match in _DURATION.finditer(text):
        seconds = int(match["hours"]) * 3600 + int(match["minutes"]) * 60
        yield Quantity("time", float(seconds), match[0], match.start())


def _amounts(text: str) -> Iterator[Quantity]:
    for match in _AMOUNT.finditer(text):
        value = float(match["number"].replace(",", "").replace("\u202f", ""))
        if match["scale"]:
            value *= _SCALES.get(match["scale"].lower(), 1e6)
        later = None if match["unit"] else _AFTER_RANGE.match(text, match.end())
        kind, factor = _unit(match["unit"] or match["before"] or (later["unit"] if later else ""))
        if match["sign"]:
            value = -value
        yield Quantity("ordinal" if match["ordinal"] else kind, value * factor, match[0], match.start())


def _unit(name: str | None) -> tuple[str, float]:
    if not name:
        return "", 1.0
    name = name.lower()
    return _UNITS[name] if name in _UNITS else _UNITS[name.removesuffix("s")]


def _spelled(text: str) -> Iterator[Quantity]:
    for match in _SPELLED.finditer(text):
        after = text[match.end() : match.end() + 9].lower()
        if re.match(r"[\s-](?:half|third|quarter|fifth|tenth)", after):
            continue
        value = _WORDS[match["word"].lower()] + (_WORDS[match["tens"].lower()] if match["tens"] else 0)
        kind, factor = _unit(match["unit"])
        scale = _SCALES[match["scale"].lower()] if match["scale"] else 1.0
        is_soft = value == 1 and not match["scale"]
        yield Quantity(kind, value * factor * scale, match[0], match.start(), is_soft)


def _fractions(text: str) -> Iterator[Quantity]:
    for match in _FRACTION.finditer(text):
        count, part = (match["count"] or "").lower(), match["part"].lower()
        if part != "half" and not count:
            continue
        kind, factor = _unit(match["unit"]) if match["unit"] else ("ratio", 1.0)
        value = _WORDS.get(count, 1.0) * _FRACTIONS[part] * factor
        yield Quantity(kind, value, match[0], match.start(), is_soft=part == "half" and not match["unit"])


def _ordinals(text: str) -> Iterator[Quantity]:
    for match in _ORDINAL.finditer(text):
        yield Quantity("ordinal", _ORDINALS[match["word"].lower()], match[0], match.start(), is_soft=True)


def _singles(text: str) -> Iterator[Quantity]:
    for match in _SINGLE.finditer(text):
        kind, factor = _unit(match["unit"])
        yield Quantity(kind, factor, match[0], match.start(), is_soft=True)
    for match in _TIMES.finditer(text):
        value = {"once": 1.0, "twice": 2.0, "double": 2.0, "thrice": 3.0, "triple": 3.0}[
            match["word"].lower()
        ]
        yield Quantity("", value, match[0], match.start(), is_soft=value == 1)
