"""Evaluations: the runs in a folder, the figures of one, and its report as it was written."""

import asyncio

from aiohttp import web

from hive_mind.console.evaluations import report_of
from hive_mind.console.visit import Page, Visit

# A report brings its own style and has no script. In a sandbox it belongs to no origin: it has no cookie and asks for nothing.
_REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; frame-ancestors 'none'"


async def show(visit: Visit) -> web.StreamResponse:
    return visit.show("evaluations.html", runs=await asyncio.to_thread(visit.console.evaluations.runs))


async def show_one(visit: Visit) -> web.StreamResponse:
    if (run := await asyncio.to_thread(visit.console.evaluations.run, visit.request.match_info["run"])) is None:
        raise web.HTTPNotFound(reason="there is no such run here any more")
    return visit.show("evaluation.html", run=run)


async def report(visit: Visit) -> web.StreamResponse:
    run = await asyncio.to_thread(visit.console.evaluations.run, visit.request.match_info["run"])
    if run is None or not run.has_report:
        raise web.HTTPNotFound(reason="there is no report here: hive-mind eval report RUN writes it")
    try:
        body = await asyncio.to_thread(report_of, run)
    except OSError as error:
        raise web.HTTPNotFound(reason=f"the report can't be read: {error.strerror}") from error
    headers = {"Content-Security-Policy": _REPORT_POLICY}
    return web.Response(body=body, content_type="text/html", charset="utf-8", headers=headers)


PAGE = Page(
    "Evaluations",
    "/evaluations",
    {"/evaluations": show, "/evaluations/{run}": show_one, "/evaluations/{run}/report": report},
)
