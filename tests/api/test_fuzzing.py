"""Requests made up from the description of the API: whatever comes, the reply is as described and no server error."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from crag.api.app import create_api
from tests.api.conftest import secret_of

_CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]
_LIGHT = settings(
    max_examples=4, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.filterwarnings("ignore::hypothesis.errors.HypothesisDeprecationWarning")  # other threads use `random`
def test_every_reply_is_as_described(application):
    described = schemathesis.openapi.from_asgi("/api/v1/openapi.json", create_api(lambda: application))
    headers = {"Authorization": f"Bearer {secret_of(application)}"}
    operations = [found.ok() for found in described.get_all_operations()]

    def send(case):
        case.validate_response(case.call(headers=headers), checks=_CHECKS)

    for operation in operations:
        _LIGHT(given(operation.as_strategy())(send))()
    assert len(operations) > 15
