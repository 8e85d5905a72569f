# ruff: noqa: RUF001 - letters of other scripts that look like Latin ones are what this file is about.
"""Sound prose in many languages, put together from templates.

Owns: sentences of an assistant that is about to call a tool, in the writing systems of the world. `{n}` is a number,
`{w}` a word that stays as it is in every language. Source: sentences are ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

LANGUAGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "en": (
            "I'll look that up for you now.",
            "There are {n} entries; the newest is {w}.",
            "One moment, please.",
            "First the order, then the invoice (about {n} minutes).",
            'Let me double-check "{w}" before I go on.',
        ),
        "de": (
            "Ich sehe gleich nach.",
            "Es gibt {n} Einträge; der neueste heißt {w}.",
            "Einen Augenblick, bitte.",
            "Zuerst die Bestellung, danach die Rechnung – etwa {n} Minuten.",
            "Ich prüfe „{w}“ lieber noch einmal.",
        ),
        "fr": (
            "Je regarde ça tout de suite.",
            "Il y a {n} entrées ; la dernière s'appelle {w}.",
            "Un instant, s'il vous plaît.",
            "D'abord la commande, puis la facture : « {w} ».",
            "J'ai vérifié {n} fois, c'est bien noté à l'été 2026.",
        ),
        "es": (
            "Lo miro ahora mismo.",
            "¿Quiere ver las {n} entradas? La última es {w}.",
            "Un momento, por favor.",
            "Primero el pedido y después la factura: {w}.",
            "¡Listo! Quedan {n} minutos, señor Núñez.",
        ),
        "pt": (
            "Vou verificar já.",
            "Há {n} entradas; a mais recente é {w}.",
            "Só um instante, não demoro.",
            "Primeiro a encomenda, depois a fatura de {n} euros.",
            "A informação sobre “{w}” está disponível.",
        ),
        "pl": (
            "Zaraz to sprawdzę.",
            "Jest {n} wpisów; najnowszy to {w}.",
            "Chwileczkę, proszę.",
            "Najpierw zamówienie, później faktura – około {n} minut.",
            "Żółć, gęś, jaźń: „{w}” już zapisane.",
        ),
        "tr": (
            "Hemen bakıyorum.",
            "{n} kayıt var; en yenisi {w}.",
            "Bir dakika lütfen.",
            "Önce sipariş, sonra fatura; İstanbul'a {n} gün.",
            "Şifreyi değil, yalnızca {w} adını kullanıyorum.",
        ),
        "vi": (
            "Tôi sẽ kiểm tra ngay.",
            "Có {n} mục; mục mới nhất là {w}.",
            "Xin chờ một chút.",
            "Trước hết là đơn hàng, sau đó là hóa đơn ({n} phút).",
            "Để tôi xác nhận lại “{w}” trước đã.",
        ),
        "fi": (
            "Tarkistan sen heti.",
            "Merkintöjä on {n}; uusin on {w}.",
            "Hetkinen, olkaa hyvä.",
            "Ensin tilaus, sitten lasku, noin {n} minuuttia.",
            "Päivitän kentän ”{w}” myöhemmin.",
        ),
        "hu": (
            "Mindjárt megnézem.",
            "{n} bejegyzés van; a legújabb: {w}.",
            "Egy pillanat, kérem.",
            "Előbb a rendelés, utána a számla: {n} perc.",
            "Az „{w}” űrlapot őrzöm.",
        ),
        "is": (
            "Ég athuga þetta strax.",
            "Það eru {n} færslur; sú nýjasta er {w}.",
            "Augnablik, takk.",
            "Fyrst pöntunin, svo reikningurinn.",
            "Þetta tekur um {n} mínútur.",
        ),
        "id": (
            "Saya periksa sekarang.",
            "Ada {n} entri; yang terbaru {w}.",
            "Mohon tunggu sebentar.",
            "Pesanan dulu, lalu faktur, kira-kira {n} menit.",
            "Kata sandi tidak ditampilkan.",
        ),
        "sw": (
            "Nitaangalia sasa hivi.",
            "Kuna rekodi {n}; mpya ni {w}.",
            "Tafadhali subiri kidogo.",
            "Kwanza oda, kisha ankara.",
            "Itachukua dakika {n} hivi.",
        ),
        "ru": (
            "Сейчас посмотрю.",
            "Найдено записей: {n}; последняя – {w}.",
            "Одну минуту, пожалуйста.",
            "Сначала заказ через API, потом счёт № {n}.",
            "Проверю «{w}» ещё раз.",
        ),
        "uk": (
            "Зараз перевірю.",
            "Знайдено {n} записів; останній – {w}.",
            "Хвилинку, будь ласка.",
            "Спершу замовлення, потім рахунок.",
            "Її з’їзд о {n}-й годині; файл «{w}».",
        ),
        "bg": (
            "Ей сега ще проверя.",
            "Има {n} записа; най-новият е {w}.",
            "Един момент, моля.",
            "Първо поръчката, после фактурата.",
            "Остават {n} минути.",
        ),
        "el": (
            "Το κοιτάζω αμέσως.",
            "Υπάρχουν {n} εγγραφές· η νεότερη είναι {w}.",
            "Μια στιγμή, παρακαλώ.",
            "Πρώτα η παραγγελία, μετά το τιμολόγιο.",
            "Χρειάζομαι περίπου {n} λεπτά για το e-mail.",
        ),
        "hy": ("Հիմա կստուգեմ։", "Կա {n} գրառում, վերջինը՝ {w}։", "Մի րոպե, խնդրում եմ։", "Նախ պատվերը, հետո հաշիվը։"),
        "ka": (
            "ახლავე შევამოწმებ.",
            "არის {n} ჩანაწერი; უახლესია {w}.",
            "ერთი წუთით, გთხოვთ.",
            "ჯერ შეკვეთა, შემდეგ ანგარიში.",
        ),
        "he": (
            "אבדוק את זה עכשיו.",
            "יש {n} רשומות; האחרונה היא {w}.",
            "רגע אחד, בבקשה.",
            "קודם ההזמנה, אחר כך החשבונית (כ-{n} דקות).",
            'אני מאמת שוב את "{w}".',
        ),
        "ar": (
            "سأتحقق من ذلك الآن.",
            "هناك {n} سجلات، أحدثها {w}.",
            "لحظة من فضلك.",
            "الطلب أولاً ثم الفاتورة خلال ٥ دقائق.",
            "سأراجع «{w}» مرة أخرى؟ نعم، بالتأكيد.",
        ),
        "fa": (
            "همین حالا بررسی می‌کنم.",
            "{n} مورد هست؛ تازه‌ترین آن {w} است.",
            "یک لحظه لطفاً.",
            "اول سفارش، بعد صورت‌حساب.",
        ),
        "ur": ("میں ابھی دیکھتا ہوں۔", "{n} اندراجات ہیں؛ تازہ ترین {w} ہے۔", "ایک لمحہ، براہ کرم۔"),
        "hi": (
            "मैं अभी देखता हूँ।",
            "{n} प्रविष्टियाँ हैं; सबसे नई {w} है।",
            "एक क्षण, कृपया।",
            "पहले ऑर्डर, फिर बिल – लगभग {n} मिनट।",
        ),
        "bn": ("আমি এখনই দেখছি।", "{n}টি এন্ট্রি আছে; সবচেয়ে নতুনটি {w}।", "একটু অপেক্ষা করুন।", "আগে অর্ডার, তারপর বিল।"),
        "ta": ("இப்போதே பார்க்கிறேன்.", "{n} பதிவுகள் உள்ளன; புதியது {w}.", "ஒரு நிமிடம்.", "முதலில் ஆர்டர், பிறகு ரசீது."),
        "te": ("ఇప్పుడే చూస్తాను.", "{n} నమోదులు ఉన్నాయి; కొత్తది {w}.", "ఒక్క నిమిషం.", "ముందు ఆర్డర్, తర్వాత బిల్లు."),
        "th": ("ฉันจะตรวจสอบเดี๋ยวนี้", "มี {n} รายการ รายการล่าสุดคือ {w}", "กรุณารอสักครู่", "คำสั่งซื้อก่อน แล้วจึงใบแจ้งหนี้"),
        "lo": ("ຂ້ອຍຈະກວດເບິ່ງດຽວນີ້.", "ມີ {n} ລາຍການ.", "ກະລຸນາລໍຖ້າ."),
        "km": ("ខ្ញុំនឹងពិនិត្យឥឡូវនេះ។", "មាន {n} ធាតុ។", "សូមរង់ចាំបន្តិច។"),
        "my": ("အခုပဲ စစ်ဆေးပါမယ်။", "{n} ခု ရှိပါတယ်။", "ခဏစောင့်ပါ။"),
        "zh": (
            "我马上查一下。",
            "共有 {n} 条记录，最新的是 {w}。",
            "请稍等。",
            "先查订单，再开发票（约 {n} 分钟）。",
            "我用 API 再核对一次“{w}”。",
        ),
        "zh-tw": ("我馬上查一下。", "共有 {n} 筆紀錄，最新的是「{w}」。", "請稍候。", "先查訂單，再開發票。"),
        "ja": (
            "すぐに確認します。",
            "{n}件あります。最新は「{w}」です。",
            "少々お待ちください。",
            "まずTシャツの注文、次に請求書です（約{n}分）。",
            "ﾊﾝｶｸｶﾅも使えます。",
        ),
        "ko": (
            "지금 확인하겠습니다.",
            "항목이 {n}개 있고, 최신은 {w}입니다.",
            "잠시만 기다려 주세요.",
            "먼저 주문(注文), 그다음 청구서입니다.",
        ),
        "am": ("አሁን አረጋግጣለሁ።", "{n} ግቤቶች አሉ፤ የቅርቡ {w} ነው።", "እባክዎ ትንሽ ይጠብቁ።"),
        "mn": ("Одоо шалгая.", "{n} бичлэг байна; хамгийн шинэ нь {w}.", "Түр хүлээнэ үү."),
        "si": ("මම දැන් බලන්නම්.", "ඇතුළත් කිරීම් {n}ක් ඇත.", "මොහොතක් රැඳී සිටින්න."),
        "bo": ("ངས་ད་ལྟ་བལྟ་གི་ཡིན།", "ཐོ་ {n} འདུག", "ཏོག་ཙམ་སྒུག་རོགས།"),
        "chr": ("ᎢᏤ ᎠᏆᏓᏅᏖᎭ.", "ᏌᏊ ᎠᏯᏙᎸ.", "ᎣᏏᏲ {w}."),
        "maths": (
            "With α = 0.{n} and β² ≤ γ the phase is φ = ω·t + π/2.",
            "∀ε > 0 ∃δ: |x − x₀| < δ ⇒ |f(x) − f(x₀)| < ε.",
            "So Δx ≈ {n} µm at 10 kΩ; see ∂ψ/∂t and 𝑓(𝑥) in ℝ³.",
            "ΔG° = −RT ln K; λ/Λ ≈ {n}.",
        ),
        "emoji": (
            "Done! 🎉👩‍👩‍👧 {n} parcels 📦 ship today 🚚💨.",
            "☀️ 21 °C in Zürich, 🌧️ tomorrow; {w} 👍🏽.",
            "¯\\_(ツ)_/¯ no idea yet…",
            "Flags: 🇩🇪🇯🇵🇧🇷 and hearts ❤️‍🔥 ×{n}.",
            "(╯°□°)╯︵ ┻━┻ just kidding :-)",
        ),
        "chemistry": (
            "2 H₂ + O₂ → 2 H₂O releases {n} kJ/mol.",
            "The α-helix, β-sheet and γ-turn of {w} at pH 7.4.",
            "Enantiomers (R)-(−)-carvone and (S)-(+)-carvone differ in smell; see p. {n}.",
        ),
    }
)

WORDS = (
    "marble",
    "onyx-17",
    "report_final.pdf",
    "Zermatt",
    "tier-2",
    "node.js",
    "C++",
    "AT&T",
    "x86_64",
    "naïve",
    "O'Neill",
)


def paragraph(rng: np.random.Generator, language: str, sentences: int) -> str:
    """Some sentences of one language, with their slots filled. None follows itself: sound prose does not stutter."""
    lines = LANGUAGES[language]
    place = int(rng.integers(len(lines)))
    chosen = []
    for _ in range(sentences):
        chosen.append(_filled(rng, lines[place]))
        place = (place + int(rng.integers(1, len(lines)))) % len(lines)
    return ("" if language in ("zh", "zh-tw", "ja") else " ").join(chosen)


def any_paragraph(rng: np.random.Generator, sentences_max: int = 8) -> tuple[str, str]:
    """(language, text)."""
    language = str(rng.choice(list(LANGUAGES)))
    return language, paragraph(rng, language, int(rng.integers(1, sentences_max + 1)))


def _filled(rng: np.random.Generator, line: str) -> str:
    return line.replace("{n}", str(int(rng.integers(2, 999)))).replace("{w}", str(rng.choice(WORDS)))
