"""`replay trace report FILE`: a report on the console, and as a page or as JUnit XML where asked for."""

import argparse

from replay.cli.trace_files import load_report, write_file
from replay.runner.console import write_console
from replay.trace.report import Report
from replay.trace.report_console import render_console
from replay.trace.report_json import render_json
from replay.trace.report_junit import render_junit

__all__ = ["add_arguments", "add_outputs", "run", "write_outputs"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("report", metavar="REPORT", help="report.json, or the directory of a test's outputs")
    add_outputs(parser)


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Declare the files that a report can be written to."""
    parser.add_argument("--html", default="", metavar="FILE", help="write the report as one page")
    parser.add_argument("--junit", default="", metavar="FILE", help="write it as JUnit XML")
    parser.add_argument("--json", default="", metavar="FILE", help="write it as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Show the report; its own exit code is not that of the command, which only shows it."""
    report = load_report(arguments.report)
    write_outputs(report, arguments)
    write_console(render_console(report))
    return 0


def write_outputs(report: Report, arguments: argparse.Namespace) -> None:
    """Write what was asked for."""
    if arguments.html:
        from replay.trace.report_html import render_html

        write_file(arguments.html, report, render_html)
    if arguments.junit:
        write_file(arguments.junit, report, render_junit)
    if arguments.json:
        write_file(arguments.json, report, render_json)
