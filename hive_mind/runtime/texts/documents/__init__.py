"""Documents of other programs as text: PDF, office documents, books, mail; each read in a process that may fail alone."""
