"""A page carries its modules without comments and white space, and nothing else changed."""

from __future__ import annotations

import pytest

from roofline.page import squeeze
from roofline.page.bundle import bundle

SCRIPTS = {
    "const a = 1; // one\n/* two\n */\nconst b = a;\n": "const a=1;const b=a;",
    "/** @type {X} */\nlet x = /** @type {Y} */ (y);": "let x=(y);",
    "f(\n  a,\n  [b, c,],\n);": "f(a,[b,c]);",
    "const [, second] = list;": "const[,second]=list;",
    "return x in y ? +z : - -z;": "return x in y?+z:- -z;",
    "a + +b; a++ + b;": "a+ +b;a++ +b;",
    "say(\"a  // b\", 'c  /* d');": "say(\"a  // b\",'c  /* d');",
    "x.replace(/[/'] \\/\\//g, y) / 2;": "x.replace(/[/'] \\/\\//g,y)/2;",
    "const half = (a + b) / 2 / c; // over": "const half=(a+b)/2/c;",
    "t(`a  ${f({ b: `c ${d}  e` })}  // f`);": "t(`a  ${f({b:`c ${d}  e`})}  // f`);",
    "`one\n  // told\n    two\n`;": "`one\n\ntwo\n`;",
    "class A {\n  #b = 1;\n  get c() {\n    return this.#b;\n  }\n}": (
        "class A{#b=1;get c(){return this.#b;}}"
    ),
    "list\n  .map((x) => x)\n  .at(-1);": "list.map((x)=>x).at(-1);",
}


@pytest.mark.parametrize("written", SCRIPTS)
def test_a_script_keeps_its_tokens(written):
    assert squeeze.script(written) == SCRIPTS[written]


def test_a_squeezed_script_stays_as_it_is():
    once = bundle("main")
    assert squeeze.script(once) == once.strip().replace(";\nconst ", ";const ")


STYLES = {
    "/* a */\nh1,\nh2 {\n  margin: 0 4px;\n  color: red;\n}\n": "h1,h2{margin:0 4px;color:red}",
    "@media (min-width: 9px) {\n  .a > b {\n    top: calc(1px + 2px);\n  }\n}": (
        "@media (min-width:9px){.a > b{top:calc(1px + 2px)}}"
    ),
}


@pytest.mark.parametrize("written", STYLES)
def test_a_style_keeps_its_rules(written):
    assert squeeze.style(written) == STYLES[written]
