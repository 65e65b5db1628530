import pytest

from crag.errors import Stopped
from pages.parts.services import close_application, shared_application


def test_a_page_that_is_drawn_while_the_server_closes_opens_no_other_application(services):
    close_application()
    assert shared_application() is services
    with pytest.raises(Stopped):
        services.conversations.list()
