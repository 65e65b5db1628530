"""The Corrective RAG graph: state, nodes, policy, checks of answers."""

from crag.graph.deferred_packages import defer_packages

defer_packages()
