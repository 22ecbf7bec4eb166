"""result.proto: what a test leaves behind. result_wire.py writes it; result_pb2.py, which protoc makes, is for readers."""

__all__: list[str] = []
