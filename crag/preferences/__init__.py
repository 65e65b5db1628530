"""What a person settled for this home: values that outlast conversations, named presets, models that may be sent to."""

from crag.preferences.catalog import CATALOG, Setting
from crag.preferences.preferences import Effective, Preferences, ValueOrigin

__all__ = ["CATALOG", "Effective", "Preferences", "Setting", "ValueOrigin"]
