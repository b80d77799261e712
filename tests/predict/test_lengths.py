"""Lengths of requests as public traces write them."""

from __future__ import annotations

import pytest

from roofline import InputError
from roofline.predicting.lengths import read


def lengths(tmp_path, text):
    path = tmp_path / "lengths.csv"
    path.write_text(text, encoding="utf-8")
    return read(str(path)).pairs


@pytest.mark.parametrize(
    "text",
    [
        "374,44\n396,109\n",
        "prompt,output\n374,44\n396,109\n",
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.68,374,44\n"
        "2023-11-16 18:15:50.99,396,109\n",
        "output_tokens;prompt_tokens\n44;374\n109;396\n",
        'Timestamp\tModel\t"Request tokens"\t"Response tokens"\n5\tGPT\t374\t44\n6\tx\t396\t109\n',
        "\ufeffinput_length,output_length\r\n374,44\r\n\r\n396,109\r\n",
        '{"timestamp": 0, "input_length": 374, "output_length": 44, "hash_ids": [0, 1]}\n'
        '{"timestamp": 9, "input_length": 396, "output_length": 109, "hash_ids": [2]}\n',
    ],
)
def test_one_trace_in_many_forms(tmp_path, text):
    assert lengths(tmp_path, text) == ((374, 44), (396, 109))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no requests"),
        ("prompt,output\n", "no requests"),
        ("a,b\n1,2\n", "no column of prompt tokens among 'a, b'"),
        ("prompt,b\n1,2\n", "no column of output tokens"),
        ("prompt,output\n1,two\n", "line 2: not prompt and output tokens"),
        ("374,44\n374,0\n", "line 2: not prompt and output tokens"),
        ("prompt,output\n374\n", "line 2: not prompt"),
        ('{"prompt": 5, "output": 7}\n[1]\n', "line 2: not a JSON object"),
        ('{"prompt": 5, "output": 7}\n{"prompt": 5', "line 2: not JSON"),
        ('{"prompt": 5.5, "output": 7}\n', "not prompt and output"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, says):
    with pytest.raises(InputError, match=says) as caught:
        lengths(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_real_traces(shared):
    azure = read(f"{shared}/workloads/azure-2023-conversation.csv")
    assert azure.pairs[:2] == ((374, 44), (396, 109))
    mooncake = read(f"{shared}/workloads/mooncake-conversation-3000.jsonl")
    assert len(mooncake.pairs) == 3000
    assert mooncake.pairs[0] == (6758, 500)
