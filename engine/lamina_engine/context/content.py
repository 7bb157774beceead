"""Content of a prompt: whether it names anything that a memory could be about.

"Commit this", "try again", "looks good, continue" and "was ist passiert" are about what agent and user have before them, and no
memory helps. They consist of words that carry no subject: words of grammar and of talk (`_TALK`), and words for the work at hand
(`_WORK`), in several languages. One other word, a name, a number of four digits or an identifier gives a prompt content; so does a
question of how, where or why *we* do the work at hand, which a memory may well answer.

Nothing but ``re`` is imported, directly or by the packages above: a hook asks this before it loads anything else.
"""

import re

from lamina_engine.expressions import late


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


_TALK = words_of(
    """
    a about above absolutely actually afaik after again ago agree agreed ah ahead alas all almost alone along already alright also
    alternative alternatively although always am amazing among an and another any anybody anyhow anymore anyone anything anyway anywhere
    apart apparently are aren arent around as asap aside at away awesome awful back bad badly basically be because become been before
    begin behind being believe below beside besides best better between beyond big bit bored both bother brief briefly brilliant bring btw
    but by bye call came can cancel cancelled cannot cant care careful carefully cares carry case cause certain certainly chance cheers
    choice choose clear clearly close closer coffee come comes coming complete completed completely confirm confirmed confused cons
    continue continued continuing cool correct correctly could couldn couldnt couple course crap cute damn date dates day days dear decide
    definitely detail details did didn didnt different differently difficult direct directly do does doesn doesnt doing don done dont
    double down dr drop dude each earlier early easier easily easy either else elsewhere end enough entire entirely eod especially etc
    even evening ever every everybody everyone everything everywhere exact exactly excellent except excuse expect expected fair fairly
    fantastic far fast faster feel few final finally find fine finish finished first five follow following for forget fortunately four
    free friday from front fuck full fully fun funny further fyi game gave general generally get gets getting give given gives giving glad
    go god goes going gone good goodbye got gotcha grab great greetings guess guys had hadnt haha half hang happen happened happening
    happens happy hard has hasnt have havent having he hear hell hello help helped helpful helping helps hence her here heres hers hey hi
    higher him his hm hmm hmmm hold holy honestly hope hopefully hour hours how however hows huge huh hungry i idea ideas idk if im
    immediately imo important in indeed inside instead interesting into is isn isnt it item items its itself ive job joke just keep kept
    kind kinda kindly knew know known knows large last lastly late later least leave left less let lets lgtm like likely line lines list
    little ll lol long longer look looked looking looks lot lots love lovely low lower lunch made main mainly make makes making many mate
    matter may maybe me mean meaning means meant meanwhile meet mention mentioned mess might mind mine minute minutes miss moment monday
    month months more moreover morning most mostly move moving mr much must my myself nah name namely near nearly necessary need needed
    needs neither never new news next nice night nine no nobody none nope nor normal normally not note nothing now nowhere np number nvm
    obvious obviously of off oh ok okay old omg on once one ones only oops opinion option or order other others otherwise ought our ours
    ourselves out outside over overall own pardon part particular particularly per perfect perfectly perhaps person personally pick picked
    piece ping place plain please pls plus plz poem point possible possibly pretty previous previously probably proceed promise proper
    properly pros provide put question questions quick quicker quickly quiet quite rather re ready real really reason reasonable recent
    recently regarding regards relax rely remaining remember remind respond response rest right roger rough roughly said same saturday saw
    say saying says second seconds see seeing seem seems seen send sense separate serious seriously set seven several shall she short
    shorter shortly should shouldn shouldnt show showed showing shown shows side similar simple simpler simply since sing sir six slightly
    slow slower small smaller smart so some somebody somehow someone something sometimes somewhat somewhere soon sooner sorry sort sound
    sounds specific specifically stand start started starting starts state stay step steps still stop stopped story straight stuff stupid
    such suggest suggested suggestion sunday super suppose supposed sure surely sweet take taken takes taking talk tell ten terrible th
    than thank thanks that thats the their theirs them themselves then there therefore theres these they theyre thing things think
    thinking third this thorough thoroughly those though thought three through throughout thursday thus thx till time times tiny tired tks
    tl tldr to today together told tomorrow tonight too took top total totally toward tried tries trust try trying tuesday turn twice two
    ty type ugh um unclear under understand understandable understood unfortunately unless until up upon us use used useful uses using
    usual usually various ve very via wait waiting walk wanna want wanted wants was wasn wasnt wats way ways wdyt we weather wednesday
    week weekend weeks welcome well went were werent weve what whatever whats when whenever whens where whereas wheres wherever whether
    which whichever while who whoever whole whom whos whose why whys will wip wish with within without won wonder wonderful wont word
    words work worked working works worry worse worst worth would wouldn wouldnt wow wrong yay yea yeah year years yep yes yesterday yet
    yo you your youre yours yourself yup zero
    """
)
_WORK = words_of(
    """
    add added adjust amend answer answers applied apply approach approve approved argument ask asked asking assert attempt branch branches
    break breaking broke broken bug bugs build builds built bump change changed changelog changes check checked checkout checks ci class
    classes clean cleaner cleanup code coding command commands comment commented comments commit commited commits committed compile
    compiled compiles component conflict conflicts console copy cover coverage crash crashed crashes create created debug debugger delete
    deleted deploy deployed deployment describe diff diffs discard doc docs docstring docstrings document documentation draft edit edited
    edits elaborate error errors example examples exception exceptions execute expand explain explained explanation export extend extract
    fail failed failing fails failure failures feature features feedback file files fill finalize fix fixed fixes flag folder format
    formatted formatting function functions generate green head hook identifier implement implementation implementations implemented
    import imports improve improved improvement include indent indentation info input insert inspect install installed instruction
    instructions integrate investigate issue issues iterate latest lint linter linting local locally log logging logs main master merge
    merged message messages method methods migrate mistake mistakes mock modify module modules open opened optimise optimize option
    options origin output package page parameter pass passed passes passing paste patch performance plan plans point polish post pr print
    printed problem problems process program progress project prompt proofread prs publish pull pulled push pushed raise rate read reading
    readme rebase rebased recheck recommend red redo reduce refactor refactored refactoring reformat regenerate release reload remote
    remove removed rename renamed render reopen reorder repeat rephrase replace replaced repo report repository reproduce request requests
    reread rerun reset resolve resolved respond restart restore restructure result results resume resumed retest retry return revert
    reverted review reviewed rewrite roll rollback run running runs sample save saved scan scratch script scripts search server setup
    share ship shipped shorten sign simplify skip snippet solution solve solved source split squash stack stage status stick submit suite
    suites summarise summarize summary sup support switch sync syntax tag task tasks terminal test tested testing tests text tidy title
    todo todos trace traceback translate trim tweak types typo typos ui undo unit unused update updated updates upgrade validate value
    values variable variables verbose verify version view warning warnings watch wrap write writes writing written wrote
    """
)
_OTHER = words_of(
    """
    hä fehlt rot
    aber ach alle allem allen alles als also am an anders auch auf aus ausführen bei beide beiden beim bereit
    besser bin bis bist bitte bleib da dabei damit danach danke dann das dass dein deine dem den denn der des
    dich die dies diese dieser dieses dir doch dran drin du durch eben ein eine einem einen einer eines einfach
    einmal entfern entferne er erklär erkläre erklären erst es etwas euch fehler fertig formatiere frage fragen
    für führ führe ganz gar geh geht gehts genau gerade gern gerne gib gibt gleich gut guten hab habe haben halt
    hallo hast hat hatte hätte heißt hier hilf hilfe ich ihm ihn ihr im immer in ist ja jetzt jetzigen kann
    kannst kein keine keinen klappt klar klingt komm könnte können könntest lass lassen lauf laufen leider
    letzte letzten letztes lies lösch lösche löschen los mach mache machen macht mal man mehr mein meine meinst
    mich mir mit morgen moment muss nach nächste nächsten nächster nächstes naja nein neu neue neuen nicht
    nichts noch nochmal nun nur ob oder ohne okay passiert passt perfekt prima probier probiere prüf prüfe
    rückgängig schau schön schon schreib schreibe schritt sehr sei sein seine sich sie sieht sind so soll sollen
    sollte sonst stimmt such super tag test teste testen tests toll tschüss tun tut um und uns unser unter
    versuch versuche versuchen viel vielen von vor wann war waren warte warum was weg weil weiß weiter
    weitermachen welche welcher welches wenn wer werden wie wieder wir wird wirklich wo wohl wollen würde zeig
    zeige zeit zu zum zur zurück zusammen änderung änderungen ändere code commit committe datei kommentar abend
    morgen nacht bis später ordnung wieso weshalb woran womit worüber wofür wobei wozu wessen wem gestern vorgestern heute übermorgen
    woche wochen monat monate jahr jahre tage tagen stunde stunden gemacht getan gewesen geworden worden wurde wurden sei wäre
    entschieden entscheiden entscheidung beschlossen wechseln gewechselt nutzen nutzt benutzen benutzt verwenden verwendet nehmen nimmt
    genommen dauert lang lange kurz hoch schnell langsam gegeben gesagt sagte sagt gemeint gedacht eigentlich überhaupt wohin
    steht stehen stand geblieben bleibt bleiben aufgehört angefangen unsere unserem unseren unserer unseres meinem meinen meiner
    deinem deinen deiner seinem seinen seiner ihre ihrem ihren ihrer eure euren eurer jede jeder jedes jeden jemand niemand mehrere manche
    à ai aide aider ajoute ajouter ainsi alors après as attends au aussi autre
    aux avant avec avez avoir ça ce cela ces cet cette chose ci comme comment corrige corriger c d dans de des
    dernier dernière dire dis dit dois donc du efface elle elles en encore enlève enregistre entre erreur
    erreurs es essaie essaye essayer est et étape été être eux explique expliquer faire fais fait fichier fin
    fini fonctionne génial il ils j jamais je l la là laisse lance lancer le les leur lis lui m ma maintenant
    mais marche me merci beaucoup mes mets mieux modifications moi moins mon montre montrer n ne ni non nos notre nous on
    ont ou où oui par parfait pas passe passé peu peut peux plaît plus pour pourquoi pouvez prochain prochaine
    problème puis qu quand que quel quelle quelles quels qui quoi recommence refais regarde relance rien s sa
    sais salut sans se sera ses si son sont suis suite suivant suivante super supprime sur t ta te tes tests toi
    ton tous tout toute toutes très trop tu un une va vas vérifie veut veux voilà vois vos votre vous vrai
    vraiment y bonjour bonsoir accord annule arrête bien bon bonne continue continuer stp svp code a ahí al algo
    añade antes aquí arregla así aún ayuda bien borra bueno cambia cambio cambios claro código comentario como
    cómo con continúa continuar correcto corre cosa crea cual cuál cuando cuándo de del desde después di dice
    dime donde dónde e ejecuta el él ella ellos en encima entonces era eres error errores es esa ese eso espera
    esta está estaba están estás este esto estoy explica explicar falla falló fue funciona genial gracias guarda
    ha haz hace hacer hacia hasta hay hola hora hoy intenta inténtalo ir la las le lee les listo lo los luego
    mal más me mejor mi mira mis mismo muestra muestrame muy nada ni no nos nosotros nuestro nuevo o ok os otra
    otro para parece pasa pasó paso pero perfecto podemos poder por porque prueba pruebas puede puedes pues que
    qué queda quien quién quiero quita repite revisa sabe se sea seguimos ser sí si sido sigamos sigue siguiente
    sin sobre solo sólo son soy su sus también tan te tengo tests ti tiempo tiene tienes todo todos tras tu tú
    tus última último un una uno usa va vale vamos ve ver vez y ya yo adelante adiós buenas buenos días noches
    tardes favor ainda agora ajuda aqui até bem boa bom certo com continua continue corrija da das de deu do dos
    e ela ele em então erro é essa esse está estou eu executa faz fazer fez foi funciona funcionou gente isso já
    lhe lo mais mas me mesmo meu minha mostra muito na nada não nem nos novo num o obrigada obrigado onde os ou
    para parece passo pela pelo pode por porque pra quando que quê quem quero rode roda se sem ser seu sim só
    sua tá tá também tem tenta tente tentar testes teste tudo um uma vai vamos ver vez você por favor olá oi
    tchau próximo ancora adesso aiuto allora anche bene bravo buongiorno ciao che chi ci ciò come con continua
    così cosa cosi da dai dei del della di dove dopo e è ed errore esegui fai fallo fare fatto fine funziona già
    giusto grazie ho il in io la le lei lo loro lui ma mi mio molto mostra mostrami nel nella no noi non nostro
    nulla o ok ora per perché perfetto più poi possiamo procedi prego prossimo prova puoi qua qual quale quando
    quello questa questo qui riprova sbagliato se sei sempre sì si sia sono spiega sta stai su sua suo tutto tu
    tua tuo un una uno va vai vediamo vuoi file commenta aggiungi annulla aan al alles alsjeblieft als ben bent
    bij dag dan dank dat de deze die dit doe doen door een en er even fout fouten ga gaan goed graag had heb
    hebben heeft help het hier hij hoe ik in is ja jij je jou kan klaar klopt kun laat maar maak me meer met mij
    mijn moet na naar nee niet niets nog nou nu of om omdat ons ook op opnieuw over perfect precies probeer uit
    van verder voer volgende voor waar waarom was wat we weer welke werkt wie wij wil worden zal ze zie zijn zo
    zou zien toe bedankt hoi hallo stap tests toevoegen verwijder tak nie dzięki dziękuję proszę dalej dobrze
    jeszcze raz spróbuj ponownie co to jest jak kontynuuj super uruchom testy napraw błąd i w z na do się już mi
    mnie tego ten ta pokaż gotowe czy stało dlaczego świetnie zrób да нет спасибо пожалуйста продолжай дальше
    хорошо ладно ок еще ещё раз попробуй снова что это как почему и в на с не работает запусти тесты исправь
    ошибку ошибка покажи готово отлично привет сделай так все всё теперь мне я ты мы он она они случилось давай
    верно правильно стоп подожди объясни пока где когда кто код файл тест закоммить отмени удали добавь проверь
    можешь ли же бы для из к о об по у за от до то тот этот эта эти мой твой наш evet hayır tamam teşekkürler
    devam et tekrar dene lütfen ne oldu bu şu o mı mi çalıştır testleri düzelt hata göster neden nasıl bir daha
    ve ja nej tack fortsätt igen prova kör testerna vad hände varför det är inte bra och jag du den som på fixa
    felet snälla takk takker fortsett prøv igjen kjør hva skjedde ikke jeg nei hvad kør tak prøv fejl kyllä ei
    kiitos jatka uudelleen
    lagen liegt liegen lief liefen läuft welchem welchen weswegen worauf woraus wovon wodurch worin woher wohin
    sag sage sagen nenn nenne nennen verrat verrate zeigt nochmals
    acuerdo mille muchas большое очень понятно
    """
)
_PHRASES = words_of(
    """
    ございます
    继续 好的 好 再试一次 再试 试试 一次 一下 谢谢 谢了 多谢 是的 不是 是 不 对 对的 可以 提交 运行 测试 修复 修正 错误 报错 为什么
    怎么 什么 怎么回事 这个 那个 这 那 解释 看看 看 帮我 请 吧 吗 呢 了 的 把 没问题 问题 没有 没 完成 现在 几点 下一步 代码 文件
    撤销 删除 重试 重新 开始 停止 停 等等 你好 早上好 再见 你 我 他 它 们 在 有 很 都 也 还 就 要 做 说 跑 改 写 上 下 来 去
    行 嗯 哦 更新 合并 推送 はい いいえ 続けて 続き ください お願いします お願い ありがとうございます ありがとう もう一度 もう一回 試して
    やり直して やり直し テスト 実行して 実行 コミットして コミット 修正して 修正 直して エラー なぜ どうして 何 なに これ それ あれ この
    その 説明して 説明 見せて 見て 大丈夫 いいね いい 了解 です ます した して する ですか ますか か は が を に で と の も ね よ
    次 待って 止めて おはよう こんにちは こんばんは 起きた 起こった コード ファイル 今 時 元に戻して 戻して プッシュ 네 아니요 아니 계속해
    계속 해줘 해주세요 해 주세요 줘 감사합니다 고마워 다시 시도 좋아 좋아요 테스트 실행 커밋 고쳐 수정 오류 에러 왜 뭐 무엇 이거 그거
    설명 보여 안녕하세요 안녕 됐어 맞아 다음 요 을 를 이 가 은 는
    """
)
_CONTINUE = words_of(
    """
    continue continuing resume next left off going proceed remaining task tasks todo todos working where pick
    plan status weiter weitermachen nächstes nächste nächster wo geblieben suite suivante prochaine reprends
    reprendre sigue siguiente seguimos continuar próximo continua prossimo verder volgende dalej продолжай
    дальше devam fortsätt fortsett jatka
    """
)
_CONTINUE_PHRASES = ("继续", "下一步", "続け", "続き", "次", "계속", "다음")
_TOKEN = late(r"[^\W_]+(?:[._/\-'’:@#+]+[^\W_]+)*[+#]*|_+\w+")
_WORDS = late(r"(?!(?<=['\u2019])s\b)[^\W_]+")
_JOINS = late(r"(?:['\u2019]s)?[ -]")
_PARTS = late(r"[-'’]")
_JOINED = late(r"[._/:@#+]")
_UNSPACED = late("[\u0e00-\u0eff\u1000-\u109f\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]+")
_PHRASE = late("|".join(sorted(_PHRASES, key=lambda phrase: (-len(phrase), phrase))))
_ASKS_OURS = late(
    r"\b(?:how|where|when|which|what|why|who)\b.{0,40}?\b(?:do|does|did|should|can|could|would|must|have|had|are|is|was|were)\s+(?:we|our|i)\b"
    r"|\bhow to\b|\bour\b"
    r"|\b(?:wie|wo(?:r?an|mit|rüber|für|rauf|raus|von|her|hin|zu)?|wann|was|welche[rsnm]?|warum|wieso|weshalb|weswegen|we[rmn])\b.{0,40}?"
    r"\b(?:wir|uns)\b|\bunser(?:e[mnrs]?)?\b",
    re.IGNORECASE | re.DOTALL,
)
_SEEKS = late(
    r"\b(?:we|us|our|ours|wir|uns|unser(?:e[mnrs]?)?)\b"
    r"|\b(?:did|was|were|had|has|have|why not|(?:warum|wieso|weshalb|weswegen) nicht)\b"
    r"|\b(?:wurden?|worden|gewesen|hat|hatten?|waren)\b",
    re.IGNORECASE,
)
"""A question of what was, or of what is ours."""
_ASKS = late(
    r"[?？]|(?:^|[.!\n])\s*(?:(?:and|so|ok|okay|hey|hi|also|but|btw|please|und|aber|also|ach|na|bitte|sag(?:t)? mal)\b\W*){0,9}"
    r"(?:(?:wh?at|where|when|why|how|who)['’]?s?|which|whose|we[rmn]|wessen|was|welche[rsnm]?|wo(?:r?an|mit|rüber|für|rauf|raus|von|her|hin|zu)?"
    r"|wann|warum|wieso|weshalb|weswegen|wie|qui|quel\w*|où|quand|pourquoi|comment|qué|cuál|quién|dónde|cuándo|cómo"
    r"|(?:tell|give|remind) (?:me|us) (?:again )?(?:the|our|what|which|who|where|when|why|how)"
    r"|(?:sage?|gib|nenne?|verrate?) (?:mir|uns) (?:(?:bitte|mal|noch ?mal|nochmals|kurz) )*"
    r"(?:de[rnm]|die|das|unsere?[nmrs]?|was|welche[rsnm]?|we[rmn]|wo|wann|warum|wieso|wie))\b"
    r"|(?:^|[.!\n])\s*(?:(?:did|has|is|are|was|were|does)\s+(?:we|our|i|the|there|anyone|someone|(?-i:[A-Z])\w+)|(?:have|had|do)\s+(?:we|i))\b",
    re.IGNORECASE,
)
_REQUEST = late(
    r"(?:^|[.!?,\n])\s*(?:(?:and|so|ok|okay|hey|please)\s+){0,9}(?:can|could|would|will)\s+you\b"
    r"(?![^.?!\n]*\b(?:tell (?:me|us) (?!if)|explain|remind|know|remember|recall|what|which|who|where|when|why|how)\b)[^.?!\n]*\?",
    re.IGNORECASE,
)
"""An order said as a question: "can you draw that as a table?\""""
_REMEMBERS = late(
    r"\b(?:was|were|is|are|did|do|have|had)n['’]?t (?:there|we)\b|\bremind me\b|\bhow (?:do|can|did|should|could) (?:i|we|you|one)\b"
    r"|\b(?:i|we) (?:seem to |vaguely |still )?(?:remember|recall|know (?:we|there))\b|\bthere (?:was|were|is|are) some",
    re.IGNORECASE,
)
"""A question without its mark, for what was known once: "I seem to remember a rule for this.\""""
_WHO = late(
    r"\W*(?:(?:and|so|ok|hey|und|also|hi)\W+)*(?:who|whose|whom|wer|wem|wen|wessen)(?:['\u2019]s)?\b(?P<rest>[^.?!\n]*)",
    re.IGNORECASE,
)
_ATTRIBUTES = words_of(
    """
    version versions release port ports url urls address host hostname ip password passwords secret token key path folder id number size
    limit timeout interval rate license licence budget price cost
    versionsnummer adresse passwort kennwort schlüssel ordner pfad nummer größe grenze preis lizenz
    """
)
"""What every thing has one of: no row that only names such a word is about what is asked."""
_OF = late(
    r"\W*(?:of|for|von|vom|f[uü]r|des|der)\s+(?:(?:the|our|de[rnms]|das|die|unser\w*)\s+)?(?P<owner>[^\W_]+)",
    re.IGNORECASE,
)
_GRAMMAR = words_of(
    """
    s re ll ve d t is are was were will would can could should shall may might must has have had did do does done be been being the a an of
    in on at to for from with by and or not no next last first else again now here there today tomorrow tonight yesterday we us our i me my
    he she they them him her anyone anybody everyone so too also just really ever still yet all then cares knows care know think thinks
    says said want wants wanted made make makes wrote write writes right wrong good better best one ones left time going go ist sind war
    waren wird werden wurde wurden hat haben hatte hatten der die das den dem es ein eine einen in im am an auf zu mit von vom für bei und
    oder nicht noch jetzt heute morgen gestern da denn eigentlich wohl mal schon als nächste nächster nächstes wir uns ich mich mir er sie
    kann soll muss darf will weiß sagt macht dran zeit alles alle sonst recht bin bist seid
    """
)
"""Words that are no role beside "who"."""
_WEATHER = late(r"\W*(?:what|how|wie)(?:['\u2019]?s| is| ist| wird)? (?:the |das )?(?:weather|wetter)\b", re.IGNORECASE)
"""A place where it rains is no subject."""
_POINTS = late(
    r"\b(?:this|that|these|those|it|its|here|current|now|you|your|yours|dies\w*|hier|du|dir|dein\w*|ce|cet|cette|ces|ici|tu|vous|votre"
    r"|est[eao]s?|es[eao]s?|aqu[ií]|quest[aeio]|isso|isto|você|deze|je|jij|jouw)\b",
    re.IGNORECASE,
)
_CAPITAL = late(r"(?=\b([^\W\d_]+) ([A-Z][a-z]{2,})\b)")
_BEFORE_NO_NAME = words_of(
    "a an the this that these those in on by since until till before after for of last next early late mid during and or"
)
"""Before a month, and what somebody writes with a capital for no reason."""
_MOST_CHARS = 20_000
"""What is longer was pasted, and an agent waits while it is read."""
_ENDINGS = ("s", "es", "ed", "d", "ing", "ly")
_NUMBER_DIGITS = 4
_SHORT = 2


