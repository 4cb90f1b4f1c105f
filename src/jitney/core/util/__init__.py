"""General-purpose tools: records, lazy namespaces, support for forks, protocol buffers."""
