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
assert client.mget(body={"docs": [{"_index": INDEX, "_id": "c", "_source": {"excludes": ["n"]}}]})["docs"][0]["_source"] == {"text": TEXTS["c"]}
assert client.cat.indices(format="json") and INDEX in client.cat.indices(index=INDEX, v=True)
assert client.indices.refresh(index=INDEX)["_shards"]["failed"] == 0
assert helpers.bulk(client, [{"_op_type": "create", "_index": INDEX, "_id": "d", "text": "Shock"}], refresh="wait_for")[0] == 1
assert client.delete(index=INDEX, id="d", refresh=True)["result"] == "deleted"

# Pages, marked words, parts of documents and of scores.
sort = ["_score", {"_doc": "asc"}]
body = {"query": {"match": {"text": "flow layer"}}, "sort": sort, "size": 2, "explain": True, "highlight": {"fields": {"text": {}}}}
body["_source"] = {"includes": ["te*"], "excludes": ["n"]}
page = client.search(index=INDEX, body=body)["hits"]
assert page["total"]["value"] == 3 and page["hits"][0]["_id"] == "b", page
first = page["hits"][0]
assert first["_source"] == {"text": TEXTS["b"]} and first["highlight"]["text"] == ["Boundary <em>layer</em> <em>flow</em>"], first
assert abs(first["_explanation"]["value"] - first["_score"]) < 1e-6 and len(first["_explanation"]["details"]) == 2
rest = client.search(index=INDEX, body={**body, "search_after": page["hits"][-1]["sort"]})["hits"]["hits"]
assert sorted(hit["_id"] for hit in page["hits"] + rest) == ["a", "b", "c"], rest
assert ids({"query": {"terms": {"n": [len(TEXTS["a"]), len(TEXTS["c"])]}}}) == ["a", "c"]
assert ids({"query": {"ids": {"values": ["c", "x"]}}}) == ["c"]
head = {"index": INDEX, "search_type": "dfs_query_then_fetch"}
best = {"query": {"multi_match": {"query": "heat", "type": "best_fields", "fields": ["text"], "fuzziness": "AUTO"}}}
assert client.msearch(body=[head, best, {}, {"size": 1}], index=INDEX)["responses"][0]["hits"]["hits"][0]["_id"] == "c"
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
