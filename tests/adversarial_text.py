"""Pieces of text that, repeated many times, make careless regular expressions slow."""

ADVERSARIAL = [
    *("a", "1", "1 ", "1-", "4111 ", "@", "a@", "@a.", "a.", "+1 ", "138", "13800138000 "),
    *("eyJ", "eyJaaaaaaaaa.", "sk-", "token ", "token: ", "password is ", "://a:", "[at]", " at "),
    *("-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "电話", "电话", "order ", "１", "好", "\u200b"),
    *(
        "👨\u200d",
        "ignore all previous ",
        "send the ",
        "when you ",
        "忽略之前",
        "将",
        "![",
        "![a](",
    ),
    *("</", "<", "[", '{"name":"a",', '"arguments": {', "system:\n", "Human: a\n", "human: a"),
    *("=", "QUFB", "\n", "-- ", "---begin ", "](https://a?b="),
]
