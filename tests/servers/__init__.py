"""Real servers for the tests: started by binary, in a container, or given by URL."""