def has_content(prompt: str) -> bool:
    """Return True if a prompt names something that a memory could be about, near its beginning."""
    prompt = prompt[:_MOST_CHARS]
    if _WEATHER.match(prompt):
        return False
    words = content_words(prompt)
    if any(word not in _WORK for word in words) or (bool(words) and _ASKS_OURS.search(prompt) is not None):
        return True
    return bool(role_words(prompt))


def asks(prompt: str) -> bool:
    """Return True if a prompt asks for something known, and not only for something to be done."""
    # without empty lines and indents: from each line end the expressions look for the next word
    prompt = "\n".join(line for text in prompt.splitlines() if (line := text.strip()))
    return _ASKS.search(_REQUEST.sub(" ", prompt)) is not None or _REMEMBERS.search(prompt) is not None


def seeks(prompt: str) -> bool:
    """Return True if a question is one of what was, or of ours.

    By its form it asks for a memory.
    """
    return _SEEKS.search(prompt) is not None


def points(prompt: str) -> bool:
    """Return True if a prompt points at what agent and user have before them, or at the agent."""
    return _POINTS.search(prompt) is not None


def subject_words(prompt: str) -> list[str]:
    """Return the words of a prompt that name a subject: no talk, no work at hand but ours."""
    words = content_words(prompt)
    return words if _ASKS_OURS.search(prompt) is not None else [word for word in words if word not in _WORK]


