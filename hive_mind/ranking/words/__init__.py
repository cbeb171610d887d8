"""Knowledge of words that making terms of texts needs: languages, and names that look like other words."""
