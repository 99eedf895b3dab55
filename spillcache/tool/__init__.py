"""What agents are shown and call: the tool that reads spills as plain dicts, for every face that has tools."""
