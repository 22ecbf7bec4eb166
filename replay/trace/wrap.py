"""The seam in an agent written in Python: its model and tool functions, wrapped, whatever their shape.

A Session decides what a call means. Recorder lets it through and writes it down; a replay answers it from a recording.
The agent wraps its functions once and sees no difference:

    plain function          also one that returns an awaitable, an iterator or a provider's stream object
    async def               also one that returns a stream
    generator, async one    what is sent and thrown in goes through, and so does a returned value

A wrapper outside any run calls straight through. An exception goes on as it came; a wrapper adds none of its own.
`attach` replaces attributes for the time of a `with` block and puts back what was there, whatever happens in it.
"""

import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from inspect import getattr_static
from typing import Any, NamedTuple, overload

from replay.trace.calls import (
    MODEL,
    TOOL,
    Call,
    Describe,
    describe_model,
    describe_tool,
    named,
    parameter_names,
)
from replay.trace.jsonable import thaw
from replay.trace.model import StepError
from replay.trace.raising import made_again
from replay.trace.taps import AsyncPieces, AsyncTap, Pieces, Tap

__all__ = ["Function", "Pending", "Served", "Session"]

type Function = Callable[..., Any]

_PLAIN = frozenset((str, dict, list, int, float, bool, bytes, tuple, type(None)))
_DESCRIBE: Mapping[str, Describe] = {MODEL: describe_model, TOOL: describe_tool}


class Served(NamedTuple):
    """An answer from a recording, as JSON. stream: "" or as AgentStep.stream; then `value` is the list of pieces."""

    value: Any = None
    stream: str = ""
    error: StepError | None = None


class Pending:
    """A call that has begun and is not over. `served` is set where the function must not be called.

    It ends with exactly one of done, end, failed; a call that was served ends by being served. As a context manager it
    is around everything that runs inside the call, and may be entered again for every piece of a stream.
    """

    __slots__ = ("served",)

    def __init__(self, served: Served | None = None) -> None:
        self.served = served

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        return None

    def done(self, value: Any) -> None:
        """The call returned."""

    def piece(self, value: Any) -> None:
        """The call is a stream, and this its next piece."""

    def end(self, *, is_closed: bool) -> None:
        """The stream is over. is_closed: the agent stopped reading before its end."""

    def failed(self, error: BaseException) -> None:
        """The exception left the call; the pieces of a stream until then count."""


class Session:
    """What wrappers talk to. begin is the one method that a session must have."""

    def begin(self, call: Call) -> Pending | None:
        """A call is about to be made. None: nobody listens, call straight through."""
        raise NotImplementedError

    def trouble(self, error: Exception) -> None:
        """A `describe` or an `encode` of the agent's failed. Raises it, where a run may fail for that."""
        raise error

    @overload
    def model[F: Function](self, function: F, /, **options: Any) -> F: ...
    @overload
    def model[F: Function](self, /, **options: Any) -> Callable[[F], F]: ...
    def model(self, function: Any = None, /, **options: Any) -> Any:
        """Wraps a model function, as a call or as a decorator. The options are those of _Wrapping."""
        return self._wrapped(function, MODEL, options)

    @overload
    def tool[F: Function](self, function: F, /, **options: Any) -> F: ...
    @overload
    def tool[F: Function](self, /, **options: Any) -> Callable[[F], F]: ...
    def tool(self, function: Any = None, /, **options: Any) -> Any:
        """Wraps a tool's function, as a call or as a decorator. The options are those of _Wrapping."""
        return self._wrapped(function, TOOL, options)

    def _wrapped(self, function: Function | None, kind: str, options: Mapping[str, Any]) -> Any:
        options = {"kind": kind, **options}
        if function is None:
            return lambda given: wrapped(given, _Wrapping(self, given, **options))
        return wrapped(function, _Wrapping(self, function, **options))

    @contextmanager
    def attach(
        self, owner: Any, *, models: tuple[str, ...] = (), tools: tuple[str, ...] = ()
    ) -> Iterator[None]:
        """Wraps attributes of an object, a class or a module while the block runs; all of them, or none."""
        undo: list[Callable[[], None]] = []
        try:
            for names, wrap in ((models, self.model), (tools, self.tool)):
                for name in names:
                    undo.append(_replace(owner, name, wrap))
            yield
        finally:
            for back in reversed(undo):
                back()


def _replace(owner: Any, name: str, wrap: Callable[[Function], Function]) -> Callable[[], None]:
    """Puts a wrapper in the place of an attribute; answers how to put back what was there."""
    own = owner.__dict__.get(name) if hasattr(owner, "__dict__") else None
    function = getattr(owner, name)
    if isinstance(owner, type) and isinstance(own, staticmethod | classmethod):
        setattr(owner, name, type(own)(wrap(own.__func__)))
    else:
        setattr(owner, name, wrap(function))
    if own is None and hasattr(owner, "__dict__"):
        return lambda: delattr(owner, name)
    return lambda: setattr(owner, name, function if own is None else own)


