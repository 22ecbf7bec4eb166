"""replay_rule: one more volatile value that a team's own agent produces."""

def replay_rule(pattern, placeholder, reason):
    """A rule of the normaliser, for `rules` of a suite or test.

    Args:
      pattern: a regular expression; what it matches is replaced. Of Python's syntax: literals, `.`, classes, ASCII escapes,
        groups, alternatives, anchors, and repeats of single characters, none of which can take exponential time.
      placeholder: what stands in its place, such as "{{build}}".
      reason: why the value differs from run to run; required, it is shown where the rule is listed.

    Returns:
      an opaque value.
    """
    for attribute, value in [("pattern", pattern), ("placeholder", placeholder), ("reason", reason)]:
        if type(value) != "string" or not value.strip():
            fail("//{}: replay_rule: attribute \"{}\" is {}; write a string that is not empty".format(
                native.package_name(),
                attribute,
                repr(value),
            ))
    if not (placeholder.startswith("{{") and placeholder.endswith("}}")):
        fail("//{}: replay_rule: attribute \"placeholder\" is {}; write \"{{{{{}}}}}\"".format(
            native.package_name(),
            repr(placeholder),
            placeholder.strip("{}"),
        ))
    return struct(pattern = pattern, placeholder = placeholder, reason = reason)
