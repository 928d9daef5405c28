"""Translations: complete in every language, with the names and numbers of the English text."""

import ast
import copy
import pickle
import re

import bpy
import pytest

from blender_ik_addon.core import IKError
from blender_ik_addon.core.model.message import Message, joined
from blender_ik_addon.rig.reading.refusals import listed
from blender_ik_addon.translations import languages, translate, translate_into
from blender_ik_addon.translations.catalogue import (
    OPERATOR,
    SENTENCE,
    parse_translations,
    path_of,
    translations_of,
)
from scripts.translating.harvest import LAYERS, find_skipped, is_sentence, write_catalogue
from tests.blender.setups import rigs
from tests.blender.words.sentences import PACKAGE, texts

LANGUAGES = languages()
ENGLISH = Message(
    "Out of reach by {short}: {extended}", short="12 cm", extended=Message("extended")
)
IN_PORTUGUESE = "Fora de alcance por 12 cm: esticada"


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"\{(\w+)\}", text))


def gone(bone: str) -> Message:
    return Message("Bone '{bone}' no longer exists: choose another tip.", bone=bone)


def test_english_is_spelled_as_everywhere_in_blender_and_is_the_only_language_of_the_sources():
    assert [text for _, text in texts() if "color" in text.lower()]
    assert not [text for _, text in texts() if re.search("(?i)colour|[à-öø-ÿ]", text)]
    # Blender translates only whole labels, so a text with a name in it needs ``translate``.
    assert not [text for context, text in texts() if context != SENTENCE and "{" in text]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_has_all_texts_with_their_names_and_ends_and_no_others(language, tmp_path):
    def ending(text: str) -> str:
        return "." if text.endswith((".", "。")) else ""

    words = translations_of(language)
    hint = "run scripts/translations.py, and fill in what is empty"
    assert not [key for key in texts() if not words.get(key)], hint
    assert not [key for key in words if key not in texts()], hint
    phrases = {key[1]: phrase for key, phrase in words.items() if key[0] == SENTENCE}
    assert not [text for text, to in phrases.items() if placeholders(text) != placeholders(to)]
    assert not [text for (_, text), phrase in words.items() if ending(text) != ending(phrase)]
    assert not [text for (_, text), phrase in words.items() if phrase != phrase.strip()]
    path = tmp_path / path_of(language).name
    write_catalogue(path, texts(), words)
    stored = path_of(language).read_text(encoding="utf-8")
    assert path.read_text(encoding="utf-8") == stored, "run scripts/translations.py"


