"""Pages by which somebody replies to a notice: GET only shows the item, POST decides it.

The token in the path is all that is asked for, as it is bound to one item, one decision and an end. So it stands in no log of
ours, and the pages tell browsers to keep it to themselves.
"""

from collections.abc import Mapping
from html import escape
from string import Template
from types import MappingProxyType

import msgspec
from aiohttp import web

from hive_mind.agents.notices import REPLIES, How, TokenRefused
from hive_mind.errors import BackendError, HiveError, InvalidInput
from hive_mind.judge.items import Item
from hive_mind.model.decoding import json_decoder
from hive_mind.runtime.workers.site import body_of, form_of
from hive_mind.runtime.workers.worker import Worker

ROUTE = REPLIES + "/{agent}/{token}"
_BODY_BYTES_MAX = 40_000
"""A decision travels to the agent that asked, and a message to another agent carries 64 kB."""
_HEADERS = MappingProxyType(
    {
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Robots-Tag": "noindex",
        "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'",
    }
)
_PAGE = Template(
    """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>$title</title>
<style>body{font:1rem/1.5 sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}pre{white-space:pre-wrap}
input,textarea{display:block;width:100%}</style></head>
<body><h1>$title</h1>
$body
</body></html>
"""
)
_WORDS: Mapping[How, str] = MappingProxyType({"approve": "Approve", "reject": "Reject", "answer": "Answer"})
_DONE: Mapping[How, str] = MappingProxyType(
    {"approve": "It is approved.", "reject": "It is rejected.", "answer": "It is answered."}
)


class ReplyPages:
    """Of one worker."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def routes(self) -> list[web.RouteDef]:
        return [web.get(ROUTE, self._show), web.post(ROUTE, self._take)]

    async def _show(self, request: web.Request) -> web.StreamResponse:
        try:
            reply, item = await self._worker.reply(request.match_info["agent"], request.match_info["token"])
        except HiveError as error:
            return _refused(request, error)
        if _wants_json(request):
            return _json({"item": msgspec.to_builtins(item), "decision": reply})
        return _page(item.title, f"{_shown(item)}\n{_form(reply)}")

    async def _take(self, request: web.Request) -> web.StreamResponse:
        try:
            fields = await _fields(request)
            by = fields.get("by", "").strip()
            if not by:
                raise InvalidInput("say who decides: give your name")
            reasons = fields.get("because", ""), fields.get("text", "")
            reply, item = await self._worker.reply(request.match_info["agent"], request.match_info["token"], by, *reasons)
        except HiveError as error:
            return _refused(request, error)
        return _json({"item": item.id, "decision": reply}) if _wants_json(request) else _page(_DONE[reply], escape(item.title))


async def _fields(request: web.Request) -> Mapping[str, str]:
    if request.content_length is not None and request.content_length > _BODY_BYTES_MAX:
        raise InvalidInput(f"a reply has at most {_BODY_BYTES_MAX:,} bytes")
    if request.content_type != "application/json":
        return await form_of(request)
    try:
        return json_decoder(dict[str, str])(await body_of(request) or b"{}")
    except msgspec.DecodeError as error:
        raise InvalidInput(f"a reply is texts by name: by, because, text ({error})") from None


def _shown(item: Item) -> str:
    parts = [f"<h2>{escape(name)}</h2><pre>{escape(text)}</pre>" for name, text in item.context]
    for signal in item.signals:
        sure = "" if signal.confidence is None else f", {signal.confidence:.2f} sure"
        parts.append(f"<p>{escape(signal.name)}: {escape(signal.action or signal.state)}{sure}. {escape(signal.reasoning)}</p>")
    return "\n".join(parts)


def _form(decision: How) -> str:
    text = '<label>Answer <textarea name="text" rows="3" required></textarea></label>' if decision == "answer" else ""
    return (
        f'<form method="post">{text}<label>Your name <input name="by" required autocomplete="name"></label>'
        f'<label>Reason <input name="because"></label><p><button>{_WORDS[decision]}</button></p></form>'
    )


def _page(title: str, body: str, status: int = 200) -> web.Response:
    text = _PAGE.substitute(title=escape(title), body=body)
    return web.Response(text=text, status=status, content_type="text/html", headers=dict(_HEADERS))


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), status=status, content_type="application/json", headers=dict(_HEADERS))


def _wants_json(request: web.Request) -> bool:
    return "application/json" in request.headers.get("Accept", "")


def _refused(request: web.Request, error: HiveError) -> web.Response:
    status = 503 if isinstance(error, BackendError) else 400
    if isinstance(error, TokenRefused):
        status = 410 if error.is_over else 403
    if _wants_json(request):
        return _json({"error": str(error), "kind": type(error).__name__}, status)
    return _page("This can't be done", f"<p>{escape(str(error))}</p>", status)
