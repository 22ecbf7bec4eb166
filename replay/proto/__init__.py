"""result.proto and what protoc makes of it: what a test leaves behind. Imported only when a result is written."""

__all__: list[str] = []