@pytest.mark.parametrize(
    ("message", "english", "said"),
    [
        (ENGLISH, "Out of reach by 12 cm: extended", IN_PORTUGUESE),
        (
            Message("Moved by {words} along {axis}", words="1.5 m", axis="X"),
            "Moved by 1.5 m along X",
            "Movido por 1.5 m ao longo de X",
        ),
        (
            Message("Max {turn} of '{bone}': {degrees}°", turn="X", bone="L: Knee", degrees=90.0),
            "Max X of 'L: Knee': 90.0°",
            "Máx. X de 'L: Knee': 90.0°",
        ),
        (
            Message("'{chain}' at frame {frame}, not the active chain", chain="Arm: L", frame=1),
            "'Arm: L' at frame 1, not the active chain",
            "'Arm: L' no quadro 1, não é a cadeia ativa",
        ),
        (
            joined(". ", (Message("One drag from the present pose"), Message("Reached"))),
            "One drag from the present pose. Reached",
            "Um arrasto a partir da pose atual. Alcançado",
        ),
        (
            Message("{name} and Newton", name=Message("FABRIK")),
            "FABRIK and Newton",
            "FABRIK e Newton",
        ),
        (
            joined(" ", (gone("Shin"), Message("Reached"))),
            "Bone 'Shin' no longer exists: choose another tip. Reached",
            "O osso 'Shin' não existe mais: escolha outra ponta. Alcançado",
        ),
        (
            Message(
                "Held back by the limits of {held_by}, {gap} left",
                held_by=listed(["Hip X", Message("{bone} slide", bone="Knee"), "A", "B", "C"]),
                gap="3 cm",
            ),
            "Held back by the limits of Hip X, Knee slide, A and 2 more, 3 cm left",
            "Contida pelos limites de Hip X, Knee (deslize), A e mais 2, faltam 3 cm",
        ),
        (
            Message(
                "Outweighed by {outweighed_by}: {gap} off",
                outweighed_by=listed(["Reached"]),
                gap="3 cm",
            ),
            "Outweighed by Reached: 3 cm off",
            "Superada pelo peso de Reached: faltam 3 cm",
        ),
        # A word of a fixed list is part of the template.
        (
            Message("This chain has no {word}: choose one first.", word="pole"),
            "This chain has no pole: choose one first.",
            "Esta cadeia não tem polo: escolha um primeiro.",
        ),
        # A bone name that is also a word of ours stays; names of settings are translated.
        *(
            (
                gone(name),
                f"Bone '{name}' no longer exists: choose another tip.",
                f"O osso '{name}' não existe mais: escolha outra ponta.",
            )
            for name in ("Muted", "Reached", "extended", "Target", "{bone}")
        ),
        (
            Message(
                "The setting '{label}' is not a number: enter a new value, or correct its"
                " keyframes and driver.",
                label=Message("Tolerance"),
            ),
            "The setting 'Tolerance' is not a number: enter a new value, or correct its keyframes"
            " and driver.",
            "O ajuste 'Tolerância' não é um número: insira um novo valor, ou corrija seus"
            " quadros-chave e seu controlador.",
        ),
        # Of a text that is unknown as a whole, the known parts are translated; the others stay.
        (
            Message("{name}: {error}", name="Reached", error=IKError("Live is off").message),
            "Reached: Live is off",
            "Reached: Ao vivo está desligado",
        ),
        ("Live is off", "Live is off", "Ao vivo está desligado"),
        *((text, text, text) for text in ("", "Nobody says so: it is {new}", "3 cm", "Arm; X")),
    ],
)
def test_a_message_is_said_in_portuguese_with_its_names_and_numbers(message, english, said):
    assert message == english == translate(message), "in English all stays English"
    assert translate_into(message, "pt_BR") == said
    copied = pickle.loads(pickle.dumps(message))
    assert copied == english
    assert translate_into(copied, "pt_BR") == said


def test_errors_keep_their_messages_and_messages_stay_what_they_are():
    error = IKError("Bone '{bone}' no longer exists: choose another tip.", bone="Shin")
    assert error.message == gone("Shin") == str(error)
    assert error.message.template == gone("Shin").template
    assert Message(error.message) is error.message is IKError(error.message).message
    assert copy.copy(error).message.values == {"bone": "Shin"}


# F-strings of names in a file, and of a number with its unit.
NAMES = {"{} Baked", "WGT-Chain IK {}", "Leg {}", "{} ms"}


def test_all_sentences_with_values_are_messages_and_no_error_loses_its_message():
    """An f-string, or ``str`` of an error, is a text that nobody can translate."""
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        place, source = path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8")
        if not place.startswith(LAYERS):
            continue
        tree = ast.parse(source)
        skipped = find_skipped(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr) and id(node) not in skipped:
                parts = [getattr(part, "value", "") for part in node.values]
                text = "".join([part if isinstance(part, str) else "{}" for part in parts])
                wrong += [(place, node.lineno, text)] * (is_sentence(text) and text not in NAMES)
        wrong += [(place, "str(error)")] * ("str(error)" in source)
    assert not wrong


