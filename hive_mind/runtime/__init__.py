"""The composition root: settings, and putting the parts together by them."""
