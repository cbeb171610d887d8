"""Measuring a configuration on golden questions, comparing two, and deciding which is better."""
