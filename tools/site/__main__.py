"""``python -m tools.site``: assemble the pages in build/docs."""

from tools.site.pages import assemble

if __name__ == "__main__":
    assemble()
