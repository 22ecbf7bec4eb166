"""An orchestrator of other people's agents: small and whole, to be copied from.

    command -> dispatch (receipt and events in one transaction) -> lane of the thread -> adapter -> provider
    provider -> adapter -> normaliser -> lane -> event store -> projection -> readers

A **thread** is a conversation with a workspace. A **run** answers one message of the user in it and has one **attempt** or
more, each of which is one turn of a provider. Everything that is known is an event in the store; the projection is a fold
of those events and can be thrown away. Time and ids come from `Services` and from nowhere else.
"""