def owner_words(prompt: str) -> list[str]:
    """Return the words of a prompt for what it asks an attribute of; else none.

    "Which Redis version do we use" asks of Redis, and "the port of the broker" of the broker: a memory that has another thing's
    version is not about it.
    """
    found = list(_WORDS.finditer(prompt))
    words = [match[0].lower() for match in found]
    owners: list[str] = []
    for place, word in enumerate(words):
        if word not in _ATTRIBUTES:
            continue
        before = words[place - 1] if place else ""
        is_joined = place > 0 and _JOINS.fullmatch(prompt, found[place - 1].end(), found[place].start()) is not None
        after = _OF.match(prompt, found[place].end())
        if is_joined and _is_owner(before):
            owners.append(before)
        elif after is not None and _is_owner(after["owner"].lower()):
            owners.append(after["owner"].lower())
        else:
            return list(dict.fromkeys(filter(_is_owner, words)))
    return list(dict.fromkeys(owners))


def _is_owner(word: str) -> bool:
    return not _is_talk(word) and word not in _ATTRIBUTES and _base(word) not in _WORK


def role_words(prompt: str) -> list[str]:
    """Return what a question of who asks for, in words of talk too.

    "Who is on call?" names a role.
    """
    asked = _WHO.match(prompt)
    if asked is None or points(prompt):
        return []
    return [
        word for word in re.findall(r"[^\W\d_]+", asked["rest"].lower()) if word not in _GRAMMAR and word not in _WORK
    ]


