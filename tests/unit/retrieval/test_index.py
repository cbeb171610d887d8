"""An index follows its folder: what changed and nothing else is done again, and who is killed leaves what was there before."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hive_mind.embed.none import NoEmbedder
from hive_mind.errors import BackendUnavailable, DatabaseUnreadable
from hive_mind.retrieval import Chunking
from hive_mind.retrieval.index import open_index
from hive_mind.retrieval.workspace import Workspace
from hive_mind.runtime.settings import Settings
from tests.builders import BagOfWords
from tests.unit.retrieval.collections_of import COLLECTION, config, index_of, shown, write

DOCUMENTS = {
    "api/auth.md": "# API authentication\nSend a bearer token.\n## Scopes\nA token has scopes.",
    "faqs/passwords.md": "---\nproduct: web\n---\n# Passwords\nReset your password by mail.",
    "faqs/mail.md": "---\nproduct: [web, app]\n---\n# Mail\nWe send mail once a day.",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, DOCUMENTS)
    return tmp_path


async def test_what_is_new_changed_and_gone_is_told(folder: Path):
    async with index_of(folder, is_updated=False) as index:
        first = await index.update()
        write(folder, {"faqs/mail.md": "# Mail\nWe send mail every hour.", "api/new.md": "# New\ntext"})
        (folder / "documents/faqs/passwords.md").unlink()
        second = await index.update()

        assert (first.added, first.changed, first.removed, first.unchanged, first.chunks) == (3, 0, 0, 0, 4)
        assert (second.added, second.changed, second.removed, second.unchanged, second.chunks) == (1, 1, 1, 1, 4)
        assert index.documents() == ("api/auth.md", "api/new.md", "faqs/mail.md")


async def test_only_changed_chunks_are_embedded_again(folder: Path):
    embedder = BagOfWords()
    async with index_of(folder, embedder) as index:
        embedder.passages.clear()
        write(folder, {"api/auth.md": "# API authentication\nSend a bearer token.\n## Scopes\nA token has many scopes."})
        done = await index.update()

    assert done.embedded == 1
    assert ["many" in text for text in embedder.passages] == [True]


async def test_nothing_is_done_for_what_is_the_same_also_in_another_process_later(folder: Path):
    async with index_of(folder):
        pass
    os.utime(folder / "documents/api/auth.md")
    embedder = BagOfWords()
    async with index_of(folder, embedder, is_updated=False) as index:
        done = await index.update()
        found = await index.search("bearer token", config())

    assert (done.unchanged, done.added, done.embedded, embedder.passages) == (3, 0, 0, [])
    assert found.results[0].document == "api/auth.md"


async def test_a_change_that_keeps_size_and_time_is_noticed(folder: Path):
    path = folder / "documents/faqs/mail.md"

    async with index_of(folder) as index:
        before = path.stat()
        path.write_text(path.read_text().replace("once", "ONCE"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

        assert (await index.update()).changed == 1


async def test_what_is_deleted_is_not_found_and_its_embeddings_are_gone(folder: Path):
    async with index_of(folder) as index:
        assert (await index.search("password", config())).results[0].document == "faqs/passwords.md"
        (folder / "documents/faqs/passwords.md").unlink()
        await index.update()

        assert "faqs/passwords.md" not in (await index.search("password", config())).documents
    with sqlite3.connect(folder / "index/kb.sqlite") as database:
        assert database.execute("SELECT count(*) FROM vector").fetchone() == (3,)


async def test_another_way_of_cutting_cuts_everything_again(folder: Path):
    async with index_of(folder):
        pass
    whole = COLLECTION.model_copy(update={"chunking": Chunking(strategy="fixed")})
    async with index_of(folder, collection=whole, is_updated=False) as index:
        done = await index.update()

    assert (done.changed, done.chunks) == (3, 3)


async def test_facets_count_documents_by_value(folder: Path):
    async with index_of(folder) as index:
        assert index.facets() == {"category": {"faqs": 2, "api": 1}, "product": {"web": 2, "app": 1}}


async def test_skipped_files_are_told_and_do_not_keep_others_out(folder: Path):
    (folder / "documents/bad.md").write_bytes(b"\xff\xfe\x00")

    async with index_of(folder, is_updated=False) as index:
        done = await index.update()

        assert [one.id for one in done.skipped] == ["bad.md"]
        assert done.added == 3


async def test_a_document_that_can_no_longer_be_read_is_taken_out(folder: Path):
    async with index_of(folder) as index:
        (folder / "documents/faqs/mail.md").write_bytes(b"\0")

        assert (await index.update()).removed == 1


async def test_a_model_that_fails_leaves_words_to_find_by_and_is_tried_again(folder: Path):
    embedder = BagOfWords()
    embedder.failure = BackendUnavailable("embed", "down")
    async with index_of(folder, embedder, is_updated=False) as index:
        assert "found by words only" in (await index.update()).notes[0]
        assert (await index.search("bearer token", config(method="keyword"))).documents[0] == "api/auth.md"
        embedder.failure = None
        assert (await index.update()).embedded == 4
        found = await index.search("bearer token", config())
        assert found.method == "hybrid"
        assert found.results[0].vector is not None


async def test_another_model_has_embeddings_of_its_own(folder: Path):
    async with index_of(folder):
        pass
    async with index_of(folder, BagOfWords("other", 32), is_updated=False) as index:
        before = await index.search("token", config())
        await index.update()
        after = await index.search("token", config())

    assert "4 chunks have no embedding" in before.notes[0]
    assert after.notes == ()


async def test_two_processes_see_what_the_other_wrote(folder: Path):
    async with index_of(folder) as one, index_of(folder) as other:
        await other.search("token", config())
        write(folder, {"api/late.md": "# Late\nA zeppelin lands."})
        await one.update()

        assert (await other.search("zeppelin", config(method="keyword"))).documents == ("api/late.md",)


def test_a_kill_during_an_update_leaves_the_former_index(folder: Path):
    async def run() -> list[object]:
        async with index_of(folder, NoEmbedder(), is_updated=False) as index:
            return [index.counts(), shown(await index.search("token mail", config(method="keyword")))]

    async def first() -> None:
        async with index_of(folder, NoEmbedder()):
            pass

    asyncio.run(first())
    before = asyncio.run(run())
    write(folder, {f"api/{number}.md": f"# Token {number}\nmail" for number in range(50)})
    # Killed after everything was written and before it was made durable.
    program = """
        import asyncio, os, signal, sys
        from pathlib import Path
        from hive_mind.embed.none import NoEmbedder
        from hive_mind.retrieval.chunk_file import ChunkFile
        from tests.unit.retrieval.collections_of import index_of
        ChunkFile.set_meta = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        async def run():
            async with index_of(Path(sys.argv[1]), NoEmbedder()):
                pass
        asyncio.run(run())
    """
    killed = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(folder)], check=False, timeout=100, capture_output=True
    )

    assert killed.returncode == -signal.SIGKILL
    assert asyncio.run(run()) == before
    asyncio.run(first())
    assert asyncio.run(run())[0] == (53, 54)


async def test_a_file_of_another_program_is_left_alone(folder: Path):
    (folder / "index").mkdir()
    with sqlite3.connect(folder / "index/kb.sqlite") as database:
        database.execute("CREATE TABLE mine (x)")
    database.close()

    with pytest.raises(DatabaseUnreadable, match="another program"):
        await open_index(Workspace.open(folder), COLLECTION, Settings(), NoEmbedder())


async def test_a_damaged_file_is_told_with_what_to_do(folder: Path):
    (folder / "index").mkdir()
    (folder / "index/kb.sqlite").write_bytes(b"no database" * 1000)

    with pytest.raises(DatabaseUnreadable, match="index again"):
        await open_index(Workspace.open(folder), COLLECTION, Settings(), NoEmbedder())


async def test_progress_is_told(folder: Path):
    told: list[tuple[str, int, int]] = []

    async with index_of(folder, is_updated=False) as index:
        await index.update(lambda *step: told.append(step))

    assert told == [("documents", 3, 3), ("embeddings", 4, 4)]


async def test_who_searches_while_the_index_is_updated_sees_the_former_or_the_new_one(folder: Path):
    async with index_of(folder) as index:
        write(folder, {f"api/{number}.md": f"# Kite {number}\nA kite flies." for number in range(300)})
        updating = asyncio.create_task(index.update())
        seen = set()
        while not updating.done():
            found = await index.search("kite flies", config(method="keyword", top_k=400, depth=400))
            seen.add(len(found.results) + found.duplicates)
            await asyncio.sleep(0)
        await updating
        found = await index.search("kite flies", config(method="keyword", top_k=400, depth=400))

        assert len(found.results) + found.duplicates == 300
        assert seen <= {0, 300}
