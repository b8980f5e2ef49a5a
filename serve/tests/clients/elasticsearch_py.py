"""elasticsearch-py against a server: 8.19 or 9, whichever is installed. The URL is the only argument."""

import sys
import warnings
from unittest.mock import ANY

from elasticsearch import ApiError, BadRequestError, ConflictError, Elasticsearch, NotFoundError, __version__, helpers

URL = sys.argv[1]
INDEX = f"books-{__version__[0]}"
DOCUMENTS = {
    "a": {"title": "Wing flow", "body": "The flow at a wing", "year": 1959, "metadata": {"source": "x"}},
    "b": {"title": "Boundary layers", "body": "A boundary layer flow", "year": 1960, "metadata": {"source": "y"}},
    "c": {"title": "Heat", "body": "Heat of a layer", "year": 1959, "metadata": {"source": "y"}},
}
MAPPINGS = {"properties": {"title": {"type": "text"}, "body": {"type": "text"}, "year": {"type": "integer"}}}
BOTH = {"fields": ["title", "body"]}


def ids(answer):
    return [hit["_id"] for hit in answer["hits"]["hits"]]


def refused(error, part, call):
    try:
        call()
    except error as refusal:
        assert part in str(refusal), str(refusal)
    else:
        raise AssertionError(f"not refused: {part}")


warnings.simplefilter("ignore")
client = Elasticsearch(URL)
assert client.ping()
assert client.info()["tagline"] == "You Know, for Search"
assert client.cluster.health(wait_for_status="yellow")["status"] == "green"

# Indexes.
client.options(ignore_status=404).indices.delete(index=INDEX)
assert not client.indices.exists(index=INDEX)
client.indices.create(index=INDEX, mappings=MAPPINGS, settings={"number_of_shards": 1, "number_of_replicas": 0})
assert client.indices.exists(index=INDEX)
refused(BadRequestError, "already exists", lambda: client.indices.create(index=INDEX))
mapping = client.indices.get_mapping(index=INDEX)[INDEX]["mappings"]
assert mapping["properties"]["title"]["type"] == "text", mapping
assert client.indices.get_settings(index=INDEX)[INDEX]["settings"]["index"]["number_of_shards"] == "1"
assert not client.indices.exists_alias(name="nothing")
client.indices.put_mapping(index=INDEX, properties={"tag": {"type": "keyword"}})

# Writes.
actions = ({"_index": INDEX, "_id": name, "_source": document} for name, document in DOCUMENTS.items())
assert helpers.bulk(client, actions, refresh=True) == (3, [])
again = [{"_op_type": "create", "_index": INDEX, "_id": "a", "_source": {}}]
count, errors = helpers.bulk(client, again, raise_on_error=False, refresh="wait_for")
assert (count, errors[0]["create"]["status"]) == (0, 409), errors
assert all(ok for ok, _ in helpers.streaming_bulk(client, iter([{"_index": INDEX, "_id": "d", "title": "Gone", "body": ""}])))
assert client.delete(index=INDEX, id="d", refresh=True)["result"] == "deleted"
refused(NotFoundError, "not_found", lambda: client.delete(index=INDEX, id="d"))
assert client.index(index=INDEX, id="d", document={"title": "Tag", "body": "", "tag": "t"}, refresh=True)["result"] == "created"
refused(ConflictError, "version_conflict", lambda: client.create(index=INDEX, id="d", document={"title": "x"}))
refused(BadRequestError, "_update", lambda: client.update(index=INDEX, id="d", doc={"title": "x"}))
client.indices.refresh(index=INDEX)
assert client.count(index=INDEX)["count"] == 4

# Documents.
assert client.get(index=INDEX, id="a")["_source"] == DOCUMENTS["a"]
assert client.get_source(index=INDEX, id="a", source_includes=["year"]) == {"year": 1959}
assert client.exists(index=INDEX, id="a") and not client.exists(index=INDEX, id="nothing")
assert client.get(index=INDEX, id="a", source_excludes=["body", "metadata"])["_source"] == {"title": "Wing flow", "year": 1959}
found = client.mget(index=INDEX, ids=["a", "nothing"])["docs"]
assert [document["found"] for document in found] == [True, False]
asked = [{"_index": INDEX, "_id": "b", "_source": ["year"]}, {"_index": "nothing", "_id": "b"}, {"_index": INDEX, "_id": "c"}]
found = client.mget(docs=asked, source_excludes=["body"])["docs"]
assert found[0]["_source"] == {"year": 1960} and "body" not in found[2]["_source"], found
assert found[1]["error"]["type"] == "index_not_found_exception", found
refused(NotFoundError, "index_not_found", lambda: client.indices.refresh(index="nothing"))
assert client.indices.refresh(index=[INDEX])["_shards"]["failed"] == 0

