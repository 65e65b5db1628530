"""The Corrective RAG graph: state, nodes, policy, checks of answers."""
