"""Tools that know nothing of programs: records, lazy namespaces, forks, protocol buffers."""
