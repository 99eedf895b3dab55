"""One process that serves: the faces behind one edge, which knows who calls, and what operators see of it."""
