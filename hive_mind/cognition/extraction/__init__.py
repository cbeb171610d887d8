"""Statements taken out of content without a model: blocks, sentences, utterances, rows, log lines, when each was said."""
