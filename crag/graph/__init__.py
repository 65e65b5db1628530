"""Corrective RAG graph: state, nodes, policy, and the checks of the written answer."""
