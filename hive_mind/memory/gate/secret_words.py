"""Names of secrets and words said about them: in the languages of Europe, the usual ones in Arabic, Chinese, Japanese and Hindi.

Only words; `stated_secrets` uses them. To tune, add a sentence to `tests/data/gate/development.jsonl` first.
"""

PASSWORDS = (
    r"pass(?:word|wort|wörter|wd|phrase)|kennw[oö]rt|losungswort|geheimwort|wachtwoord|mots? de passe|phrase secr[èe]te"
    r"|contrase[ñn]as?|palavras?-passe|parola d'ordine|has[łl]o|парол[ьяюе]|парола|パスワード|暗証|密码|密碼|비밀번호"
    r"|lösenord|passord|adgangskode|kodeord|salasana|jelszó|heslo|lozinka|contrasenya|mật khẩu|kata sandi"
    r"|รหัสผ่าน|পাসওয়ার্ড|পাসওয়ার্ড|கடவுச்சொல்|پاس ?ورڈ|پسورد|گذرواژه|암호|패스워드|nenosiri|šifra"
    r"|şifre|parolas[ıi]|κωδικ[όο]|סיסמ|كلم[ةه] (?:ال)?(?:مرور|سر)"
    r"|पासवर्ड|कूटशब्द|口令|パスコード|parola(?= \w{2,20}(?:ului|ei)\b)|(?:secret|security) answer|community string"
    r"|(?<![a-zà-ü])(?:pwd|pw|mdp|senhas?|pass)(?![a-zà-ü])"
)
CODES = (
    r"(?<![a-zà-ü])(?:pin(?:[ -]?(?:c|k)od(?:e|en|u)?)?|puk|cvv|cvc|otp)(?![a-zà-ü])|geheimzahl|digicode|passcode"
    r"|(?:code|código|codice|código) (?:secret|secreto|segreto)|secret code|geheimcode|zahlenschloss"
    r"|kombinationsschloss|combination lock|cijferslot|szyfr|(?<![а-яё])(?:пин|шифр)(?![а-яё])|الرقم السري"
    r"|الرمز السري|पिन(?! ?कोड)|暗証番号|kod(?:en|u|et|e)?(?![a-zà-ü])|(?<![a-zà-ü])kód(?:u|y)?(?![a-zà-ü])"
    r"|(?<![а-яё])код(?:а|у|ом)?(?![а-яё])|رمز|कोड|コード|验证码|驗證碼|代码|代碼|番号|号码|號碼"
    r"|[ck][oó]d(?:es?|igos?|ice|ici)(?![a-zà-ü])"
    r"|รหัส|পিন(?!\s?কোড)|কোড|핀 ?번호|코드|קוד|tunnusluku|koodi|kode(?![a-zà-ü])|mã (?:pin|số|khóa|cửa|mở)"
    r"|[ck]omb(?:o|ination|inaison|inación|inazione|inação|inatie|inace|inasyon|inacj[aię])(?![a-zà-ü])"
    r"|(?<![а-яё])комбинаци[яию](?![а-яё])"
)
KEYS = (
    r"secret(?!ar|e?ly|i[oa]n)|secreto|segreto|segredo|token(?!s|i[sz])|jeton|schlüssel"
    r"|(?<![a-zà-ü])(?:cl[ée]s?|clave|chave|chiave|key|sleutel|klucz|nyckeln?|anahtarı?)(?![a-zà-ü])"
    r"|(?<![а-яё])(?:ключ|токен)(?![а-яё])|مفتاح|密钥|密鑰|令牌|キー|トークン|कुंजी|टोकन"
    r"|(?:api|access|private|account|encryption|signing)[ _-]?key|(?<![a-zà-ü])(?:cookie|sid)(?![a-zà-ü])"
)
LOGINS = (
    r"credential|(?<![a-z])creds|zugangsdaten|anmeldedaten|identifiants"
    r"|credenciales|credenziali|credenciais|anmeldung|zugang:|acc[eè]s:|acceso|accesso|acesso"
    r"|(?<![a-zà-ü])(?:log(?:in|ged in|s? in)|sign(?:s|ed)? in|gets? in(?:to)?|anmelde\w{0,2}"
    r"|einloggen|connecte[rz]?|user(?:name)?"
    r"|s?ftp|ssh|vnc|rdp|telnet|sandbox"
    r"|benutzer(?:name)?|utente|usu[aá]rio|utilizador|identifiant|inicia\w{0,3} sesión|accedere|entrar)(?![a-zà-ü])"
)
TYPED = (
    r"(?<![a-zà-ü])(?:opent|gaat open|otwiera|öppnas|unlocks?|unlocked|opens?|öffnet|geht|ouvre|abres?|apre|disarms?|key ?pad"
    r"|enter(?:ing)?|type|typing|punch(?:ing)? in|key(?:ing)? in|press(?:ing)?"
    r"|dial(?:l?ing)?|use|try|eingeben|eintippen|tippe?n?|gib|nimm|tapez|taper|composez?|utilise[rz]?|teclea|marca"
    r"|introduce|pulsa|usa|digita|inserisci"
    r"|digite|insira|marque)(?![a-zà-ü])"
)
LOCKS = (
    r"(?<![a-zà-ü])(?:lock|padlock|safe|locker|door|schloss|tresor|cadenas|coffre|candado|caja fuerte|lucchetto|cassaforte"
    r"|cadeado|alarm|alarmanlage|alarme|alarma|allarme|hangslot|kluis|kłódka|sejf|hänglås"
    r"|kassaskåp|fechadura|serratura|cerradura|serrure)(?![a-zà-ü])"
    r"|(?<![а-яё])(?:замок|сейф)(?![а-яё])"
)

