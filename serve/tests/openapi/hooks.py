"""What schemathesis cannot know: the names in the indexes of this test, and lines of JSON."""

import json

import schemathesis

INDEXES = ["docs"]
FIELDS = ["lang", "year", "topic"]
# Operations on indexes of any name.
FREE = {"create_index", "remove_index"}


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Only the fields that the index keeps are valid, and most requests go to the index that is there."""
    named = {"type": "string", "enum": FIELDS}
    fault = {"type": "string", "pattern": f"^-?({'|'.join(FIELDS)}):[a-z0-9]{{1,8}}$"}
    parameters = {"field": named, "facet": {"items": named}, "filter": {"items": fault}}
    for path, methods in raw_schema["paths"].items():
        for operation in methods.values():
            for parameter in operation.get("parameters", []):
                schema, name = parameter["schema"], parameter["name"]
                if name == "index" and operation["operationId"] not in FREE:
                    parameter["schema"] = {"type": "string", "enum": INDEXES}
                elif name == "field" and parameter["in"] == "query":
                    schema["items"] = named
                else:
                    schema.update(parameters.get(name, {}))
    schemas = raw_schema["components"]["schemas"]
    schemas["FilterRequest"]["oneOf"][0].update(fault)
    schemas["FilterParts"]["properties"]["field"].update(named)
    for name in ["facets", "fields"]:
        schemas["SearchRequest"]["properties"][name]["items"] = named
    for name in ["DocumentRequest", "NewDocument"]:
        schemas[name]["properties"]["fields"]["propertyNames"] = named


@schemathesis.serializer("application/x-ndjson")
def line(context, value):
    """A bulk request of one line."""
    return value if isinstance(value, bytes) else json.dumps(value).encode()


@schemathesis.deserializer("application/x-ndjson")
def lines(context, response):
    """The answer to one line; all have the same form."""
    return [json.loads(line) for line in response.content.splitlines()][0]