class _Wrapping:
    """How one function is wrapped.

    name: what the tool is called, the function's own name if it is not given. describe: see calls.Describe.
    encode makes JSON of what the function returns, or of each piece of its stream; decode makes that again of JSON, where
    a call is answered from a recording. is_async: a plain function that returns an awaitable, where it does not show.
    """

    def __init__(
        self,
        session: Session,
        function: Function,
        *,
        kind: str,
        describe: Describe | None = None,
        name: str = "",
        encode: Callable[[Any], Any] | None = None,
        decode: Callable[[Any], Any] = thaw,
        is_async: bool | None = None,
    ) -> None:
        self._session = session
        self._kind = kind
        self._describe = describe or _DESCRIBE[kind]
        self._name = name or getattr(function, "__name__", type(function).__name__)
        self._names, self._skipped = parameter_names(function)
        self._encode = encode
        self._decode = decode
        self.is_async = _is_async(function) if is_async is None else is_async

    def begin(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Pending | None:
        arguments = named(self._names, args[self._skipped :], kwargs)
        try:
            call = self._describe(self._name, arguments)
        except Exception as error:
            self._session.trouble(error)
            call = Call(self._kind, self._name, arguments)
        return self._session.begin(call)

    def encoded(self, value: Any) -> Any:
        if self._encode is None:
            return value
        try:
            return self._encode(value)
        except Exception as error:
            self._session.trouble(error)
            return value

    def taken(self, pending: Pending, value: Any) -> Any:
        """What the function returned, written down, or wrapped until it is over."""
        if type(value) in _PLAIN:
            pending.done(self.encoded(value))
        elif isinstance(value, Awaitable):
            return self.awaited(pending, value)
        elif hasattr(value, "__next__"):
            return Tap(value, pending, self.encoded)
        elif hasattr(value, "__anext__"):
            return AsyncTap(value, pending, self.encoded)
        else:
            pending.done(self.encoded(value))
        return value

    async def awaited(self, pending: Pending, value: Awaitable[Any]) -> Any:
        try:
            with pending:
                result = await value
        except BaseException as error:
            pending.failed(error)
            raise
        return self.taken(pending, result)

    def pieces(self, served: Served) -> Iterator[Any]:
        """The pieces of a served stream, and after them its error."""
        yield from map(self._decode, served.value if isinstance(served.value, list) else ())
        if served.error is not None:
            raise made_again(served.error)

    def given(self, served: Served) -> Any:
        """What a call is answered with, but for its being awaited."""
        if served.stream:
            return AsyncPieces(self.pieces(served)) if self.is_async else Pieces(self.pieces(served))
        if served.error is not None:
            raise made_again(served.error)
        return self._decode(served.value)

    async def given_later(self, served: Served) -> Any:
        return self.given(served)


def _is_async(function: Function) -> bool:
    # A decorator of a library often hides that what it decorates is async.
    of_class = getattr_static(type(function), "__call__")
    return any(map(inspect.iscoroutinefunction, (function, inspect.unwrap(function), of_class)))


def wrapped(function: Function, wrapping: _Wrapping) -> Function:
    """A function of the same shape that asks the session first."""
    if inspect.isasyncgenfunction(function):
        shaped: Function = _async_generator(function, wrapping)
    elif inspect.isgeneratorfunction(function):
        shaped = _generator(function, wrapping)
    elif inspect.iscoroutinefunction(function):
        shaped = _coroutine(function, wrapping)
    else:
        shaped = _plain(function, wrapping)
    return functools.update_wrapper(shaped, function)


def _plain(function: Function, wrapping: _Wrapping) -> Function:
    def call(*args: Any, **kwargs: Any) -> Any:
        pending = wrapping.begin(args, kwargs)
        if pending is None:
            return function(*args, **kwargs)
        if pending.served is not None:
            give = wrapping.given_later if wrapping.is_async else wrapping.given
            return give(pending.served)
        try:
            with pending:
                value = function(*args, **kwargs)
        except BaseException as error:
            pending.failed(error)
            raise
        return wrapping.taken(pending, value)

    return call


def _coroutine(function: Function, wrapping: _Wrapping) -> Function:
    async def call(*args: Any, **kwargs: Any) -> Any:
        pending = wrapping.begin(args, kwargs)
        if pending is None:
            return await function(*args, **kwargs)
        if pending.served is not None:
            return wrapping.given(pending.served)
        return await wrapping.awaited(pending, function(*args, **kwargs))

    return call


def _generator(function: Function, wrapping: _Wrapping) -> Function:
    def call(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        pending = wrapping.begin(args, kwargs)
        if pending is None:
            return (yield from function(*args, **kwargs))
        if pending.served is not None:
            return (yield from wrapping.pieces(pending.served))
        return (yield from Tap(function(*args, **kwargs), pending, wrapping.encoded))

    return call


def _async_generator(function: Function, wrapping: _Wrapping) -> Function:
    async def call(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        pending = wrapping.begin(args, kwargs)
        if pending is not None and pending.served is not None:
            for piece in wrapping.pieces(pending.served):
                yield piece
            return
        inner: Any = function(*args, **kwargs)
        source = inner if pending is None else AsyncTap(inner, pending, wrapping.encoded)
        step = source.asend(None)
        while True:
            try:
                piece = await step
            except StopAsyncIteration:
                return
            try:
                step = source.asend((yield piece))
            except GeneratorExit:
                await source.aclose()
                raise
            except BaseException as error:
                step = source.athrow(error)

    return call
