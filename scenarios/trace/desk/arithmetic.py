"""The value of a sum: numbers, the four operations, brackets."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

__all__ = ["SumError", "value_of"]

_OPERATORS: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_DIGITS: Final = 10


class SumError(Exception):
    """What was given has no value."""


def value_of(expression: str) -> float | int:
    """Rounded to ten digits, whole where it is. Raises SumError."""
    try:
        value = _value(ast.parse(expression, mode="eval").body)
    except SyntaxError, ZeroDivisionError:
        raise SumError(f"{expression} has no value") from None
    value = round(value, _DIGITS)
    return int(value) if value == int(value) else value


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left), _value(right))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case _:
            raise SumError("only numbers and + - * / are known")
