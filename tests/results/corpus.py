# ruff: noqa: RUF001 - letters of other scripts that look like Latin ones are what this file is about.
"""Sound replies for the oracles' tests: prose in many languages, code, tables, lists of translations, and calls.

Owns: generators of what no oracle may object to, and of text that is salad. Shares no code with the oracles.
Floor: tests. Source: sentences are ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from results.records import ExpectedCall, ToolCall, TurnRecord
from tests.results.builders import turn

PROSE = {
    "en": "I'll check the order first, then send you a confirmation by e-mail (usually within 5 minutes).",
    "de": "Ich prüfe zuerst die Bestellung; danach schicke ich Ihnen eine Bestätigung – meist in 5 Minuten.",
    "fr": "Je vérifie d'abord la commande, puis je vous envoie une confirmation : « c'est fait » !",
    "es": "¿Quiere que revise primero el pedido? Luego le envío la confirmación, normalmente en 5 minutos.",
    "pl": "Najpierw sprawdzę zamówienie, a potem wyślę potwierdzenie na adres żółw@example.org.",
    "tr": "Önce siparişi kontrol edeceğim, sonra size onay göndereceğim; İstanbul'a teslimat yarın.",
    "vi": "Tôi sẽ kiểm tra đơn hàng trước, sau đó gửi xác nhận cho bạn trong vòng 5 phút.",
    "ru": "Сначала я проверю заказ через API, а потом отправлю подтверждение на e-mail.",
    "uk": "Спершу перевірю замовлення № 4417, потім надішлю підтвердження – зазвичай за 5 хвилин.",
    "el": "Πρώτα θα ελέγξω την παραγγελία και μετά θα σας στείλω επιβεβαίωση με e-mail.",
    "he": "אבדוק קודם את ההזמנה, ואז אשלח לך אישור בדואר אלקטרוני (בדרך כלל תוך 5 דקות).",
    "ar": "سأتحقق من الطلب أولاً، ثم أرسل لك تأكيدًا عبر البريد الإلكتروني خلال ٥ دقائق.",
    "fa": "ابتدا سفارش را بررسی می‌کنم و سپس تأییدیه را برای شما می‌فرستم.",
    "hi": "पहले मैं ऑर्डर की जाँच करूँगा, फिर आपको e-mail से पुष्टि भेजूँगा।",
    "bn": "প্রথমে আমি অর্ডারটি যাচাই করব, তারপর আপনাকে নিশ্চিতকরণ পাঠাব।",
    "ta": "முதலில் ஆர்டரைச் சரிபார்க்கிறேன், பிறகு உறுதிப்படுத்தலை அனுப்புகிறேன்.",
    "th": "ฉันจะตรวจสอบคำสั่งซื้อก่อน แล้วจะส่งการยืนยันให้คุณทางอีเมลภายใน 5 นาที",
    "zh": "我会先用 API 查询订单，然后在5分钟内给您发送确认邮件。",
    "ja": "まずTシャツの注文を確認し、その後5分以内に確認メールをお送りします。",
    "ko": "먼저 주문(注文)을 확인한 다음 5분 안에 확인 메일을 보내 드리겠습니다.",
    "ka": "ჯერ შეკვეთას შევამოწმებ, შემდეგ კი დადასტურებას გამოგიგზავნით.",
    "am": "መጀመሪያ ትዕዛዙን አረጋግጣለሁ፣ ከዚያም ማረጋገጫ እልክልዎታለሁ።",
    "physics": "With α = 0.3 and β = 1.2 the phase is φ = ω·t + π/2, so Δx ≈ 4 µm at 10 kΩ; see ∂ψ/∂t and 𝑓(𝑥).",
    "emoji": "Done! 🎉👩‍👩‍👧 Your order 📦 ships today 🚚💨 – have a great day ☀️ (it's 21 °C in Zürich).",
}

STRUCTURED = (
    "```python\ndef area(w: float, h: float) -> float:\n    return w * h  # {w!r} x {h!r}\n```",
    "| id | name | total |\n|---:|------|------:|\n| 1 | Ana | 12.50 |\n| 2 | Bo | 0.00 |",
    '{"status": "ok", "items": [1, 2, 3], "next": null}',
    "Hello: Привет (Russian)\nHello: 你好 (Chinese)\nHello: مرحبا (Arabic)\nHello: שלום (Hebrew)\nHello: สวัสดี (Thai)",
    "кот – 猫\nсобака – 狗\nлошадь – 马\nптица – 鸟\nрыба – 鱼",
    "SGVsbG8sIHdvcmxkISBUaGlzIGlzIGEgbG9uZyBiYXNlNjQgc3RyaW5nLg==" * 3,
    "3.14159265358979323846264338327950288419716939937510582097494459",
    "!function(e,t){for(var n=0;n<e.length;n++)t[e[n]]=(t[e[n]]||0)+1}([1,2,3],{});",
    "ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha ha",
    "\x1b[32mPASS\x1b[0m tests/unit (3.2 s)\r\n\tall 12 passed\f",
)

_PIECES = {
    "LATIN": ("order", "the", "status", "lookup", "Tok", "ing", "region", "cit", "_id", "respect"),
    "CYRILLIC": ("привет", "ная", "слово", "тех", "год"),
    "HAN": ("天气", "的", "函数", "订单", "时间"),
    "ARABIC": ("مرحبا", "في", "كتاب", "على", "هذا"),
    "DEVANAGARI": ("है", "के", "समय", "भारत", "और"),
    "THAI": ("ของ", "เวลา", "และ", "คน", "วัน"),
    "HANGUL": ("하는", "시간", "그리고", "사람", "이다"),
}


def sound_turns(seed: int, per_text: int) -> Iterator[TurnRecord]:
    """Turns whose call is the planted one in some spelling, with every kind of text before it."""
    rng = np.random.default_rng(seed)
    for text in ("", *PROSE.values(), *STRUCTURED):
        for _ in range(per_text):
            expected = _random_call(rng)
            yield turn(content=text, expected=expected, tool_calls=(_spelled(rng, expected),))


def salad_texts(seed: int, count: int) -> Iterator[str]:
    """A clean beginning, then pieces of words from at least three scripts besides Latin, in random order."""
    rng = np.random.default_rng(seed)
    foreign = [name for name in _PIECES if name != "LATIN"]
    for _ in range(count):
        scripts = ["LATIN", *rng.choice(foreign, size=3, replace=False)]
        pieces = [str(rng.choice(_PIECES[str(rng.choice(scripts))])) for _ in range(int(rng.integers(24, 60)))]
        yield "I will check that for you. " + " ".join(pieces)


def json_salad_texts(seed: int, count: int) -> Iterator[str]:
    """Latin words and bits of JSON in random order, as a model gives that recalls from the wrong place."""
    rng = np.random.default_rng(seed)
    bits = ('"city":', "{", '"}', "4417", "_id", "],[", '":"', "0.5", "true}", "status", "order", '{"', "12,", "%s")
    for _ in range(count):
        yield " ".join(str(rng.choice(bits)) for _ in range(int(rng.integers(12, 40))))


def _random_call(rng: np.random.Generator) -> ExpectedCall:
    values: tuple[object, ...] = (*PROSE.values(), *STRUCTURED, 4, -1, 2**70, 0.1, 1e300, True, None, [], {"a": [1]})
    keys = rng.permutation(["query", "limit", "文字", "tags", "a.b", "größe"])[: int(rng.integers(0, 6))]
    arguments = {str(key): values[int(rng.integers(len(values)))] for key in keys}
    return ExpectedCall(str(rng.choice(["search.web", "list-orders", "get_weather"])), arguments)


def _spelled(rng: np.random.Generator, expected: ExpectedCall) -> ToolCall:
    keys = list(rng.permutation(list(expected.arguments)))
    arguments = {str(key): expected.arguments[str(key)] for key in keys}
    separators = [(",", ":"), (", ", ": "), (" ,\n  ", " : ")][int(rng.integers(3))]
    text = json.dumps(arguments, ensure_ascii=bool(rng.integers(2)), separators=separators)
    return ToolCall("call_0", expected.name, text)
