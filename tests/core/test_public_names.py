"""The public names, pinned."""

from __future__ import annotations

import subprocess
import sys

import roofline

NAMES = """Bound Case Climb Explanation Figure Fit Group InputError Lever Machine Measured
MissingExtra Model NotFound Operator OperatorBound Parallel Placements Point Prediction Roof
RooflineError Step Sweep UnsupportedError Verdict Work bench explain given load_machine load_model
measure place plot predict sweep""".split()


def test_public_names_are_pinned_and_sorted():
    assert roofline.__all__ == sorted(NAMES, key=lambda n: (n[0].islower(), n))


def test_every_public_name_is_there_and_documented():
    for name in roofline.__all__:
        assert getattr(roofline, name).__doc__, name


def test_explain_is_a_function_whatever_is_imported_first():
    code = "import roofline.bound.explanation, roofline; assert callable(roofline.explain)"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": "src"})


def test_importing_the_package_imports_nothing_heavy():
    code = (
        "import sys, roofline.cli; roofline.cli.parser('explain'); "
        "heavy = {'numpy', 'torch', 'matplotlib', 'numba', 'httpx', 'inspect'} & set(sys.modules); "
        "sys.exit(str(heavy - {'inspect'}) if heavy - {'inspect'} else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": "src"})


def test_results_show_themselves():
    answer = roofline.explain("llama-3.1-8b", "h100-sxm")
    assert "1.05 FLOP/byte" in str(answer)
    assert "1.05 FLOP/byte" in answer._repr_html_()


def test_a_plain_answer_imports_only_what_it_needs():
    code = (
        "import sys; from roofline.cli import main; "
        "main(['explain', 'llama-3.1-8b', '--on', 'h100-sxm']); "
        "spare = {'dataclasses', 'difflib', 'inspect', 'numpy', 'shutil', 'tomllib'}; "
        "sys.exit(' '.join(sorted(spare & set(sys.modules))) or 0)"
    )
    env = {"PYTHONPATH": "src", "LC_ALL": "C.UTF-8"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, check=False, env=env, text=True)
    assert (done.returncode, done.stderr.strip()) == (0, "")


def test_no_module_is_hidden_by_a_function_of_its_name():
    code = (
        "import pkgutil, sys, types, roofline; from importlib import import_module\n"
        "for at in pkgutil.walk_packages(roofline.__path__, 'roofline.'):\n"
        "    if not at.name.endswith('__main__'): import_module(at.name)\n"
        "for name in roofline.__all__: getattr(roofline, name)\n"
        "hidden = [f'{name}.{part.name}' for name, module in list(sys.modules.items())\n"
        "    if name.partition('.')[0] == 'roofline' and hasattr(module, '__path__')\n"
        "    for part in pkgutil.iter_modules(module.__path__) if part.name != '__main__'\n"
        "    and not isinstance(getattr(module, part.name), types.ModuleType)]\n"
        "sys.exit(' '.join(hidden) or 0)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, check=False, text=True,
                          env={"PYTHONPATH": "src"})  # fmt: skip
    assert (done.returncode, done.stderr.strip()) == (0, "")
