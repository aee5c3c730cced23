"""Add to the site what MkDocs does not make by itself.

These are pages from the top folder and from notebooks, links to files outside docs/, and lists of registered functions,
commands and messages. MkDocs calls these functions when it builds the site (`make docs`).
"""

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

from spacy_sapbert import errors

ROOT = Path(__file__).parents[1]
# these files stay the only source of their text
PAGES = {
    "README.md": "index.md",
    "PROJECT.md": "project.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)#\s]+)(?=[)#])")
CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", flags=re.DOTALL | re.MULTILINE)
REGISTERED = "<!-- registered functions -->"
COMMANDS = "<!-- commands -->"
MESSAGES = "<!-- messages -->"
# factories have a page of their own, and users do not call the others
LEFT_OUT = {"spacy_factories", "spacy_models", "spacy_cli", "console_scripts", "oaklib.plugins"}


def on_files(files: Any, *, config: Any) -> Any:
    """Add the pages of the top folder, and each notebook as a page."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    for notebook in sorted(Path(config.docs_dir).glob("*.ipynb")):
        text, pictures = read_notebook(notebook)
        for name, content in {f"{notebook.stem}.md": text, **pictures}.items():
            files.append(File.generated(config, name, content=content))
    summary = f"# {config.site_name}\n\n> {config.site_description}\n"
    pages = {file.src_uri: file.content_string for file in files if file.src_uri.endswith(".md")}
    listed = "\n".join(listed_pages(config.nav, pages, config.site_url))
    files.append(File.generated(config, "llms.txt", content=f"{summary}{listed}\n"))
    return files


def listed_pages(navigation: list[Any], pages: dict[str, str], site: str) -> Iterator[str]:
    """Yield the lines of llms.txt (llmstxt.org): the sections, and their pages with title and first sentence."""
    for entry in navigation:
        if isinstance(entry, str):
            title, _, text = pages[entry].partition("# ")[2].partition("\n")
            paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
            first = next((paragraph for paragraph in paragraphs if paragraph[:1].isalpha()), "")
            first = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", first)
            address = f"{entry}/".replace(".md/", "/").removesuffix("index/")
            yield f"- [{title}]({site}{address}): {first.partition('. ')[0].rstrip('.')}"
            continue
        for section, inner in entry.items():
            yield f"\n## {section}\n"
            yield from listed_pages(inner, pages, site)


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Any) -> str:
    """Write the lists that come from the code, and turn links to files into links of the site."""
    path = page.file.src_uri
    sources = {target: source for source, target in PAGES.items()}
    place = ROOT / sources[path] if path in sources else Path(config.docs_dir) / path
    for marker, write in ((REGISTERED, registered), (COMMANDS, commands), (MESSAGES, messages)):
        if marker in markdown:
            markdown = markdown.replace(marker, write())
    # text in code is not a link
    parts = CODE.split(markdown)
    parts[::2] = [LINK.sub(lambda found: linked(found[1], place, path, config), part) for part in parts[::2]]
    return "".join(parts)


def linked(link: str, place: Path, path: str, config: Any) -> str:
    """Return the target of a link on the site. A missing target stays, and MkDocs reports it.

    Args:
        place: the file that the page is made from.
        path: the page, in docs/.
    """
    target = Path(os.path.normpath(place.parent / link))
    if not target.exists() or not target.is_relative_to(ROOT):
        return link
    name = target.relative_to(ROOT).as_posix()
    if name in PAGES:
        return relative(PAGES[name], path)
    if target.suffix == ".ipynb" and target.stem != Path(path).stem:  # the page of a notebook offers the notebook
        target = target.with_suffix(".md")
    if target.is_relative_to(config.docs_dir):
        return relative(target.relative_to(config.docs_dir).as_posix(), path)
    return f"{config.repo_url.rstrip('/')}/blob/main/{name}"


def relative(target: str, path: str) -> str:
    return Path(os.path.relpath(target, Path(path).parent)).as_posix()


def read_notebook(path: Path) -> tuple[str, dict[str, bytes]]:
    """Return the Markdown of a notebook with its outputs, and its pictures by name."""
    parts = []
    pictures = {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            picture = output.get("data", {}).get("image/png")
            if picture:
                name = f"{path.stem}-{len(pictures) + 1}.png"
                pictures[name] = base64.b64decode(picture)
                parts.append(f"![What the code above draws]({name})")
            else:
                parts.append(output_of(output))
    return "\n\n".join(parts), pictures


def output_of(output: dict[str, Any]) -> str:
    if "text" in output:
        return f"```text\n{''.join(output['text'])}```"
    # a blank line would end the HTML
    return re.sub(r"\n\s*\n", "\n", "".join(output["data"]["text/html"]))


def registered() -> str:
    """Return the Markdown of all functions that the package registers, by registry."""
    points = [point for point in distribution("spacy-sapbert").entry_points if point.group not in LEFT_OUT]
    lines: list[str] = []
    for group in sorted({point.group for point in points}):
        lines += ["", f"## `@{group.partition('_')[2]}`", ""]
        for point in sorted(points, key=lambda point: point.name):
            if point.group == group:
                lines += [f"### `{point.name}`", "", f"::: {point.value.replace(':', '.')}", "    options:"]
                lines += [
                    "      show_root_heading: false",
                    "      show_root_toc_entry: false",
                    "      members: false",
                    "",
                ]
    return "\n".join(lines)


def commands() -> str:
    """Return the Markdown of all commands, without the heading above them."""
    typer = [sys.executable, "-m", "typer", "spacy_sapbert.cli", "utils", "docs", "--name", "spacy-sapbert"]
    written = subprocess.run(typer, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return written.partition("\n")[2]


def messages() -> str:
    """Return the Markdown of all messages, by the first digit of their codes."""
    texts = errors.messages()
    lines: list[str] = []
    subject = ""
    for code in sorted(texts):
        if code[:2] != subject:
            subject = code[:2]
            lines += [f"## {subject}xx", ""]
        text = texts[code].removeprefix(f"[{code}] ")
        lines += [f"### {code}", "", re.sub(r"([{}<>*])", r"\\\1", text), ""]
    return "\n".join(lines)
