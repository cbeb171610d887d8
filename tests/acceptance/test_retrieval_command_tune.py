"""`hive-mind retrieval tune` by a person and by a model, cut short, and with a model that replies nonsense."""

import json
import shlex
import signal
import subprocess

from tests.acceptance.retrieval_example import GOOD, in_a_process


def test_a_person_tunes_at_the_keyboard(retrieval):
    typed = b'retrieval.top_k = many\nfilters.status = ["current"]\nold pages mislead\n\n'
    ended = in_a_process(retrieval, "tune", "--how", "person", "--name", "mine", stdin=typed)

    assert ended.code == 0, ended.err
    assert "not possible: retrieval.top_k" in ended.err
    assert "mine-001" in ended.out
    assert "old pages mislead" in (retrieval.home / "retrieval" / "configs" / "mine.json").read_text()


def test_ctrl_c_while_tuning_keeps_the_best(retrieval):
    process = retrieval.start("retrieval", "tune", "--name", "kept", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    for line in process.stdout:
        if b"kept-001" in line:
            process.send_signal(signal.SIGINT)
            break
    _, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert b"the best so far is kept" in err
    assert retrieval("retrieval", "validate", "kept").code == 0


def test_tuning_with_a_model_says_which_one_to_set(retrieval):
    ended = retrieval("retrieval", "tune", "--how", "llm")
    assert ended.code == 2
    assert "HIVE_MIND_LLM" in ended.err


def test_the_command_that_is_printed_is_for_the_workspace_that_was_named(retrieval, tmp_path):
    folder = (retrieval.home / "retrieval").rename(tmp_path / "two words")
    reply = json.dumps({"reason": "old pages mislead", "config": GOOD})
    told = retrieval.with_environment(HIVE_MIND_LLM=f"scripted:{reply}")
    ended = told("retrieval", "tune", "--how", "llm", "--name", "told", "-w", folder)

    (command,) = (line.partition("deployed: ")[2] for line in ended.out.splitlines() if "may be deployed" in line)
    program, *arguments = shlex.split(command)
    deployed = retrieval(*arguments)

    assert (program, deployed.code) == ("hive-mind", 0), deployed.err


def test_a_model_that_replies_nonsense_is_a_failure(retrieval):
    ended = retrieval.with_environment(HIVE_MIND_LLM="scripted:hello")("retrieval", "tune", "--how", "llm", "--name", "told")
    assert ended.code == 1
    assert "error: scripted:hello replied twice with something that can't be used: it contains no JSON object" in ended.err
    assert not (retrieval.home / "retrieval" / "configs" / "told.json").exists()
