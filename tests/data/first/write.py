"""What agents of the invented teahouse said to the first release, over HTTP. See the README."""

import http.client
import json
import sys
from typing import Any

STOCK = [
    "Silver needle white tea: 12 tins of 50 grams in the cellar.",
    "Osmanthus oolong is sold out until the autumn harvest.",
    "The blue gaiwan set costs 96, the plain one 54.",
    "白毫银针还有十二罐，每罐五十克。",
    "桂花乌龙要等到秋茶上市才有货。",
    "蓝色盖碗一套九十六元，素色的五十四元。",
]


def main(address: str, key: str) -> None:
    def post(path: str, **body: Any) -> dict[str, Any]:
        connection = http.client.HTTPConnection(address)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        connection.request("POST", f"/v1/memory/{path}", json.dumps(body), headers)
        answer = json.load(connection.getresponse())
        connection.close()
        return dict(answer)

    price = {"client_id": "first-price", "user_id": "mateo"}
    post("store", text="Cloud Mist green tea costs 38 for 50 grams.", kind="fact", **price)
    post("update", text="Cloud Mist green tea costs 41 for 50 grams.", **price)
    post("update", text="Cloud Mist green tea costs 44 for 50 grams since May.", **price)
    post(
        "store", text="云雾绿茶要用八十度的水，泡两分钟。", user_id="linwen", tags=["茶", "brewing"]
    )
    post("store", text="Mateo no longer drinks coffee.", client_id="coffee", user_id="mateo")
    post("forget", client_id="coffee", user_id="mateo")
    nodes = [
        {"client_id": f"stock-{number}", "text": text, "user_id": "keeper", "run_id": "stock-0502"}
        for number, text in enumerate(STOCK)
    ]
    post("write", nodes=nodes, input_text="The keeper counts the stock.")


if __name__ == "__main__":
    main(*sys.argv[1:])
