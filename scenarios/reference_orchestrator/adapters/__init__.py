"""One file a protocol: the provider's process or socket, its wire, and nothing of threads, runs or the store."""
