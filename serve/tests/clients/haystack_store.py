"""Haystack's Elasticsearch document store and BM25 retriever against a server. The URL is the only argument."""

import sys
import warnings

from haystack import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack_integrations.components.retrievers.elasticsearch import ElasticsearchBM25Retriever
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

warnings.simplefilter("ignore")
URL = sys.argv[1]
INDEX = "stack"
DOCUMENTS = [
    Document(content="The flow at a wing", meta={"kind": "x", "year": 1959}),
    Document(content="A boundary layer flow", meta={"kind": "y", "year": 1960}),
    Document(content="Heat of a layer", meta={"kind": "y", "year": 1961}, embedding=[0.5] * 768),
]


def contents(documents):
    return sorted(document.content for document in documents)


store = ElasticsearchDocumentStore(hosts=URL, index=INDEX)
store.client.options(ignore_status=404).indices.delete(index=INDEX)
store = ElasticsearchDocumentStore(hosts=URL, index=INDEX)
assert store.write_documents(DOCUMENTS) == 3
assert store.count_documents() == 3
try:
    store.write_documents(DOCUMENTS[:1])
except DuplicateDocumentError:
    pass
else:
    raise AssertionError("a second document of the same id")
assert store.write_documents(DOCUMENTS[:1], policy=DuplicatePolicy.SKIP) == 0
assert store.write_documents(DOCUMENTS[:1], policy=DuplicatePolicy.OVERWRITE) == 1

retriever = ElasticsearchBM25Retriever(document_store=store)
# Its requests ask for words that are similar too: the answer says that there are none.
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    found = retriever.run(query="flow")["documents"]
assert any("without fuzziness" in str(warning.message) for warning in told), [str(w.message) for w in told]
assert contents(found) == ["A boundary layer flow", "The flow at a wing"], found
assert all(document.score > 0 for document in found)
only = {"field": "meta.kind", "operator": "==", "value": "y"}
found = retriever.run(query="flow heat", filters=only, top_k=5)["documents"]
assert contents(found) == ["A boundary layer flow", "Heat of a layer"], found
assert found[0].meta["kind"] == "y"

assert contents(store.filter_documents()) == contents(DOCUMENTS)
either = {"operator": "OR", "conditions": [only, {"field": "meta.year", "operator": "==", "value": 1959}]}
assert len(store.filter_documents(either)) == 3
both = {"operator": "AND", "conditions": [only, {"field": "meta.year", "operator": "in", "value": [1959, 1960]}]}
assert contents(store.filter_documents(both)) == ["A boundary layer flow"]
neither = {"operator": "NOT", "conditions": [only]}
assert contents(store.filter_documents(neither)) == ["The flow at a wing"]
embedded = next(document for document in store.filter_documents(only) if document.embedding)
assert embedded.embedding == [0.5] * 768
store.delete_documents([DOCUMENTS[0].id])
assert store.count_documents() == 2
assert store.delete_by_filter(only, refresh=True) == 2
store.write_documents(DOCUMENTS)
store.delete_all_documents()
assert store.count_documents() == 0
store.client.indices.delete(index=INDEX)
print("ok      Haystack's document store and BM25 retriever")
