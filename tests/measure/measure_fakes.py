"""Trees of files, simulated clocks and devices that are not here."""

import os


def tree(root, files):
    """Write ``files`` (path below ``root`` → content) and return ``root`` as text."""
    for path, content in files.items():
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(content + "\n")
    return str(root)
