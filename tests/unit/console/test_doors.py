"""Who may see pages, and what a browser may do with them."""

import re

import msgspec

from hive_mind.console import LINK_S
from hive_mind.console.app import PAGES, POLICY
from hive_mind.console.visit import SESSION_S, SESSIONS_MAX, Sessions
from hive_mind.runtime.workers import health
from tests.unit.console.looking import looking

PATHS = [path.removeprefix("/") for page in PAGES for path in page.gets if "{" not in path and not path.endswith("live")]


async def test_only_a_program_with_the_token_gets_a_link_which_lets_one_browser_in_once_and_nobody_else_sees_a_page(tmp_path):
    async with looking(tmp_path, enters=False, fleet="north") as browser:
        for path in PATHS:
            status, page, headers = await browser.get(path)
            assert (status, headers["Content-Security-Policy"]) == (401, POLICY), path
            assert "hive-mind ui prints a link" in page
            assert "north" not in page
            assert "ada" not in page

        assert [(await browser.link(token))[0] for token in ("another", "")] == [401, 401]
        path = msgspec.json.decode((await browser.link())[1])["path"].removeprefix("/ui/")
        status, _, headers = await browser.get(path, allow_redirects=False)
        assert status == 303
        cookie = headers["Set-Cookie"]
        assert cookie.startswith(f"hive-mind-{browser.root.port}=")
        assert "Secure" not in cookie
        assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", "Path=/ui"))
        assert (await browser.get(path))[0] == 401
        assert (await browser.get("enter/guessed"))[0] == 401


async def test_each_page_has_the_policy_and_its_fleet_is_kept_nowhere_and_not_for_another_host(tmp_path):
    async with looking(tmp_path, fleet="north <1>") as browser:
        for path in PATHS:
            status, page, headers = await browser.get(path)
            assert (status, headers["Content-Security-Policy"]) == (200, POLICY), page
            assert (headers["Cache-Control"], headers["X-Content-Type-Options"]) == ("no-store", "nosniff")
            assert not re.search(" style=|<script>|https?://", page)
        for path in (page.path.removeprefix("/") for page in PAGES):
            page = (await browser.get(path))[1]
            assert "north &lt;1&gt; · hive-mind</title>" in page
            assert "hive-mind <small>north &lt;1&gt;</small>" in page

        status, page, _ = await browser.get("", headers={"Host": "evil.example"})
        assert (status, "ada" in page) == (421, False)


def test_the_policy_lets_no_script_in_the_text_run():
    assert "unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none'; script-src 'self';")


async def test_a_form_that_is_not_ours_changes_nothing(tmp_path):
    async with looking(tmp_path) as browser:
        kept = await browser.worker.call("ada", "store", content="The pump is red.")
        path = f"facts/{kept['fact_id']}"
        form = {"agent": "ada", "reason": "because", "csrf": await browser.csrf(f"{path}?agent=ada")}
        ours = f"http://127.0.0.1:{browser.root.port}"

        assert (await browser.post(f"{path}/retract", {**form, "csrf": "guessed"}, headers={"Origin": ours}))[0] == 403
        for headers in ({}, {"Origin": "http://127.0.0.1:1"}, {"Origin": "null"}, {"Sec-Fetch-Site": "same-site"}):
            assert (await browser.post(f"{path}/retract", {**form, "csrf": ""}, headers=headers))[0] == 403
            if headers:
                assert (await browser.post(f"{path}/retract", form, headers=headers))[0] == 403
        assert (await browser.worker.call("ada", "facts"))["facts"][0]["sharing"] != "retracted"
        assert not browser.decisions.exists()


async def test_behind_a_proxy_that_speaks_tls_forms_are_ours_and_the_cookie_never_travels_without_it(tmp_path):
    """The proxy asks by its own name for us; the browser knows the public one."""
    proxied = {"Origin": "https://town.example", "Sec-Fetch-Site": "same-origin", "X-Forwarded-Proto": "https"}
    async with looking(tmp_path) as browser:
        link = msgspec.json.decode((await browser.link())[1])["path"].removeprefix("/ui/")
        assert "; Secure" in (await browser.get(link, allow_redirects=False, headers=proxied))[2]["Set-Cookie"]

    async with looking(tmp_path) as browser:
        kept = await browser.worker.call("ada", "store", content="The pump is red.")
        path = f"facts/{kept['fact_id']}"
        form = {"agent": "ada", "reason": "because", "csrf": await browser.csrf(f"{path}?agent=ada")}
        assert (await browser.post(f"{path}/retract", form, headers={**proxied, "Sec-Fetch-Site": "cross-site"}))[0] == 403
        assert (await browser.post(f"{path}/retract", form, headers=proxied, allow_redirects=False))[0] < 400


async def test_a_defect_is_told_in_the_log_alone(tmp_path, monkeypatch, caplog):
    async with looking(tmp_path) as browser:
        monkeypatch.setattr("hive_mind.console.app.rows_of", lambda _: 1 / 0)
        status, page, _ = await browser.get("")
        assert status == 500
        assert "ZeroDivision" not in page
        assert "ZeroDivisionError" in caplog.text


async def test_a_page_that_follows_does_not_hold_the_process_up(tmp_path, monkeypatch):
    # Longer than any test: the process would wait for it.
    monkeypatch.setattr(health, "FINISH_S", 3600.0)
    async with looking(tmp_path) as browser:
        reply = await browser.follow("fleet/live")
        await reply.content.readline()
    assert reply.closed


def test_a_link_and_a_session_end_with_their_time():
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    late, code = sessions.link(), sessions.link()

    session = sessions.enter(code)
    assert session is not None
    now[0] = LINK_S
    assert sessions.enter(late) is None
    assert sessions.find(session.cookie) is session
    now[0] = SESSION_S
    assert sessions.find(session.cookie) is None


def test_beyond_a_number_of_sessions_the_oldest_goes():
    sessions = Sessions(lambda: 0.0)
    found = [sessions.enter(sessions.link()) for _ in range(SESSIONS_MAX + 1)]
    assert [sessions.find(one.cookie) is not None for one in found if one] == [False, *[True] * SESSIONS_MAX]