LOCKS_WITH_DIGITS = frozenset("lock padlock schloss cadenas candado lucchetto cadeado hangslot kłódka hänglås замок".split())
"""Of those, what is set to digits and nothing else."""

# Subjects of a "code" or "combination" that opens something, and its other meanings.
OPENED = (
    r"door|gate|access|alarm|entr(?:y|ance)|security|safe|lock|shed|garage|cabinet|locker|suitcase|one-time|verif"
    r"|confirm|log-?in|intercom"
    r"|bestätigung|unlock|recovery|backup|disarm|(?-i:PIN)|key ?pad"
    r"|tür|(?<!mo)tor\b|zugang|zutritt|alarm|tresor|schloss|keller|sicherheits"
    r"|porte|portail|acc[èe]s|entrée|coffre|cadenas|digicode|puerta|port[óo]n|acceso|caja fuerte|candado"
    r"|porta\b|cancello|allarme|accesso|cassaforte|lucchetto|sblocco|portão|acesso|cofre|cadeado"
    r"|deur\b|poort\b|kluis|hangslot|schuur|toegang|bram[ayęk]|drzwi|sejf|domofon|kłódk|alarm|szaf|furtk|garaż"
    r"|двер|ворот|калитк|домофон|сейф|замк|замок|подъезд|сигнализац|шлагбаум|гараж|карт[аыуе]\b"
    r"|باب|بواب|خزن|قفل|إنذار|انذار|دخول|وصول|بطاق|門|门|保险[箱柜]|保險[箱櫃]|锁|鎖|警报|開門|登录|登入|警報|解除|アラーム|防犯|玄関|ドア|金庫|ロッカー|ゲート|入口|認証"
    r"|दरवाज|तिजोरी|ताल[ाे]|अलार्म|गेट|लॉकर|kap[ıi]|kasa\b|kilit|dörr|døre?n?\b|porten|låge|taquilla|trastero|cancela"
    r"|ประตู|ตู้|ล็อค|ล็อก|দরজা|তালা|সিন্দুক|গেট|현관|출입문|금고|자물쇠|도어락|사물함|דלת|כספת|שער|מנעול"
    r"|pintu|brankas|gembok|cửa|két sắt|ổ khóa"
    r"|fechadura|trinco|serratura|cerradura|serrure|slotje|ovi\b|oven|lukko|kapu|ajtó"
    r"|széf|dveř|trezor|vrata|ușă|seif|ușii|πόρτ|χρηματοκ"
    r"|cochera|garaje|armadietto|casier|spind|briefkasten|armário|garagem|kassaskåp|larm|låset?"
)
NOT_OPENING = (
    r"(?:error|exit|status|fault|return|pos\b|post(?:al|leitzahl)?|zip|area|country|product|bar|qr|source|dress|colou?r|http|response|reason"
    r"|fehler|länder|quell|strich|erreur|source|postal|fuente|barras|barre|postale|errore?|sorgente|fonte"
    r"|fout|streep|land|błęd|poczt|źródł|kresk|towar|ошибк|почт|исходн|стран|город|товар|штрих"
    r"|(?:ال)?(?:خطأ|بريد|مصدر|دول)|错误|錯誤|邮政|郵政|源|条形|區|区|国家|エラー|郵便|ソース|バー|電話|注文|订单|訂單"
    r"|त्रुटि|पिन|डाक|देश|hata|posta|kaynak|alan|fel|käll|streck|lands)"
)
# Numbers that are dialled, and the thing with the dial: "the safe opens at left 12, right 7, left 31".
DIRECTIONS = (
    r"left|right|links|rechts|gauche|droite|izquierda|derecha|sinistra|destra|esquerda|direita|lewo|prawo|влево"
    r"|вправо|налево|направо"
    r"|vänster|höger|sola|sağa|(?:anti-?|counter-?)?clockwise|يسار|يمين|बाएँ|बाएं|दाएँ|दाएं"
)
DIALS = (
    r"combination|combo\b|\block|padlock|\bsafe\b|\bdial|kombination|schloss|tresor|combinaison|coffre|cadenas"
    r"|combinación|caja fuerte"
    r"|candado|combinazione|cassaforte|lucchetto|combinação|cofre|cadeado|kluis|slot\b|szyfr|sejf|kłódk|сейф|замок"
    r"|замк|kassaskåp|hänglås"
    r"|kasa|kilit|保险|保險|金庫|ダイヤル|锁|鎖|锁|خزن|قفل|तिजोरी|ताल"
)
# Beginnings of names that stand for other codes too, or for a combination of drugs. A PIN is always a PIN.
ANY_CODES = (
    *("cod", "cód", "kod", "kood", "comb", "komb", "код", "رمز", "कोड", "コード", "รหัส", "কোড", "코드", "קוד", "mã"),
    *("验证码", "驗證碼", "代码", "代碼", "番号", "号码", "號碼"),
)
# "password policy", "token limit": the rest is about the policy.
ABOUT_IT = (
    r"(?:polic|manage|reset|rotat|field|vault|stor|generat|prompt|hash|file|rule|length|expir|check|strength|requirement|login|protect"
    r"|count|limit|bucket|usage|budget|ring|endpoint|pad|auth|finding|cod(?:e|ing)r|name|size|type|change|reader|therapy"
    r"|richtlinie|länge|of conduct|less)"
)

