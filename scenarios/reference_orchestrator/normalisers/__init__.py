"""One file a protocol: frames in, provider events out. Pure: no pipe, no clock, no ids but the provider's own."""
