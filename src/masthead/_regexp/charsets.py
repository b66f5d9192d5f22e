"""Sets of characters: what one position of a pattern matches."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

__all__ = ["NAMED_CLASSES", "PERL_CLASSES", "CharSet", "unicode_class"]

_FOLD_ORBITS: Final = (
    "Kk\u212a",
    "Ss\u017f",
    "\u00b5\u039c\u03bc",
    "\u00c5\u00e5\u212b",
    "\u00df\u1e9e",
    "\u01c4\u01c5\u01c6",
    "\u01c7\u01c8\u01c9",
    "\u01ca\u01cb\u01cc",
    "\u01f1\u01f2\u01f3",
    "\u0345\u0399\u03b9\u1fbe",
    "\u0392\u03b2\u03d0",
    "\u0395\u03b5\u03f5",
    "\u0398\u03b8\u03d1\u03f4",
    "\u039a\u03ba\u03f0",
    "\u03a0\u03c0\u03d6",
    "\u03a1\u03c1\u03f1",
    "\u03a3\u03c2\u03c3",
    "\u03a6\u03c6\u03d5",
    "\u03a9\u03c9\u2126",
    "\u0412\u0432\u1c80",
    "\u0414\u0434\u1c81",
    "\u041e\u043e\u1c82",
    "\u0421\u0441\u1c83",
    "\u0422\u0442\u1c84\u1c85",
    "\u042a\u044a\u1c86",
    "\u0462\u0463\u1c87",
    "\u1e60\u1e61\u1e9b",
    "\ua64a\ua64b\u1c88",
    "\u0130",
    "\u0131",
)
"""Characters that are equal but for their case, where that is not one upper and one lower case letter."""
_ORBITS: Final = {character: orbit for orbit in _FOLD_ORBITS for character in orbit}


def case_variants(character: str) -> str:
    """Return the characters that are equal but for their case, the character itself among them."""
    if (orbit := _ORBITS.get(character)) is not None:
        return orbit
    lower, upper = character.lower(), character.upper()
    variants = character
    if len(lower) == 1 and lower != character and lower.upper() == character:
        variants += lower
    if len(upper) == 1 and upper != character and upper.lower() == character:
        variants += upper
    return variants


@dataclass(frozen=True, slots=True)
class CharSet:
    """A set of characters.

    Attributes:
        ranges: The first and last characters of ranges.
        subsets: Sets that it contains.
        unicode_name: A category or script of Unicode that it contains.
        is_negated: Whether it is everything else.
        folds_case: Whether upper and lower case are equal.
    """

    ranges: tuple[tuple[str, str], ...] = ()
    subsets: tuple[CharSet, ...] = ()
    unicode_name: str = ""
    is_negated: bool = False
    folds_case: bool = False

    def __contains__(self, character: str) -> bool:
        variants = case_variants(character) if self.folds_case else character
        return any(map(self._has, variants)) is not self.is_negated

    def _has(self, character: str) -> bool:
        for first, last in self.ranges:
            if first <= character <= last:
                return True
        if self.unicode_name and _is_in_unicode_class(character, self.unicode_name):
            return True
        return any(character in subset for subset in self.subsets)


_DIGITS: Final = (("0", "9"),)
_LETTERS: Final = (("A", "Z"), ("a", "z"))
_SPACES: Final = (("\t", "\n"), ("\f", "\r"), (" ", " "))
_WORD: Final = (*_DIGITS, *_LETTERS, ("_", "_"))

PERL_CLASSES: Final = {"d": _DIGITS, "s": _SPACES, "w": _WORD}
"""The ranges of ``\\d``, ``\\s`` and ``\\w``."""

NAMED_CLASSES: Final = {
    "alnum": (*_DIGITS, *_LETTERS),
    "alpha": _LETTERS,
    "ascii": (("\x00", "\x7f"),),
    "blank": (("\t", "\t"), (" ", " ")),
    "cntrl": (("\x00", "\x1f"), ("\x7f", "\x7f")),
    "digit": _DIGITS,
    "graph": (("!", "~"),),
    "lower": (("a", "z"),),
    "print": ((" ", "~"),),
    "punct": (("!", "/"), (":", "@"), ("[", "`"), ("{", "~")),
    "space": (("\t", "\r"), (" ", " ")),
    "upper": (("A", "Z"),),
    "word": _WORD,
    "xdigit": (*_DIGITS, ("A", "F"), ("a", "f")),
}
"""The ranges of ``[:alnum:]`` and so on."""

_CATEGORY_NAMES: Final = (
    "C Cc Cf Cn Co Cs L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs"
)
_SCRIPT_NAMES: Final = """
    Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo
    Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian Common
    Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs
    Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi Gurmukhi Han Hangul
    Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited Inscriptional_Pahlavi
    Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki
    Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean
    Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi
    Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong
    Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian
    Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi
    Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese
    Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan
    Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square
    """
_CATEGORY_ALIASES: Final = """
    Cased_Letter:LC Close_Punctuation:Pe Combining_Mark:M Connector_Punctuation:Pc Control:Cc Currency_Symbol:Sc
    Dash_Punctuation:Pd Decimal_Number:Nd Enclosing_Mark:Me Final_Punctuation:Pf Format:Cf Initial_Punctuation:Pi
    Letter:L Letter_Number:Nl Line_Separator:Zl Lowercase_Letter:Ll Mark:M Math_Symbol:Sm Modifier_Letter:Lm
    Modifier_Symbol:Sk Nonspacing_Mark:Mn Number:N Open_Punctuation:Ps Other:C Other_Letter:Lo Other_Number:No
    Other_Punctuation:Po Other_Symbol:So Paragraph_Separator:Zp Private_Use:Co Punctuation:P Separator:Z
    Space_Separator:Zs Spacing_Mark:Mc Surrogate:Cs Symbol:S Titlecase_Letter:Lt Unassigned:Cn Uppercase_Letter:Lu
    cntrl:Cc digit:Nd punct:P
    """
_CATEGORIES: Final = frozenset(_CATEGORY_NAMES.split())
_SCRIPTS: Final = frozenset(_SCRIPT_NAMES.split())
_ALIASES: Final = {alias: name for alias, _, name in (part.partition(":") for part in _CATEGORY_ALIASES.split())}
_OTHER_CLASSES: Final = ("Any", "ASCII", "Assigned")


def _canonical(name: str) -> str:
    return name.replace("_", "").replace("-", "").replace(" ", "").lower()


_UNICODE_NAMES: Final = {
    **{_canonical(alias): category for alias, category in _ALIASES.items()},
    **{_canonical(name): name for name in (*_SCRIPTS, *_CATEGORIES, *_OTHER_CLASSES)},
}
_CHARACTER_NAMES: Final = {
    "Canadian_Aboriginal": ("CANADIAN SYLLABICS ",),
    "Han": (
        "CJK UNIFIED IDEOGRAPH",
        "CJK COMPATIBILITY IDEOGRAPH",
        "CJK RADICAL",
        "KANGXI RADICAL",
        "IDEOGRAPHIC N",
    ),
    "Hangul": ("HANGUL ", "HALFWIDTH HANGUL"),
    "Katakana": ("KATAKANA ", "HALFWIDTH KATAKANA LETTER"),
    "Latin": ("LATIN ", "FULLWIDTH LATIN", "FEMININE ORDINAL", "MASCULINE ORDINAL"),
    "Phags_Pa": ("PHAGS-PA ",),
}
"""How the names of a script's characters begin, where they do not begin with the script's."""


def unicode_class(name: str) -> str | None:
    """Return the name of a category or script of Unicode as `CharSet` knows it; None if Go knows none."""
    return _UNICODE_NAMES.get(_canonical(name))


def _is_in_unicode_class(character: str, name: str) -> bool:
    if name == "Any":
        return True
    if name == "ASCII":
        return character <= "\x7f"
    category = unicodedata.category(character)
    if name == "Assigned":
        return category != "Cn"
    if name == "LC":
        return category in {"Lu", "Ll", "Lt"}
    if name in _CATEGORIES:
        return category.startswith(name)
    if name == "Inherited":
        return category in {"Mn", "Me"}
    # Python has no scripts. The name of a character begins with its script, nearly always.
    beginnings = _CHARACTER_NAMES.get(name) or (name.upper().replace("_", " ") + " ",)
    if name == "Common":
        return category[0] not in "LMC"
    return category[0] in "LMN" and unicodedata.name(character, "").startswith(beginnings)