IS = (
    r"is|was|are|were|be|being|has been|becomes?|equals|remains?|stays?|takes|wants|lautet|ist|sind|war|heißt|bleibt"
    r"|est|sont|était|reste|c'est|es|son"
    r"|era|fue|è|é|sono|são|siendo|rimane|continua|staat op|steht auf|gilt|luidt|brzmi|vaut|vale|er|blijft|jest|är"
    r"|это|равен|равна|составляет|هو|هي|है|là|adalah|ialah|הוא|היא|คือ"
)
TO = r"to|from|as|auf|zu|von|en|à|in|a|para|por"
WITH = r"with|mit|met|med|dengan|avec|con|com|using|by"
CHANGED = (
    r"\b(?:re)?set\b|chang|updat|rotat|geändert|gesetzt|setz|ersetz|\bmis\b|modifi|remplac|cambi|puest|actualiz"
    r"|impost|sostitu|mud[aáo]"
    r"|alter|defin|troc"
)
# Before the name of a thing rather than a password: "the password for server12".
BEFORE_THINGS = frozenset(
    "for of on from to at in by with and or as per via the a an this that each für von vom auf an am im in bei zu zum "
    "zur und der die das den dem pour de du des sur à au aux par dans et le la les un une para del en por y el los las "
    "una di del della dello al alla da dal nel sul per e il lo gli uno do da dos das no na nos nas ao o a os as um uma "
    "version step section page room".split()
)
# Said before a value: "is now …", "is still …".
FILLERS = (
    r"now|still|currently|simply|just|again|always|really|the word|set to|changed to|jetzt|nun|noch|immer noch|wieder|auf|nur"
    r"|maintenant|toujours|encore|désormais|le|la|ahora|todavía|el|adesso|ora|ancora|il|agora|ainda|o|u"
)

