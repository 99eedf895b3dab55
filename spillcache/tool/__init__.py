"""What agents are shown and call: the tool that reads spills, as plain JSON-like dicts, for every face that has tools."""
