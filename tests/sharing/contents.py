"""The documents of the homes, and what is known of them."""

KETTLES = b"# Kettles\nA kettle boils water.\nIt whistles when the water boils.\nDescale it.\nRinse it twice.\n"
CATS = b"A cat sleeps all day.\nA cat purrs.\n"


def passages(library):
    """What is known of every passage, but ids."""
    found = [library.passage(hit.id) for hit in library.search("cat kettle water it", k=50)]
    return sorted((one.title, one.location, one.text, one.page or 0, one.heading, one.context) for one in found)


def only(results):
    (result,) = results
    return result
