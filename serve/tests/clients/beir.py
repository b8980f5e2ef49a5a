"""The requests of BEIR's BM25 baseline, by the client that it pins (elasticsearch 7.9.1). The URL is the only argument."""

import sys
import warnings

from elasticsearch import Elasticsearch, __versionstr__
from elasticsearch.helpers import streaming_bulk

warnings.simplefilter("ignore")
INDEX = "beir"
TEXTS = {"1": ("Wings", "The flow at a wing"), "2": ("Layers", "Boundary layers flowing"), "3": ("", "Heat")}
client = Elasticsearch([sys.argv[1]], timeout=30, retry_on_timeout=True, maxsize=4)
client.indices.delete(index=INDEX, ignore=[400, 404])
field = {"type": "text", "analyzer": "english"}
body = {"settings": {"number_of_shards": 1}, "mappings": {"properties": {"title": field, "txt": field}}}
created = client.indices.create(index=INDEX, body=body, ignore=[400])
assert created.get("acknowledged"), created
# It sends `refresh` as a field of the document.
actions = (
    {"_id": name, "_op_type": "index", "refresh": "wait_for", "txt": text, "title": title}
    for name, (title, text) in TEXTS.items()
)
assert all(ok for ok, _ in streaming_bulk(client=client, index=INDEX, actions=actions))


def query(text):
    return {"multi_match": {"query": text, "type": "best_fields", "fields": ["title", "txt"], "tie_breaker": 0.5}}


lines = []
for text in ["flows", "the wing", "heated", "nothing here"]:
    lines += [
        {"index": INDEX, "search_type": "dfs_query_then_fetch"},
        {"_source": False, "query": query(text), "size": 11},
    ]
found = [sorted(hit["_id"] for hit in answer["hits"]["hits"]) for answer in client.msearch(body=lines)["responses"]]
assert found == [["1", "2"], ["1"], ["3"], []], found
only = {"bool": {"must": query("flow"), "filter": {"ids": {"values": ["2", "3"]}}}}
answer = client.search(index=INDEX, body={"query": only}, search_type="dfs_query_then_fetch", size=5)
assert [hit["_id"] for hit in answer["hits"]["hits"]] == ["2"], answer
assert answer["hits"]["total"]["value"] == 1
client.indices.delete(index=INDEX)
print(f"ok      BEIR's requests, elasticsearch-py {__versionstr__}")
