"""Everyday words: greetings, reactions, verbs of telling and feeling, vague nouns. Pure.

They occur in texts about anything, and so say little about what a text is about. The lists are of
the language in general, as stop words are.
"""

from kmapp.text.terms import STOP_WORDS

_ENGLISH = """
able absolutely actually add agree ago ah ahead almost already alright alone along also always
amazing another any anybody anyone anything anyway appreciate appreciated around ask asked asking
asks awesome away awful awhile
back bad beautiful became become been began begin believe best bet better big bit brilliant bring
bringing brings brought bunch bye
call called calling came can cannot care certain certainly chance change changed changes chat
chatted chatting check cheers clear clearly come comes coming common congrats congratulations cool
could couple course crazy curious cute
day days deal definitely deserve different difference doing done doubt
each easy else end ended enjoy enjoyed enjoying enjoys enough entire especially even ever every
everybody everyone everything everywhere exact exactly excellent excited exciting experience
experiences explain explained
fab fabulous fair fantastic far favorite favourite feel feeling feelings feels felt few figure find
finding fine first folks follow forget forward found fun funny future
gave general get gets getting give given gives giving glad go goes going gonna good goodbye gorgeous
got gotta gotten great grateful guess guy guys
had haha half handle happen happened happening happens happier happiness happy hard hear heard
heart hello help helped helpful helping helps hey hi hmm hold honest honestly hope hoped hopefully
hopes hoping hot huge hurt
idea ideas imagine important impressed impressive incredible incredibly indeed inspire inspired
inspires inspiration inspiring instead interest interested interesting
joy just
keep keeping keeps kept kind kinda knew know knowing known knows
last lately later laugh least leave leaving left let lets life like liked likes listen little live
lives living lol long look looked looking looks lot lots love loved lovely loves loving luck luckily
lucky
mad made main make makes making many matter matters maybe mean meaning meaningful means meant
memorable mention mentioned might mind mine moment moments more morning most motivated motivating
motivation much must
name neat need needed needs never new next nice no nope nothing notice noticed now
obviously oh ok okay old one ones open opinion order other others ought overall
pardon part particular passion passionate past peace people perfect perfectly perhaps person
personal personally photo photos pic pick picked pics picture pictures place plan planning plans
please pleased pleasure plenty plus point positive possible pretty probably problem proud pumped
put putting
question questions quick quickly quite
reach ready real reality realize realized really reason recent recently remember remind reminded
reminder reminds reply respond rest right rock rough
sad said same saw say saying says see seeing seem seemed seems seen sense serious seriously set
several shame share shared shares sharing show showed showing shown shows side simple simply since
sit situation small smile so somebody somehow someone something sometimes somewhere soon sorry sort
sound sounded sounds special spend spending spent spot start started starting starts state stay
staying still stoked stop strong stuff stunning such suggest super support supported supporting
supportive suppose sure surely surprise surprised sweet
take taken takes taking talk talked talking talks tell telling tells terrible terrific thank
thankful thanks that thing things think thinking thinks though thought thoughtful thoughts thrilled
time times tip tips today together told tomorrow tonight took total totally touch tough toward
tried tries true truly trust truth try trying turn turned turns twice two type
understand understanding unfortunately unique until up update upset us use used useful user uses
using usual usually
very view
wait waiting wanna want wanted wanting wants was watch way ways week weekend weeks welcome well went
whatever whenever wherever whether while whoa whole willing wish wished wishing within without woah
wonder wonderful wondering word words work worked working works world worried worry worse worst
worth would wow wrong
ya yay yeah year years yep yes yesterday yet yo yup
"""
_CHINESE = """
哈 哈哈 哈哈哈 嗯 嗯嗯 哦 噢 哎 哎呀 唉 喂 嗨 嘿 哇 对 对了 好 好的 好吧 行 是的 不是 没错 当然
确实 真的 真是 真 太 挺 蛮 特别 非常 十分 比较 有点 一点 一些 一下 一样 一起 一直 一定 一般 已经
还是 还有 还要 就是 只是 可是 不过 然后 而且 或者 虽然 于是 其实 大概 可能 应该 需要 想 想要 希望
打算 准备 觉得 认为 感觉 感到 知道 了解 明白 记得 忘 忘记 发现 看 看看 看到 看见 听 听说 听到 说说
告诉 聊 聊聊 聊天 谈 谈谈 讲 问 问题 回答 回复 谢谢 感谢 多谢 不客气 没关系 没事 抱歉 对不起 请
麻烦 你好 您好 再见 早 早上 早上好 晚上 晚安 中午 下午 上午 今天 明天 昨天 前天 后天 现在 最近
以前 以后 之前 之后 刚 刚才 刚刚 马上 后来 开始 结束 继续 时间 日子 天 年 月 次 下次 上次 每天
每次 人 大家 朋友 别人 自己 事 事情 东西 地方 样子 情况 方面 办法 原因 意思 想法 喜欢 爱 高兴 开心
快乐 难过 伤心 累 忙 棒 厉害 不错 很好 漂亮 美 有趣 有意思 好玩 期待 加油 恭喜 祝 祝贺 用户 做 弄
用 买 拿 带 放 找 来 去 走 到 过 起来 出来 过来 回来 回 给 让 叫 使 变 成 成为 帮 帮忙 帮助 试
试试 支持 大 小 多 少 新 旧 老 长 短 高 低 快 慢 第一 两 三 几个 这样 那样 这么 那么 这里 那里
这儿 那儿 每 各 另 其他
"""
EVERYDAY_WORDS = frozenset(_ENGLISH.split() + _CHINESE.split()) | STOP_WORDS
