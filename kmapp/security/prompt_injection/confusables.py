"""Names that readers confuse: both have the same skeleton (as in Unicode UTS #39)."""

from collections.abc import Iterable

from kmapp.text.folding import fold

# Cyrillic and Greek letters, and the Latin letters that look the same.
LATIN_LETTERS = str.maketrans("аеорсухіѕјһԁαοεικρυ", "aeopcyxisjhdaoeikpu")
# Traditional Chinese characters, and the simplified ones of the patterns.
SIMPLIFIED = str.maketrans(
    "們個來這說時對會學過現國請將與為從後當發樣開關問題無語話讀寫見聽給於還沒點動機長"
    "頭實際應該經統編輯種類處網頁間據檔資訊設備並詞貼規則執業務員戶碼證號鑰顯獲繼續權"
    "層級總結復複輸轉傳遞記憶錄內帳賬檢測試驗審計劃報濾護風險確認識別誌庫條約許諾願讓"
    "變換啟啓閉壞強標籤視覺須導達離難雖雙隱隨顧驟體龍擾擇擔擁撥損揮夠夢奪妳嚴嗎單嘗團"
    "圍壓壹專尋屬嶺幣幫幹幾廣彈錯鏈鍵鎖鑒闢陰陽階隊雜電靈靜響順預領頻顆額飛馬騙驅麼齊"
    "準濟滿漢決滅煩熱營獨環產畫異療盡監盤眾矯礎稱穩競筆簡簽節範糧紀紅納純細終組絕絡綱"
    "維線緊練縮織繞聯職聲膚臨舉舊艱華萬葉蓋藝藥蘭術衛補裝裡裏製觀觸訂訓託訪評詢詳誤課"
    "調談論謝謹譯議讚豐負財責貨貴買費賣賴購贈趕跡踐車軟軍輕較載輔辦農連進遊運違遠適選"
    "遺邊郵釋針銀銷錢",
    "们个来这说时对会学过现国请将与为从后当发样开关问题无语话读写见听给于还没点动机长"
    "头实际应该经统编辑种类处网页间据档资讯设备并词贴规则执业务员户码证号钥显获继续权"
    "层级总结复复输转传递记忆录内帐账检测试验审计划报滤护风险确认识别志库条约许诺愿让"
    "变换启启闭坏强标签视觉须导达离难虽双隐随顾骤体龙扰择担拥拨损挥够梦夺你严吗单尝团"
    "围压一专寻属岭币帮干几广弹错链键锁鉴辟阴阳阶队杂电灵静响顺预领频颗额飞马骗驱么齐"
    "准济满汉决灭烦热营独环产画异疗尽监盘众矫础称稳竞笔简签节范粮纪红纳纯细终组绝络纲"
    "维线紧练缩织绕联职声肤临举旧艰华万叶盖艺药兰术卫补装里里制观触订训托访评询详误课"
    "调谈论谢谨译议赞丰负财责货贵买费卖赖购赠赶迹践车软军轻较载辅办农连进游运违远适选"
    "遗边邮释针银销钱",
)
_SIMILAR_SHAPES = str.maketrans("01i|_. ", "olll---")


def compute_skeleton(name: str) -> str:
    """Return a name without differences of width, case, script and shape. For comparison only."""
    letters = fold(name).text.casefold().translate(LATIN_LETTERS)
    return letters.translate(_SIMILAR_SHAPES).replace("rn", "m")


def list_confusable(name: str, others: Iterable[str]) -> list[str]:
    own = compute_skeleton(name)
    return sorted(each for each in others if each != name and compute_skeleton(each) == own)
