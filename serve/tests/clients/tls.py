"""Python's ssl against the server: names and chains are checked. Arguments: the URL, the certificate."""
import http.client
import json
import ssl
import sys
import urllib.parse

url, certificate = sys.argv[1:]
address = urllib.parse.urlsplit(url).netloc
trusting = ssl.create_default_context(cafile=certificate)
for version in [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]:
    trusting.minimum_version = trusting.maximum_version = version
    connection = http.client.HTTPSConnection(address, context=trusting)
    for _ in range(2):
        body = json.dumps({"query": "boundary layer"})
        connection.request("POST", "/v1/indexes/cranfield/search", body, {"content-type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200 and len(json.load(answer)["hits"]) == 10
    assert connection.sock.version() == version.name.replace("_", ".")

try:
    http.client.HTTPSConnection(address, context=ssl.create_default_context()).request("GET", "/live")
    raise SystemExit("a certificate that nobody has signed was trusted")
except ssl.SSLCertVerificationError:
    pass

connection = http.client.HTTPConnection(address)
connection.request("GET", "/live")
answer = connection.getresponse()
assert answer.status == 400 and "https" in json.load(answer)["detail"]
print("Python's ssl: done")
