// Has nothing of its own: its target holds the precompiled headers of all tests.
