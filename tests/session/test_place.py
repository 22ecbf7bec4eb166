from replay.session import line_of, value_lines

DOCUMENT = b"""[
  { "kind": "hang" },
  {
    "a, } b": [],
    "chunks": [
      1, { "x": "\\"]" },
      [2,

       3]
    ], "last": null
  }
]
"""


def test_lines_of_values_written_over_many_lines() -> None:
    lines = value_lines(DOCUMENT, 4)
    assert lines[()] == 1
    assert (lines[(0,)], lines[(0, "kind")], lines[(1,)]) == (2, 2, 3)
    assert (lines[(1, "a, } b")], lines[(1, "chunks")], lines[(1, "chunks", 0)]) == (4, 5, 6)
    assert (lines[(1, "chunks", 1, "x")], lines[(1, "chunks", 2)], lines[(1, "chunks", 2, 1)]) == (6, 7, 9)
    assert lines[(1, "last")] == 10


def test_a_path_that_is_not_there_has_the_line_of_what_would_hold_it() -> None:
    assert line_of(DOCUMENT, (1, "chunks", 7)) == 5
    assert line_of(DOCUMENT, (9, "x")) == 1