# Searches.
flow = {"multi_match": {"query": "flow", **BOTH}}
answer = client.search(index=INDEX, query=flow, source=["metadata.source"], highlight={"fields": {"body": {}}}, explain=True)
assert sorted(ids(answer)) == ["a", "b"] and answer["hits"]["total"] == {"value": 2, "relation": "eq"}
hit = next(hit for hit in answer["hits"]["hits"] if hit["_id"] == "a")
assert hit["_source"] == {"metadata": {"source": "x"}}
assert hit["highlight"]["body"] == ["The <em>flow</em> at a wing"], hit
assert abs(hit["_explanation"]["value"] - hit["_score"]) < 1e-6
only = client.search(index=INDEX, query=flow, source_includes=["t*", "metadata"], source_excludes=["metadata.source"])
assert all(list(hit["_source"]) == ["title", "metadata"] for hit in only["hits"]["hits"]), only
marked = {"pre_tags": ["<b>"], "post_tags": ["</b>"], "fields": {"*": {"fragment_size": 50}}}
hit = client.search(index=INDEX, query={"bool": {"must": flow, "filter": {"ids": {"values": "a"}}}}, highlight=marked)["hits"]["hits"][0]
assert hit["highlight"] == {"title": ["Wing <b>flow</b>"], "body": ["The <b>flow</b> at a wing"]}, hit
filtered = {"bool": {"must": [flow], "filter": [{"term": {"metadata.source.keyword": "y"}}, {"term": {"year": 1960}}]}}
assert ids(client.search(index=INDEX, query=filtered)) == ["b"]
assert ids(client.search(index=INDEX, query={"terms": {"year": [1960, 1961]}})) == ["b"]
assert ids(client.search(index=INDEX, query={"ids": {"values": ["c", "a"]}})) == ["a", "c"]
assert ids(client.search(index=INDEX, query={"term": {"tag": "t"}})) == ["d"]
phrase = {"multi_match": {"query": "boundary layer", "type": "phrase", **BOTH}}
assert ids(client.search(index=INDEX, query=phrase)) == ["b"]
assert ids(client.search(index=INDEX, q="heat -wing")) == ["c"]
assert client.count(index=INDEX, query={"bool": {"must_not": flow}})["count"] == 2
page = client.search(index=INDEX, size=1, sort=["_score", {"_doc": "asc"}], query={"match_all": {}})
rest = client.search(
    index=INDEX, sort=["_score", {"_doc": "asc"}], query={"match_all": {}}, search_after=page["hits"]["hits"][0]["sort"]
)
assert sorted(ids(page) + ids(rest)) == ["a", "b", "c", "d"]
assert ids(client.search(index=INDEX, query={"match_all": {}}, from_=1, size=2)) == ids(rest)[:2]
searches = [{"index": INDEX}, {"query": flow, "size": 1}, {"index": "nothing"}, {}]
responses = client.msearch(searches=searches)["responses"]
assert len(responses[0]["hits"]["hits"]) == 1 and responses[1]["status"] == 404
best = {"multi_match": {"query": "flow layer", "type": "best_fields", "tie_breaker": 0.3, **BOTH}}
searches = [{"index": INDEX, "search_type": "dfs_query_then_fetch"}, {"query": best, "size": 1, "_source": False}] * 2
responses = client.msearch(searches=searches, search_type="dfs_query_then_fetch", max_concurrent_searches=5)["responses"]
assert [answer["hits"]["hits"] for answer in responses] == [[{"_index": INDEX, "_id": "b", "_score": ANY}]] * 2, responses
assert any(row["index"] == INDEX for row in client.cat.indices(format="json"))
assert INDEX in str(client.cat.indices(v=True))

# Faults.
refused(NotFoundError, "no such index", lambda: client.search(index="nothing"))
refused(BadRequestError, "[range]", lambda: client.search(index=INDEX, query={"range": {"year": {"gte": 1}}}))
refused(BadRequestError, "multi_match", lambda: client.search(index=INDEX, query={"match": {"title": "wing"}}))
refused(BadRequestError, "[aggs]", lambda: client.search(index=INDEX, aggs={"x": {"terms": {"field": "year"}}}))
refused(ApiError, "scroll", lambda: list(helpers.scan(client, index=INDEX)))

for member in ["collapse", "rescore", "suggest", "slice", "post_filter", "runtime_mappings", "script_fields"]:
    refused(BadRequestError, f"[{member}]", lambda: client.perform_request(
        "POST", f"/{INDEX}/_search", body={member: {}}, headers={"content-type": "application/json", "accept": "application/json"}))
refused(BadRequestError, "[unknown_member]", lambda: client.search(index=INDEX, query={"multi_match": {"query": "x", "unknown_member": 1}}))
refused(BadRequestError, "routing", lambda: client.index(index=INDEX, id="e", document={"title": "x"}, routing="r"))

# Differences are told.
for query, part in [
    ({"multi_match": {"query": "flow", "fuzziness": "AUTO"}}, "without fuzziness"),
    ({"multi_match": {"query": "boundary layer", "type": "phrase", **BOTH}}, "sum of the scores of its words"),
    ({"match": {"nofield": "flow"}}, "no document has the field `nofield`"),
]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        client.search(index=INDEX, query=query)
    assert any(part in str(warning.message) for warning in told), [str(w.message) for w in told]

# The end.
assert client.delete_by_query(index=INDEX, query={"term": {"year": 1959}}, refresh=True)["deleted"] == 2
assert client.count(index=INDEX)["count"] == 2
client.indices.delete(index=INDEX)
assert not client.indices.exists(index=INDEX)
print(f"ok      elasticsearch-py {'.'.join(map(str, __version__))}")
