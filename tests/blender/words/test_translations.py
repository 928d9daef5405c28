"""Every text has its words in every language, and sentences are said with the same names."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import bpy
import pytest

from blender_ik_addon.translations import languages, translate, translated
from blender_ik_addon.translations.catalogue import (
    OPERATOR,
    SENTENCE,
    path_of,
    read_words,
    words_of,
)
from blender_ik_addon.translations.sentences import Speech, make_speech, placeholders
from scripts.translating.files import write_words
from scripts.translating.harvest import harvest
from tests.blender.setups import rigs
from tests.blender.words.sentences import PACKAGE, docstrings
from tests.blender.words.test_sentences import SAID

LANGUAGES = languages()
ENGLISH = "Out of reach by 12 cm: extended"
IN_PORTUGUESE = "Fora de alcance por 12 cm: esticada"


@cache
def wanted() -> dict[tuple[str, str], str]:
    return harvest(PACKAGE)


@cache
def shouting() -> Speech:
    """A language that says all fixed words in capitals."""
    return make_speech({key: loud(key[1]) for key in wanted()})


def loud(template: str) -> str:
    parts = re.split(r"(\{\w+\})", template)
    return "".join(part if placeholders(part) else part.upper() for part in parts)


def test_there_are_languages():
    assert "pt_BR" in LANGUAGES


def test_colors_are_spelled_as_everywhere_in_blender():
    assert [text for _, text in wanted() if "color" in text.lower()]
    assert not [text for _, text in wanted() if "colour" in text.lower()]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_lacks_a_translation_and_none_is_out_of_use(language):
    words = words_of(language)
    hint = "run scripts/translations.py, and fill in what is empty"
    assert not [key for key in wanted() if not words.get(key)], hint
    assert not [key for key in words if key not in wanted()], hint


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_names_and_numbers_of_the_english_text(language):
    words = words_of(language).items()
    sentences = [(text, says) for (context, text), says in words if context == SENTENCE]
    assert not [text for text, says in sentences if placeholders(text) != placeholders(says)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_end_as_the_english_text_does(language):
    def ending(text: str) -> str:
        return "." if text.endswith((".", "。")) else ""

    words = words_of(language).items()
    assert not [text for (_, text), says in words if ending(text) != ending(says)]
    assert not [text for (_, text), says in words if says != says.strip()]


# What stays as it is: names of the scenes, of properties in creature files, and of Python.
STAY = r"Limb\.\d|Right|comfort|mass|stiffness|gravity|joints|name|Expecting value"


@pytest.mark.parametrize("sentence", sorted({case.sentence for case in SAID.values()}))
def test_every_word_that_chains_say_is_translated(sentence):
    # The tables have # for numbers; those of the sentences themselves are not among them.
    told = sentence.replace("# iteration:", "1 iteration:").replace("from # to #", "from 0 to 1")
    said = shouting().translated(told)
    left = re.sub(rf"'[^']*'|\b(?:{STAY})\b", "", said)
    assert not re.findall(r"[a-z]{2,}", left), said


def test_all_that_a_chain_poses_and_says_at_once_is_translated():
    sentence = (
        "This chain poses Limb.1, so it went back: move the target, or switch to FK to pose by"
        " hand. Held back by the limits of Limb.1 X, Limb.2 slide, Limb.3 Z and 2 more, 0.3 mm"
        " left; bones with a locked location cannot slide, unlock it: Limb.1, Limb.2. Auto Keying"
        " has keyed it: delete that key; joints of bones that are not in the chain have no effect:"
        " Limb.0"
    )
    assert shouting().translated(sentence) == (
        "THIS CHAIN POSES Limb.1, SO IT WENT BACK: MOVE THE TARGET, OR SWITCH TO FK TO POSE BY"
        " HAND. HELD BACK BY THE LIMITS OF Limb.1 X, Limb.2 SLIDE, Limb.3 Z AND 2 MORE, 0.3 mm"
        " LEFT; BONES WITH A LOCKED LOCATION CANNOT SLIDE, UNLOCK IT: Limb.1, Limb.2. AUTO KEYING"
        " HAS KEYED IT: DELETE THAT KEY; JOINTS OF BONES THAT ARE NOT IN THE CHAIN HAVE NO EFFECT:"
        " Limb.0"
    )


def test_a_status_of_a_chain_is_said_in_portuguese():
    ob, target = rigs.make_arm()
    target.location = (0.0, 40.0, 0.0)
    rigs.updated()
    status = ob.chain_ik.chains[0].status
    assert re.fullmatch(r"Out of reach by [\d.]+ m: extended", status)
    gap = re.findall(r"[\d.]+ m", status)[0]
    assert translated(status, "pt_BR") == f"Fora de alcance por {gap}: esticada"


def test_lists_stay_together_where_the_words_around_them_move():
    sentence = "Held back by the limits of Hip X, Knee slide and 2 more, 3 cm left"
    said = "Contida pelos limites de Hip X, Knee (deslize) e mais 2, faltam 3 cm"
    assert translated(sentence, "pt_BR") == said


@pytest.mark.parametrize("name", ["Muted", "Reached", "extended", "Target"])
def test_names_that_are_words_stay_as_people_have_given_them(name):
    said = translated(f"Bone '{name}' no longer exists: choose another tip.", "pt_BR")
    assert said == f"O osso '{name}' não existe mais: escolha outra ponta."


@pytest.mark.parametrize(
    "operator", ["move_target", "move_pole", "turn_pole", "set_limit"], ids=lambda name: name
)
def test_hints_of_drags_are_translated_one_by_one(operator):
    name = f"POSE_OT_chain_ik_{operator}"
    hints = bpy.types.Operator.bl_rna_get_subclass_py(name).hints
    assert len(hints) > 3
    told = [translated(hint, "pt_BR") for hint in hints]
    assert not set(told) & set(hints)
    assert translated(" · ".join(hints), "pt_BR") == " · ".join(told)


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("Moved by 12 cm", "Movido por 12 cm"),
        ("Moved by 1.5 m along X", "Movido por 1.5 m ao longo de X"),
        ("Pole Angle: -12.5°", "Ângulo de polo: -12.5°"),
        ("Max X of 'Left: Knee': 90.0°", "Máx. X de 'Left: Knee': 90.0°"),
        ("'Arm: L' at frame 1, not the active chain", "'Arm: L' no quadro 1, não é a cadeia ativa"),
        ("One drag from the present pose. Reached", "Um arrasto a partir da pose atual. Alcançado"),
        ("FABRIK and Newton", "FABRIK e Newton"),
    ],
)
def test_what_is_told_of_drags_and_comparisons_is_translated(header, said):
    assert translated(header, "pt_BR") == said


def test_names_of_settings_are_said_as_the_panel_shows_them():
    sentence = "The setting 'Tolerance' is not a number: enter a new value, or correct its"
    said = translated(f"{sentence} keyframes and driver.", "pt_BR")
    assert said.startswith("O ajuste 'Tolerância' ")


@pytest.mark.parametrize("text", ["", "Nobody says so: it is new", "3 cm", "Arm; Leg. Foot: X, Y"])
def test_what_is_unknown_stays(text):
    assert translated(text, "pt_BR") == text


def test_what_is_known_of_an_unknown_whole_is_translated():
    said = translated("Arm.L: No target is set: choose an object for the chain to follow.", "pt_BR")
    assert said == "Arm.L: Nenhum alvo foi definido: escolha um objeto para a cadeia seguir."


def test_files_are_read_as_they_are_written(tmp_path):
    words = {("*", 'a "b" \\ c\nd'): 'é "ü" \\n', (OPERATOR, "Bake"): "", (SENTENCE, "{{x}}"): "。"}
    path = tmp_path / "xx.po"
    write_words(path, dict.fromkeys(words, "here"), words)
    assert read_words(path.read_text(encoding="utf-8")) == words


@pytest.mark.parametrize(
    "line", ["msgid Add", 'msgid "Add', 'msgid_plural "Adds"', '"no keyword"', r'msgid "\x41"']
)
def test_lines_that_are_not_understood_are_refused(line):
    entry = 'msgid "Add"\nmsgstr "Adicionar"\n'
    assert read_words(f"{entry}\n# The end\n") == {("*", "Add"): "Adicionar"}
    for text in (f"{entry}\n# A comment\n{line}\n", f"{entry}\n\n{line}\n{entry}"):
        with pytest.raises(ValueError, match="in line 5"):
            read_words(text)


def test_texts_of_several_lines_are_joined():
    text = 'msgctxt "Operator"\nmsgid ""\n"Add "\n"Chain"\nmsgstr ""\n"Adicionar "\n"cadeia"'
    assert read_words(text) == {(OPERATOR, "Add Chain"): "Adicionar cadeia"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_files_are_as_the_script_writes_them(language, tmp_path):
    path = tmp_path / path_of(language).name
    write_words(path, wanted(), words_of(language))
    kept = path_of(language).read_text(encoding="utf-8")
    assert path.read_text(encoding="utf-8") == kept, "run scripts/translations.py"


def test_names_in_layouts_are_told_in_sentences():
    """Blender translates whole labels: one with a name in it has to go through ``translate``."""
    assert not [text for context, text in wanted() if context != SENTENCE and "{" in text]


TELLING = {"report": 1, "poll_message_set": 0, "status_text_set": 0, "header_text_set": 0}
"""What shows a text to a person, and where the text stands among its arguments."""


def test_whatever_operators_tell_is_translated():
    told = [
        (path.name, node.lineno, node.args[TELLING[node.func.attr]])
        for path in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in TELLING
    ]
    assert len(told) > 20
    english = [
        (name, line)
        for name, line, text in told
        if not (isinstance(text, ast.Call) and ast.unparse(text.func) in {"said", "translate"})
        and ast.unparse(text) != "None"
    ]
    assert not english


NO_LANGUAGES = pytest.mark.skipif(
    not bpy.app.translations.locales,
    reason="Blender as a module knows English only: scripts/common/run_in_blender.py runs this",
)


@pytest.fixture
def in_portuguese():
    view = bpy.context.preferences.view
    before = view.language
    view.language = "pt_BR"
    yield view
    view.language = before


@NO_LANGUAGES
def test_blender_shows_labels_in_its_language(in_portuguese):
    pgettext = bpy.app.translations.pgettext
    assert pgettext("Add Chain", OPERATOR) == "Adicionar cadeia"
    assert pgettext("Soft Distance") == "Dist. suave"
    # Blender's own word means the metal.
    prop = bpy.types.Object.bl_rna.properties["chain_ik"].fixed_type.properties["chains"]
    lead = prop.fixed_type.properties["follow_lead"]
    assert pgettext(lead.name, lead.translation_context) == "Guia"


@NO_LANGUAGES
@pytest.mark.parametrize("where", ["interface", "tooltips", "reports"])
def test_what_is_translated_is_chosen_in_the_preferences(in_portuguese, where):
    setting = f"use_translate_{where}"
    assert translate(ENGLISH, where) == IN_PORTUGUESE
    setattr(in_portuguese, setting, False)
    assert translate(ENGLISH, where) == ENGLISH
    setattr(in_portuguese, setting, True)


@NO_LANGUAGES
def test_operators_say_why_not_in_blenders_language(in_portuguese):
    ob, target = rigs.make_arm()
    chain = ob.chain_ik.chains[0]
    chain.target = None
    rigs.updated()
    with pytest.raises(RuntimeError, match="Esta cadeia não tem alvo: escolha um primeiro"):
        bpy.ops.pose.chain_ik_apply()
    assert chain.status.startswith("No target is set"), "scripts read English"
    chain.target, chain.mute = target, True
    with pytest.raises(RuntimeError, match="está silenciada e não move nada"):
        bpy.ops.pose.chain_ik_bake()


def test_in_english_all_stays_english():
    assert translate(ENGLISH) == ENGLISH


@pytest.mark.slow
def test_sources_hold_no_word_in_another_language():
    """What is said is English until it is shown."""
    texts = [
        (path.name, node.value)
        for path in sorted(PACKAGE.rglob("*.py"))
        for tree in [ast.parse(Path(path).read_text(encoding="utf-8"))]
        for told in [{id(each) for each in docstrings(tree)}]
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told
    ]
    assert not [text for text in texts if re.search(r"[à-öø-ÿ]", text[1])]
