"""Streams of an agent: real ones that are listened to, and served ones that look like them.

A tap hands on everything: what is sent and thrown in, a returned value, closing, and the attributes and `with` of a
provider's own stream object. It tells the pending call each piece, and once how the stream was over.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from replay.trace.wrap import Pending

__all__ = ["AsyncPieces", "AsyncTap", "Pieces", "Tap"]


class _Listening:
    """What both kinds of taps share: the stream, its call, and whether it is over."""

    def __init__(self, source: Any, pending: Pending, encoded: Callable[[Any], Any]) -> None:
        self._source = source
        self._pending = pending
        self._encoded = encoded
        self._is_over = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def _end(self, *, is_closed: bool) -> None:
        if not self._is_over:
            self._is_over = True
            self._pending.end(is_closed=is_closed)

    def _fail(self, error: BaseException) -> None:
        if not self._is_over:
            self._is_over = True
            self._pending.failed(error)

    def _heard(self, piece: Any) -> Any:
        self._pending.piece(self._encoded(piece))
        return piece


class Tap(_Listening):
    """An iterator, generator or stream object that is listened to."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return self._step(self._source.__next__)

    def send(self, value: Any) -> Any:
        """As of a generator."""
        return self._step(self._source.__next__ if value is None else lambda: self._source.send(value))

    def throw(self, *exception: Any) -> Any:
        """As of a generator."""
        return self._step(lambda: self._source.throw(*exception))

    def close(self) -> None:
        """As of a generator, or of a stream object."""
        try:
            close = getattr(self._source, "close", None)
            if close is not None:
                with self._pending:
                    close()
        finally:
            self._end(is_closed=True)

    def __enter__(self) -> Self:
        if hasattr(self._source, "__enter__"):
            self._source.__enter__()
        return self

    def __exit__(self, *exception: Any) -> Any:
        leave = getattr(self._source, "__exit__", None)
        try:
            return leave(*exception) if leave is not None else self.close()
        finally:
            self._end(is_closed=True)

    def _step(self, step: Callable[[], Any]) -> Any:
        try:
            with self._pending:
                piece = step()
        except StopIteration:
            self._end(is_closed=False)
            raise
        except GeneratorExit:
            self._end(is_closed=True)
            raise
        except BaseException as error:
            self._fail(error)
            raise
        return self._heard(piece)


class AsyncTap(_Listening):
    """The same for async iterators."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        return await self._step(self._source.__anext__)

    async def asend(self, value: Any) -> Any:
        """As of an async generator."""
        if value is None:
            return await self._step(self._source.__anext__)
        return await self._step(lambda: self._source.asend(value))

    async def athrow(self, *exception: Any) -> Any:
        """As of an async generator."""
        return await self._step(lambda: self._source.athrow(*exception))

    async def aclose(self) -> None:
        """As of an async generator."""
        await self._close("aclose")

    async def close(self) -> None:
        """As of a stream object."""
        await self._close("close")

    async def _close(self, name: str) -> None:
        try:
            close = getattr(self._source, name, None)
            if close is not None:
                with self._pending:
                    await close()
        finally:
            self._end(is_closed=True)

    async def __aenter__(self) -> Self:
        if hasattr(self._source, "__aenter__"):
            await self._source.__aenter__()
        return self

    async def __aexit__(self, *exception: Any) -> Any:
        leave = getattr(self._source, "__aexit__", None)
        try:
            return await leave(*exception) if leave is not None else await self.aclose()
        finally:
            self._end(is_closed=True)

    async def _step(self, step: Callable[[], Any]) -> Any:
        try:
            with self._pending:
                piece = await step()
        except StopAsyncIteration:
            self._end(is_closed=False)
            raise
        except GeneratorExit:
            self._end(is_closed=True)
            raise
        except BaseException as error:
            self._fail(error)
            raise
        return self._heard(piece)


class Pieces:
    """A served stream: an iterator that can be closed and entered."""

    def __init__(self, pieces: Iterator[Any]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return next(self._pieces)

    def close(self) -> None:
        """Nothing is held."""
        self._pieces = iter(())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class AsyncPieces:
    """The same for `async for`."""

    def __init__(self, pieces: Iterator[Any]) -> None:
        self._pieces = pieces

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        for piece in self._pieces:
            return piece
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Nothing is held."""
        self._pieces = iter(())

    async def close(self) -> None:
        """Nothing is held."""
        self._pieces = iter(())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()
