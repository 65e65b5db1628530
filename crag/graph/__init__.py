"""The Corrective RAG graph: state, nodes, the policy that steers them, and the presets of known variants."""
