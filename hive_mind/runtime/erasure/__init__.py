"""Erasing everywhere: in memories, journals, copies; and the receipt."""
