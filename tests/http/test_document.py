"""The OpenAPI document: complete, and true of what the server does."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from spillcache.demo import sample
from spillcache.http import answers
from tests.http.test_reading import store
from tests.servers.caches import metrics

OPERATIONS = [
    "createSpill", "statSpill", "deleteSpill", "readPage", "readInventory", "readContent", "headContent", "findMatches",
    "readFull", "readSeries",
]  # fmt: skip
GOOD = {"200", "201", "204", "206", "304"}


@pytest.fixture
def document(client: httpx2.Client) -> Any:
    """As it is served."""
    return client.get("/openapi.json").json()


def test_every_operation_is_named_and_says_how_it_fails(document: Any) -> None:
    """With an id, a summary, and problem documents, never the validation errors of the framework."""
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    ids = [operation["operationId"] for operation in operations]
    assert sorted(ids) == sorted(OPERATIONS)
    for operation in operations:
        assert operation["summary"]
        assert operation["description"]
        failures = [answer for status, answer in operation["responses"].items() if status not in GOOD]
        assert len(failures) >= 4
        assert {kind for answer in failures for kind in answer["content"]} == {"application/problem+json"}
    assert document["servers"] == [{"url": "/v1"}]
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"


def test_every_example_is_what_it_is_an_example_of(document: Any) -> None:
    """An example that the schema refuses would teach a client what never comes."""
    kinds = {
        "createSpill": answers.EnvelopeAnswer,
        "statSpill": answers.StatAnswer,
        "readPage": answers.PageAnswer,
        "readInventory": answers.ListingAnswer,
        "findMatches": answers.MatchesAnswer,
        "readFull": answers.PageAnswer,
        "readSeries": answers.SeriesAnswer,
    }
    seen = 0
    for path in document["paths"].values():
        for operation in path.values():
            for answer in operation["responses"].values():
                for media_type, content in answer.get("content", {}).items():
                    if media_type == "application/problem+json":
                        for example in content["examples"].values():
                            TypeAdapter(answers.ProblemAnswer).validate_python(example["value"])
                    elif "example" in content:
                        TypeAdapter(kinds[operation["operationId"]]).validate_python(content["example"])
                        seen += 1
    assert seen == len(kinds)


def test_what_is_answered_has_no_field_that_the_document_does_not_know(client: httpx2.Client) -> None:
    """Additions are allowed to a release, not to chance."""
    created = client.post("/spills", content=metrics(), params={"tool": "query"})
    at = f"/spills/{created.json()['spill_id']}"
    last = client.get(f"{at}/pages", params={"max_bytes": 400_000})
    series_at = store(client, sample.payload())
    for kind, answer in (
        (answers.EnvelopeAnswer, created),
        (answers.StatAnswer, client.get(at)),
        (answers.PageAnswer, client.get(f"{at}/pages")),
        (answers.PageAnswer, last),
        (answers.PageAnswer, client.get(f"{at}/pages", params={"result": "1"})),
        (answers.ListingAnswer, client.get(f"{at}/inventory")),
        (answers.MatchesAnswer, client.get(f"{at}/matches", params={"pattern": "name"})),
        (answers.MatchesAnswer, client.get(f"{at}/matches", params={"pattern": "1.5(?s:.*)"})),
        (answers.PageAnswer, client.get(f"{at}/full")),
        (answers.PageAnswer, client.get(f"{series_at}/pages", params={"view": "compact"})),
        (answers.PageAnswer, client.get(f"{series_at}/pages", params={"view": "compact", "result": 2})),
        (answers.SeriesAnswer, client.get(f"{series_at}/series")),
        (answers.SeriesAnswer, client.get(f"{at}/series")),
        (answers.ProblemAnswer, client.get(f"{at}/pages", params={"result": "query"})),
    ):
        assert answer.json().keys() <= kind.__annotations__.keys() | answers.Caveats.__annotations__.keys()
        TypeAdapter(kind).validate_json(answer.content, strict=True)


def test_the_document_loads_nothing_from_elsewhere(client: httpx2.Client) -> None:
    """It is read where no other host can be reached."""
    assert "http://" not in client.get("/openapi.json").text
    assert "https://" not in client.get("/openapi.json").text


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_whatever_is_sent_the_answer_is_one_that_the_document_describes(
    url: str, client: httpx2.Client, operation_id: str, mode: GenerationMode
) -> None:
    """A status, a type, headers and a body that it describes: within what it allows, and beyond."""
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    operation = schema.find_operation_by_id(operation_id)
    # No schema can say which ids bear their checksum and which cursors our signature, so what it allows may be refused;
    # nor that a blank parameter counts as absent, so what it forbids may be answered.
    spill_id = store(client, metrics()).rpartition("/")[2]

    @settings(max_examples=12, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(generation_mode=mode), st.booleans())
    def answered(case: Any, real: bool) -> None:
        if real and "spill_id" in case.path_parameters:
            case.path_parameters["spill_id"] = spill_id
        answer = case.call()
        blank = "=&" in f"{answer.request.url}&"
        allowed = [positive_data_acceptance, *([negative_data_rejection] if blank else [])]
        case.validate_response(answer, excluded_checks=allowed)

    answered()
