"""LangChain's FAISS folders, written and read by LangChain itself."""

import warnings

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from tests.doubles.library import HashEmbedder

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from langchain_community.vectorstores import FAISS


class AsLangChain(Embeddings):
    """The same embedder as a LangChain user would bring."""

    def __init__(self, embedder: HashEmbedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts):
        return self._embedder.embed_documents(texts).tolist()

    def embed_query(self, text):
        return self._embedder.embed_query(text).tolist()


def load(folder, embedder):
    return FAISS.load_local(str(folder), AsLangChain(embedder), allow_dangerous_deserialization=True)


def save(folder, texts, embedder, **options):
    documents = [Document(page_content=text, metadata=metadata) for text, metadata in texts]
    FAISS.from_documents(documents, AsLangChain(embedder), **options).save_local(str(folder))
    return folder
