"""LangChain's Elasticsearch store with its BM25 strategy against a server. The URL is the only argument."""

import sys
import warnings

from langchain_elasticsearch import BM25Strategy, ElasticsearchStore

warnings.simplefilter("ignore")
URL = sys.argv[1]
INDEX = "chain"
TEXTS = ["foo", "foo bar", "foo bar baz", "bla bla"]

store = ElasticsearchStore(index_name=INDEX, es_url=URL, strategy=BM25Strategy(k1=1.5, b=0.5))
store.client.options(ignore_status=404).indices.delete(index=INDEX)
metadatas = [{"source": f"s{n % 2}", "page": n} for n in range(len(TEXTS))]
ids = store.add_texts(TEXTS, metadatas=metadatas)
assert len(ids) == len(TEXTS)
settings = store.client.indices.get_settings(index=INDEX)[INDEX]["settings"]["index"]
assert settings, settings

found = store.similarity_search("foo", k=10)
assert [document.page_content for document in found] == ["foo", "foo bar", "foo bar baz"], found
found = store.similarity_search("baz", k=10)
assert [document.metadata for document in found] == [{"source": "s0", "page": 2}], found
only = [{"term": {"metadata.source.keyword": "s1"}}]
found = store.similarity_search("foo bla", k=10, filter=only)
assert sorted(document.page_content for document in found) == ["bla bla", "foo bar"], found
scored = store.similarity_search_with_score("foo", k=1)
assert scored[0][1] > 0, scored
assert [document.page_content for document in store.as_retriever(search_kwargs={"k": 1}).invoke("baz")] == ["foo bar baz"]
assert store.delete([ids[0]])
assert len(store.similarity_search("foo", k=10)) == 2
more = ElasticsearchStore.from_texts(["another text"], index_name=INDEX, es_url=URL, strategy=BM25Strategy())
assert more.similarity_search("another")[0].page_content == "another text"
store.client.indices.delete(index=INDEX)
print("ok      langchain-elasticsearch, BM25 strategy")
