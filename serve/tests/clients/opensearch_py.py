"""opensearch-py against a server. The URL is the only argument."""

import sys

from opensearchpy import NotFoundError, OpenSearch, RequestError, __versionstr__, helpers

URL = sys.argv[1]
INDEX = "opensearch-books"
TEXTS = {"a": "Wing flow", "b": "Boundary layer flow", "c": "Heat of a layer"}

client = OpenSearch(URL)
assert client.ping() and client.info()["version"]["number"]
client.indices.delete(index=INDEX, ignore_unavailable=True)
client.indices.create(index=INDEX, body={"mappings": {"properties": {"text": {"type": "text"}}}})
assert client.indices.exists(index=INDEX)
actions = ({"_index": INDEX, "_id": name, "text": text, "n": len(text)} for name, text in TEXTS.items())
assert helpers.bulk(client, actions, refresh=True)[0] == 3


def ids(body):
    return [hit["_id"] for hit in client.search(index=INDEX, body=body)["hits"]["hits"]]


assert sorted(ids({"query": {"match": {"text": "flow"}}})) == ["a", "b"]
assert ids({"query": {"match": {"text": {"query": "layer flow", "operator": "and"}}}}) == ["b"]
assert ids({"query": {"match_phrase": {"text": "boundary layer"}}}) == ["b"]
assert ids({"query": {"bool": {"must": {"match": {"text": "layer"}}, "filter": {"term": {"n": len(TEXTS["c"])}}}}}) == ["c"]
assert client.count(index=INDEX, body={"query": {"match": {"text": "layer"}}})["count"] == 2
responses = client.msearch(body=[{"index": INDEX}, {"query": {"match": {"text": "heat"}}}])["responses"]
assert responses[0]["hits"]["hits"][0]["_id"] == "c"
assert client.get(index=INDEX, id="a")["_source"]["text"] == TEXTS["a"]
assert client.mget(index=INDEX, body={"ids": ["a", "b"]})["docs"][1]["found"]
assert client.cat.indices(format="json")
assert client.cluster.health()["status"] == "green"
for error, call in [
    (RequestError, lambda: client.search(index=INDEX, body={"query": {"fuzzy": {"text": "x"}}})),
    (NotFoundError, lambda: client.search(index="nothing", body={})),
]:
    try:
        call()
    except error as refusal:
        assert refusal.info["error"]["reason"]
    else:
        raise AssertionError("not refused")
assert client.delete_by_query(index=INDEX, body={"query": {"match": {"text": "flow"}}}, refresh=True)["deleted"] == 2
client.indices.delete(index=INDEX)
print(f"ok      opensearch-py {__versionstr__}")
