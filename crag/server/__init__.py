"""HTTP and WebSocket requests before they reach Streamlit: who may send them, and what responses carry."""
