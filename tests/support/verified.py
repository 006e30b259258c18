"""What every test with an archive ends with: `verify` agrees with what it left behind."""

from __future__ import annotations

import pytest

from archive.storage.volume import Volume
from archive.survey import Survey
from archive.verifying.checks import Finding
from support.workshop import Workshop
from worker.verifying.verifier import Verifier


def damages(request: pytest.FixtureRequest) -> bool:
    """Whether the test is marked `damage`, which needs its reason."""
    marker = request.node.get_closest_marker("damage")
    if marker is None:
        return False
    assert marker.args, "say what `verify` must find: @pytest.mark.damage('…')"
    return True


async def findings(shop: Workshop) -> list[Finding]:
    """What `verify` finds wrong with a workshop's tenant; a note isn't wrong."""
    survey = Survey(Volume(shop.directory), [shop.tenant])
    verifier = Verifier(shop.store(), survey, pause_s=0)
    found = [finding async for finding in verifier.verify()]
    return [finding for finding in found if not finding.is_note]


async def verified(shop: Workshop, request: pytest.FixtureRequest) -> None:
    """The end of a test: all agree, or where it did damage, `verify` names some."""
    found = await findings(shop)
    assert bool(found) == damages(request), found
