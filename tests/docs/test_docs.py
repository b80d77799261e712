"""The docs are true: links resolve, help pages match, outputs shown are the outputs given."""

from __future__ import annotations

import importlib.util
import os
import re

import pytest

from roofline.cli import main, present

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def pages():
    found = ["README.md", "README.zh.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
    for language in ("en", "zh"):
        found += [f"docs/{language}/{f}" for f in sorted(os.listdir(f"{ROOT}/docs/{language}"))]
    return [f for f in found if f.endswith(".md")]


@pytest.mark.parametrize("page", pages())
def test_links_resolve(page):
    text = re.sub(r"```.*?```", "", read(page), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target and not target.startswith("mailto:"):
            path = os.path.join(ROOT, os.path.dirname(page), target)
            assert os.path.exists(path), f"{page}: {target}"


def test_every_promise_has_its_test():
    """Tests in SECURITY.md are there; one without a file is in the file named before it."""
    file = ""
    for name in re.findall(r"`((?:tests/|test_)[^`]*)`", read("SECURITY.md")):
        path, _, test = name.rpartition("::")
        file = path or file
        assert f"def {test}(" in read(file), name


def test_both_languages_have_the_same_pages():
    english = {f for f in os.listdir(f"{ROOT}/docs/en") if f.endswith(".md")} - {"help.md"}
    chinese = {f for f in os.listdir(f"{ROOT}/docs/zh") if f.endswith(".md")}
    assert english == chinese


def test_help_page_is_what_help_says(monkeypatch):
    monkeypatch.setenv("COLUMNS", "96")  # the script sets it too; this puts it back after
    spec = importlib.util.spec_from_file_location("help_pages", f"{ROOT}/scripts/help_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert read("docs", "en", "help.md") == module.page(), "run 'make docs'"


def test_every_verb_is_in_both_readmes():
    for verb in present():
        for page in ("README.md", "README.zh.md"):
            assert re.search(rf"roofline {verb}\b", read(page)), f"{page}: {verb}"


def first_command(page):
    """The first line of the README that a stranger types, and what stands below it."""
    return re.search(r"```console\n\$ ([^\n]*)\n(.*?)```", read(page), re.DOTALL).groups()


@pytest.mark.parametrize(("page", "language"), [("README.md", "en"), ("README.zh.md", "zh")])
def test_the_first_output_of_the_readme_is_the_real_one(page, language, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    _, shown = first_command(page)
    assert main(["explain", "llama-3.1-8b", "--on", "h100-sxm", "--lang", language]) == 0
    real = capsys.readouterr().out.rstrip()
    assert real.startswith(shown.rstrip())


def examples():
    for language in ("en", "zh"):
        text = read("docs", language, "tutorial.md")
        for command, shown in re.findall(
            r"```console\n\$ roofline ([^\n]*)\n(.*?)```", text, re.DOTALL
        ):
            yield pytest.param(command, shown, id=f"{language}: {command}")


@pytest.mark.parametrize(("command", "shown"), list(examples()))
def test_every_output_of_the_tutorial_is_the_real_one(command, shown, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "92")
    assert main(command.split()) == 0
    real = capsys.readouterr().out.splitlines()
    for line in shown.rstrip("\n").splitlines():
        assert line.rstrip() in real, "\n".join(real)


def test_no_page_names_a_path_of_a_machine():
    for page in pages():
        assert not re.search(r"(^|[\s`(])/(work|tmp|root|home)/", read(page)), page