def continues_work(prompt: str) -> bool:
    """Return True if a prompt names nothing but asks to go on with the work, or for what it is."""
    words = set(re.findall(r"\w+", prompt.lower()))
    asked = not words.isdisjoint(_CONTINUE) or any(word in prompt for word in _CONTINUE_PHRASES)
    return asked and not has_content(prompt)


def content_words(prompt: str) -> list[str]:
    """Return the words of a prompt that are no talk, in order, folded."""
    found = []
    names = _name_words(prompt)
    for token in _TOKEN.findall(prompt):
        if _UNSPACED.search(token):
            found += [run for run in _PHRASE.sub(" ", token).split() if len(run) >= _SHORT or not _UNSPACED.match(run)]
        elif _JOINED.search(token):
            found.append(token.lower())
        else:
            found += [
                word for part in _PARTS.split(token) if (word := part.lower()) and (not _is_talk(word) or part in names)
            ]
    return [_base(word) for word in found]


def _name_words(prompt: str) -> set[str]:
    """Return the words of English talk that are somebody's name: "what did I promise Hope?"."""
    found = set()
    for before, word in _CAPITAL.findall(prompt):
        lowered = before.lower()
        is_name = before == lowered and lowered not in _BEFORE_NO_NAME and (lowered in _TALK or not _is_talk(lowered))
        if is_name and word.lower() in _TALK and word.lower() not in _OTHER and not word.endswith("day"):
            found.add(word)
    return found


def _is_talk(word: str) -> bool:
    if word.isdecimal():
        return len(word) < _NUMBER_DIGITS
    return len(word) == 1 or word in _TALK or word in _OTHER


def _base(word: str) -> str:
    """Return the word for the work at hand that a word is a form of, else the word."""
    if word in _WORK:
        return word
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and (stem in _WORK or f"{stem}e" in _WORK or (stem[-1:] == stem[-2:-1] and stem[:-1] in _WORK)):
            return stem if stem in _WORK else f"{stem}e" if f"{stem}e" in _WORK else stem[:-1]
    return word