@pytest.mark.parametrize("operator", ["move_target", "move_pole", "turn_pole", "set_limit"])
def test_hints_of_drags_are_translated_one_by_one(operator):
    hints = bpy.types.Operator.bl_rna_get_subclass_py(f"POSE_OT_chain_ik_{operator}").hints
    assert len(hints) > 3
    translated = [translate_into(hint, "pt_BR") for hint in hints]
    assert not set(translated) & set(hints)
    shown = joined(" · ", map(Message, hints))
    assert shown == " · ".join(hints)
    assert translate_into(shown, "pt_BR") == " · ".join(translated)


def test_files_are_read_as_they_are_written(tmp_path):
    words = {("*", 'a "b" \\ c\nd'): 'é "ü" \\n', (OPERATOR, "Bake"): "", (SENTENCE, "{{x}}"): "。"}
    path = tmp_path / "xx.po"
    write_catalogue(path, dict.fromkeys(words, "here"), words)
    assert parse_translations(path.read_text(encoding="utf-8")) == words
    text = 'msgctxt "Operator"\nmsgid ""\n"Add "\n"Chain"\nmsgstr ""\n"Adicionar "\n"cadeia"'
    for end in ("", "\n\n#~ No longer said.\n"):
        assert parse_translations(text + end) == {(OPERATOR, "Add Chain"): "Adicionar cadeia"}
    with pytest.raises(ValueError, match="line 9 is not as gettext writes it"):
        parse_translations(f"{text}\n\nmsgid Bare")


TEXT_INDICES = {"report": 1, "poll_message_set": 0, "status_text_set": 0, "header_text_set": 0}
"""Functions that show a text to a person, and the index of the text in their arguments."""


def test_every_text_that_operators_show_is_translated():
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    shown = [
        (path.name, node.lineno, node.args[TEXT_INDICES[node.func.attr]])
        for path, text in sources.items()
        if any(f".{function}(" in text for function in TEXT_INDICES)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in TEXT_INDICES
    ]
    assert len(shown) >= 10
    english = [
        (name, line)
        for name, line, text in shown
        if not (
            isinstance(text, ast.Call)
            and ast.unparse(text.func) in {"translate", "translate_report"}
        )
        and ast.unparse(text) != "None"
    ]
    assert not english


NO_LANGUAGES = pytest.mark.skipif(
    not bpy.app.translations.locales,
    reason="Blender as a module knows English only: `scripts/test.py --only application` runs this",
)


@pytest.fixture
def in_portuguese(monkeypatch):
    view = bpy.context.preferences.view
    monkeypatch.setattr(view, "language", "pt_BR")
    return view


@NO_LANGUAGES
def test_labels_are_in_blenders_language_and_sentences_where_the_preferences_have_it(in_portuguese):
    pgettext = bpy.app.translations.pgettext
    assert pgettext("Add Chain", OPERATOR) == "Adicionar cadeia"
    # Blender's own translation of "Lead" means the metal.
    prop = bpy.types.Object.bl_rna.properties["chain_ik"].fixed_type.properties["chains"]
    lead = prop.fixed_type.properties["follow_lead"]
    assert pgettext(lead.name, lead.translation_context) == "Guia"
    for where in ("interface", "tooltips", "reports"):
        assert translate(ENGLISH, where) == IN_PORTUGUESE
        setattr(in_portuguese, f"use_translate_{where}", False)
        assert translate(ENGLISH, where) == ENGLISH
        setattr(in_portuguese, f"use_translate_{where}", True)


@NO_LANGUAGES
def test_operators_refuse_in_blenders_language(in_portuguese):
    ob, target = rigs.make_arm()
    chain = ob.chain_ik.chains[0]
    rigs.change(chain, target=None)
    with pytest.raises(RuntimeError, match="Esta cadeia não tem alvo: escolha um primeiro"):
        bpy.ops.pose.chain_ik_apply()
    assert chain.status.startswith("No target is set"), "scripts read English"
    chain.target, chain.mute = target, True
    with pytest.raises(RuntimeError, match="está silenciada e não move nada"):
        bpy.ops.pose.chain_ik_bake()