ORDINARY = frozenset(
    "a about all also always an and any ask at available be because been being blank both bob by bad can case changed "
    "choose clear click common complex contact correct create default different empty enough enter expired fine for "
    "forgot from gone good has hashed have here hidden how i important in incorrect insecure invalid it kept known local "
    "long lost may minimum missing must my necessary needed never new next no none not now of off old on one only open "
    "optional or our out part per personal plain please private public ready required reset right rotated safe same "
    "second secret secure see sensitive set short should simple so some something stored strong such temporary that the "
    "their then there this to too true two unique unknown unsafe up use used useless valid very void weak what when where "
    "which will with without work wrong you your abgelaufen alt anders bekannt bei da das dem der die ein eine einfach "
    "falsch fest für geheim gleich gut im in kurz lang leer mindestens nicht nie neu noch richtig schwach sehr sicher "
    "stark unbekannt ungültig unter vom von weg wie zu à au aux bon chez correct court dans de des du en encore facile "
    "faible faux identique inconnu incorrect le la les long mauvais même ne nouveau nul pas périmé plus pour que secret "
    "sous sur sûr toujours très trop un une unique valide vide al algo bien buena buen con corta corto de del demasiado "
    "débil desde distinta en falsa fuerte igual incorrecta la larga lo mala menos misma mismo muy no nueva obligatoria "
    "para por segura sin su también un una única vacía válida vieja alla altra bene come corta da dal debole del della "
    "di diversa errata falsa forte giusta in la lunga ma molto nel nella non nota nuova per più sbagliata scaduta sempre "
    "sicura stessa sul sulla troppo uguale una unica valida vecchia vuota a ao as com curta da de do em errada fácil "
    "fraca igual longa mais mesma muito na nada nas no nos nova num numa o para pela pelo por segura sem sempre também "
    "um uma única válida velha vazia".split()
)
# Endings of what is said about a password rather than as one: "expired", "gespeichert", "affiché", "obligatoria", "scaduta".
ADJECTIVES = (
    "ed", "ing", "able", "ible", "ory", "ive", "less", "ful", "bar", "lich", "ig", "iert", "ichert", "é", "ée", "aire", "oire",
    "eux", "ado", "ada", "ido", "ida", "oria",
    "orio", "ato", "ata", "uto", "uta", "ito", "ita", "bile", "ável", "ível", "ório", "ória",
)  # fmt: skip
# A phrase that holds one of these is a sentence; without one it may be a passphrase.
FUNCTION_WORDS = frozenset(
    "a about after all an and any are as at be been but by can do does for from had has have he her his how i if in into "
    "is it its may more must my no not of off on one only or our out she should so than that the their them then there "
    "they this to too until up us very was we were what when where which who will with without you your now again als am "
    "an auf aus bei das dem den der des die doch ein eine einem einen er es für hat ich ihr im in ist mit nach nicht "
    "noch nur oder schon sehr sein sich sie sind so über um und von vor war wie wir wird zu zum zur au aux avec ce ces "
    "cette dans de des du elle en est et il ils je la le les leur mais ne nous on ou par pas plus pour qu que qui sa "
    "sans se ses son sont sur trop très un une vous al con como de del el ella en es está esta fue ha la las lo los más "
    "muy no o para pero por que se sin son su sus un una y ya alla anche che come con da dal dei del della di e è gli ha "
    "i il in la le lo ma nel nella non o per più sono sul sulla un una ao aos as com da das do dos e é em está foi mais "
    "mas na nas no nos não o os ou para pela pelo por que se sem seu sua um uma".split()
)
# Units: a number before one of these is a count, not a code.
UNITS = (
    r"\s?-?(?:digits?|characters?|chars?|letters?|bits?|bytes?|days?|weeks?|months?|years?|hours?|h\b|min\w{0,5}\b|s\b|seconds?|ms\b|times?"
    r"|words?|attempts?|lines?|rpm|bar\b|mg|kg|[kmg]b\b|%|percent|euros?|€|\$|servers?|users?|agents?|tries|"
    r"stell\w{0,5}|zeichen|tage?n?\b|ziffern|stunden|monate|chiffres|caract\w{0,6}|jours|heures|lignes|cifras|cifre"
    r"|d[ií]g\w{0,5}|d[ií]as|giorni"
    r"|dias|horas|minuti|segundos|secondes|secondi)"
)
# Has digits and letters, and is nobody's secret.
TECHNICAL = (
    r"v?\d+(?:\.\d+)+[\w.-]{0,30}"
    r"|\d+(?:[.,]\d+)?-?(?:bit|byte|char|digit|day|week|month|hour|word|step|factor|stellig|fach)\w{0,8}"
    r"|\d+(?:st|nd|rd|th|[hdswx]|ms|min|[kmg]i?b|%|°c)|\d{4}-\d\d(?:-\d\d)?\S{0,20}|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}"
    r"|\d\d?:\d\d(?::\d\d)?"
    r"|sha-?\d+\S{0,10}|(?:aes|rsa|ecdsa|curve|ed|hmac|[rhep]s|poly|chacha)-?\d+\S{0,20}|base\d\d\w{0,5}|md\d"
    r"|argon2\w{0,2}|pbkdf2|bcrypt"
    r"|oauth2?(?:\.\d)?|oidc|[23]fa|mfa|totp|x\.?509\w{0,3}|pkcs#?\d+|p12|p?fips\S{0,8}|utf-?\d+|s3|ec2|k8s|1password"
    r"|fido2|u2f|web3|tls\S{0,5}"
    r"|iso\d+|ios\d+|q[1-4]|f\d{1,2}|https?\S{0,300}|[./~]\S{0,300}|\d+k|kb\d+|windows\d+|ipv[46]"
)
