"""The world of a shop's help desk: orders and tickets in SQLite, notes in files, colleagues in a directory.

Every run starts with the same world, laid out below one directory. Nothing in it depends on a clock or on chance.
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from scenarios.trace.desk.arithmetic import SumError, value_of

__all__ = ["Desk", "DeskError"]

_ORDERS: Final = (
    ("1001", "Ada Meyer", "desk lamp", 2, 3450, "open"),
    ("1002", "Ben Okafor", "kettle", 1, 2999, "open"),
    ("1003", "Ben Okafor", "notebook", 12, 249, "shipped"),
    ("1004", "Chloe Tan", "office chair", 1, 18900, "open"),
    ("1005", "Ada Meyer", "cable", 5, 799, "open"),
)
_STATUSES: Final = ("open", "shipped", "cancelled")
_FILES: Final = {
    "notes/hours.txt": "Monday to Friday: 9 to 18\nSaturday: 10 to 14\nSunday: closed\n",
    "notes/returns.txt": "Goods go back within 30 days.\nOpened cables are not taken back.\nRefunds take 5 working days.\n",
    "stock.csv": "item,count\ndesk lamp,14\nkettle,3\noffice chair,6\n",
}


class DeskError(Exception):
    """What was asked for is not there, or cannot be done."""


class Person(NamedTuple):
    """A colleague."""

    department: str
    extension: str
    manager: str


_PEOPLE: Final = {
    "Ines Haddad": Person("billing", "4107", "Olu Adeyemi"),
    "Jonas Weber": Person("billing", "4112", "Ines Haddad"),
    "Kira Novak": Person("delivery", "4203", "Olu Adeyemi"),
    "Luis Prado": Person("delivery", "4218", "Kira Novak"),
    "Mei Sato": Person("repairs", "4301", "Olu Adeyemi"),
    "Noor Khan": Person("repairs", "4316", "Mei Sato"),
    "Olu Adeyemi": Person("management", "4001", ""),
}


class Desk:
    """The world below `directory`. has_broken_writes: a fault to be found, every write does a little too much or too little."""

    def __init__(self, directory: Path, *, has_broken_writes: bool = False) -> None:
        self.directory = directory
        self.files = directory / "files"
        self.database = directory / "desk.db"
        self._is_broken = has_broken_writes

    def lay_out(self) -> None:
        """Make it anew."""
        shutil.rmtree(self.directory, ignore_errors=True)
        for name, text in _FILES.items():
            path = self.files / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        with closing(self._connect()) as connection, connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("CREATE TABLE orders (id, customer, item, quantity, cents, status)")
            connection.execute("CREATE TABLE tickets (id INTEGER PRIMARY KEY, category, subject, text)")
            connection.executemany("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?)", _ORDERS)

    def state(self) -> dict[str, Any]:
        """What tools can change: the status of each order, the tickets, the files."""
        with closing(self._connect()) as connection:
            orders = dict(connection.execute("SELECT id, status FROM orders ORDER BY id").fetchall())
            rows = connection.execute("SELECT id, category, subject, text FROM tickets ORDER BY id")
            tickets = {str(row[0]): " | ".join(row[1:]) for row in rows}
        paths = sorted(path for path in self.files.rglob("*") if path.is_file())
        files = {str(path.relative_to(self.files)): path.read_text() for path in paths}
        return {"orders": orders, "tickets": tickets, "files": files}

    # What its tools do.

    def calculate(self, expression: str) -> float | int:
        """The value of a sum. Raises DeskError for what is none."""
        try:
            return value_of(expression)
        except SumError as error:
            raise DeskError(str(error)) from None

    def find_person(self, name: str) -> dict[str, str]:
        """A colleague by their full name. Raises DeskError."""
        person = _PEOPLE.get(name)
        if person is None:
            raise DeskError(f"there is no {name} in the directory")
        return {"name": name, **person._asdict()}

    def list_orders(self, customer: str) -> list[dict[str, Any]]:
        """The orders of a customer, oldest first. Raises DeskError for nobody's."""
        found = self._orders("customer", customer)
        if not found:
            raise DeskError(f"there is no customer {customer}")
        return found

    def get_order(self, order_id: str | int) -> dict[str, Any]:
        """An order by its number. Raises DeskError."""
        found = self._orders("id", str(order_id))
        if not found:
            raise DeskError(f"there is no order {order_id}")
        return found[0]

    def set_status(self, order_id: str | int, status: str) -> str:
        """Change an order. Raises DeskError."""
        order = self.get_order(order_id)
        if status not in _STATUSES:
            raise DeskError(f"{status} is no status; there are {', '.join(_STATUSES)}")
        column = "customer" if self._is_broken else "id"
        with closing(self._connect()) as connection, connection:
            connection.execute(f"UPDATE orders SET status = ? WHERE {column} = ?", (status, order[column]))
        return f"order {order_id} is {status}"

    def file_ticket(self, category: str, subject: str, text: str) -> str:
        """A new ticket for a department."""
        values = (category, subject, "" if self._is_broken else text)
        with closing(self._connect()) as connection, connection:
            cursor = connection.execute(
                "INSERT INTO tickets (category, subject, text) VALUES (?, ?, ?)", values
            )
            return f"ticket {cursor.lastrowid} is filed"

    def read_file(self, path: str) -> str:
        """The text of a file. Raises DeskError."""
        try:
            return self._path(path).read_text()
        except FileNotFoundError:
            raise DeskError(f"{path}: no such file") from None

    def write_file(self, path: str, content: str) -> str:
        """Put a text into a file."""
        place = self._path(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content.rstrip("\n") if self._is_broken else content)
        return f"wrote {path}"

    def _path(self, path: str) -> Path:
        place = (self.files / path).resolve()
        if not place.is_relative_to(self.files.resolve()):
            raise DeskError(f"{path} is none of our files")
        return place

    def _orders(self, column: str, value: str) -> list[dict[str, Any]]:
        with closing(self._connect()) as connection:
            cursor = connection.execute(f"SELECT * FROM orders WHERE {column} = ? ORDER BY id", (value,))
            names = [each[0] for each in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self.database)
