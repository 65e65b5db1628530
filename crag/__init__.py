"""CRAG Chat: Corrective RAG over your own documents."""

import os

# Set before ONNX Runtime is imported: else it reports its use to Microsoft, even after `disable_telemetry_events()`.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
