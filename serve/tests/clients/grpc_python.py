"""The services of gRPC with the stubs that grpcio-tools makes of serve/proto.

Usage: grpc_python.py ADDRESS QUERIES PROTO STUBS, where the server at ADDRESS serves Cranfield as `cranfield` and takes
changes. The stubs are written to the folder STUBS.
"""
import json
import pathlib
import struct
import subprocess
import sys
import urllib.request

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_status import rpc_status

server, queries, proto, stubs = sys.argv[1:]
pathlib.Path(stubs).mkdir()
files = sorted(str(path) for path in pathlib.Path(proto).glob("tokapi/v1/*.proto"))
command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{proto}", f"--python_out={stubs}", f"--grpc_python_out={stubs}"]
subprocess.run(command + files, check=True)
sys.path.insert(0, stubs)
from tokapi.v1 import documents_pb2, documents_pb2_grpc, indexes_pb2, indexes_pb2_grpc  # noqa: E402
from tokapi.v1 import search_pb2, search_pb2_grpc, state_pb2  # noqa: E402

channel = grpc.insecure_channel(server)
search = search_pb2_grpc.SearchServiceStub(channel)
documents = documents_pb2_grpc.DocumentServiceStub(channel)
indexes = indexes_pb2_grpc.IndexServiceStub(channel)


def bits(number):
    return struct.pack("f", number)


def by_http(body):
    request = urllib.request.Request(
        f"http://{server}/v1/indexes/cranfield/search", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


# Every answer equals that of HTTP.
texts = [line.split("\t")[1].strip() for line in pathlib.Path(queries).read_text().splitlines()][:100]
requests = [search_pb2.SearchRequest(index="cranfield", query=text, k=20, operators=False) for text in texts]
for text, outcome in zip(texts, search.SearchStream(iter(requests)), strict=True):
    answer = outcome.response
    expected = by_http({"query": text, "k": 20, "operators": False})
    assert answer.state.complete and answer.state.epoch == expected["epoch"]
    assert [(hit.id, hit.sequence, hit.snippet) for hit in answer.hits] == [
        (hit["id"], hit["sequence"], hit["snippet"]) for hit in expected["hits"]
    ]
    assert [bits(hit.score) for hit in answer.hits] == [bits(hit["score"]) for hit in expected["hits"]]
batch = search.SearchBatch(search_pb2.SearchBatchRequest(searches=requests))
assert [outcome.response.hits[0].id for outcome in batch.outcomes] == [
    search.Search(request).hits[0].id for request in requests
]

# A problem has a code, a text and details.
try:
    search.Search(search_pb2.SearchRequest(index="none"))
    raise AssertionError("an unknown index was searched")
except grpc.RpcError as error:
    assert error.code() == grpc.StatusCode.NOT_FOUND and "`none`" in error.details()
    (detail,) = rpc_status.from_call(error).details
    problem = state_pb2.Problem()
    assert detail.Unpack(problem) and problem.type == "urn:tokapi:problem:unknown-index"
try:
    search.Search(search_pb2.SearchRequest(index="cranfield", query="x" * (2 << 20)))
    raise AssertionError("a message beyond the limit was taken")
except grpc.RpcError as error:
    assert error.code() == grpc.StatusCode.INVALID_ARGUMENT, error

# Changes.
indexes.CreateIndex(indexes_pb2.CreateIndexRequest(index="grpc", fields=["lang"]))


def document(number):
    lang = state_pb2.Values(values=[state_pb2.Value(text="en")])
    return documents_pb2.NewDocument(id=f"d{number}", text=f"word{number} all", fields={"lang": lang})


def changes():
    for first in range(0, 2000, 100):
        operations = [documents_pb2.Operation(put=document(number)) for number in range(first, first + 100)]
        yield documents_pb2.BulkRequest(index="grpc", operations=operations, idempotency_key=f"puts {first}")
    faulty = [documents_pb2.Operation(delete="none"), documents_pb2.Operation(create=document(7))]
    yield documents_pb2.BulkRequest(index="grpc", operations=faulty)


answers = list(documents.Bulk(changes()))
assert len(answers) == 21
for answer in answers[:-1]:
    assert [result.result for result in answer.results] == [documents_pb2.RESULT_CREATED] * 100
not_done = [documents_pb2.RESULT_NOT_FOUND, documents_pb2.RESULT_CONFLICT]
assert [result.result for result in answers[-1].results] == not_done
assert search.Count(search_pb2.CountRequest(index="grpc", query="all")).count == 2000
assert documents.GetDocument(documents_pb2.GetDocumentRequest(index="grpc", id="d3")).fields["lang"].values[0].text == "en"
indexes.MergeIndex(indexes_pb2.MergeIndexRequest(index="grpc"))
documents.DeleteDocument(documents_pb2.DeleteDocumentRequest(index="grpc", id="d3"))
statistics = indexes.GetStatistics(indexes_pb2.GetStatisticsRequest(index="grpc"))
assert statistics.documents == 1999

# A stream that is given up, and a deadline.
stream = search.SearchStream(iter(requests))
next(stream)
stream.cancel()
assert search.Search(requests[0], timeout=30).hits

# What tools need.
health = health_pb2_grpc.HealthStub(channel)
assert health.Check(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING
services = ProtoReflectionDescriptorDatabase(channel).get_services()
assert "tokapi.v1.SearchService" in services, services
print("grpcio: answers equal those of HTTP; changes, problems, health and reflection")
