"""The published forms of keys and tokens, by vendor: a prefix nobody writes by chance, then a fixed number of random characters.

Forms that are random characters and nothing else look like a checksum; they are found by the words around them
(`stated_secrets`). A new form is one line here and one sentence in `tests/data/gate`.
"""

from hive_mind.regex import regex

_FORMS = {
    "private keys": r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY",
    "PuTTY": r"PuTTY-User-Key-File-\d",
    "age": r"\bAGE-SECRET-KEY-1[0-9A-Z]{50}",
    "Amazon": r"\b(?:AKIA|ASIA|AIDA|AROA|ABIA|ACCA)[A-Z0-9]{16}\b",
    "Adobe": r"\bp8e-[A-Za-z0-9]{32}",
    "Airtable": r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}",
    "Alibaba": r"\bLTAI[A-Za-z0-9]{12}",
    "Artifactory": r"\bAKC[A-Za-z0-9]{20}",
    "Atlassian": r"\bAT(?:ATT|CTT|BB)[A-Za-z0-9_=-]{20}",
    "Azure": r"\b(?:AccountKey|SharedAccessKey)=[\w+/]{20}|[?&;]sig=[\w%+/]{20}|\b\w{3}8Q~[\w.~-]{31}",
    "Buildkite": r"\bbkua_[0-9a-f]{40}",
    "CircleCI": r"\bCCIPAT_\w{20}",
    "crates.io": r"\bcio[A-Za-z0-9]{32}\b",
    "Databricks": r"\bdapi[0-9a-f]{32}",
    "DigitalOcean": r"\bdo[opr]_v1_[0-9a-f]{64}",
    "Discord": r"\bdiscord(?:app)?\.com/api/webhooks/\d{15,21}/[\w-]{20}|\b[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27}",
    "Docker": r"\bdckr_[po]at_[\w-]{20}",
    "Doppler": r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9]{40}",
    "Dropbox": r"\bsl\.[\w-]{60}",
    "Figma": r"\bfig[dou]h?_[\w-]{38}",
    "Fly": r"\bfo1_[\w-]{40}|\bFlyV1 fm",
    "GitHub": r"\bgh[pousr]_[A-Za-z0-9]{30}|\bgithub_pat_\w{22}",
    "GitLab": r"\bgl(?:pat|dt|ptt|rt|ft|imt|agent|oas|cbt|soat)-[\w-]{20}",
    "Google": r"\bAIza[\w-]{35}|\bya29\.[\w-]{20}|\bGOCSPX-[\w-]{20}",
    "Grafana": r"\bgl(?:c|sa)_[A-Za-z0-9+/=]{30}",
    "Groq, Perplexity, Replicate, xAI": r"\bgsk_\w{40}|\bpplx-\w{40}|\br8_\w{35}|\bxai-\w{60}",
    "HashiCorp": r"\bhv[sbr]\.[\w-]{20}|\b[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{50}",
    "Heroku": r"\bHRKU-[\w-]{30}",
    "Hugging Face": r"\b(?:hf|api_org)_[A-Za-z0-9]{30}",
    "JSON web token": r"\beyJ[\w-]{8,600}\.[\w-]{8}",
    "Linear": r"\blin_(?:api|oauth)_\w{30}",
    "Mailchimp": r"\b[0-9a-f]{32}-us\d{1,2}\b",
    "Mailgun": r"\b(?:pub)?key-[0-9a-z]{32}\b",
    "Mapbox": r"\bsk\.eyJ",
    "Microsoft Teams": r"\.webhook\.office\.com/webhookb2/[\w@-]{30}",
    "Netlify, Vercel": r"\bnf[pcou]_\w{30}|\bvc[ipark]_\w{24}",
    "New Relic": r"\bNR(?:AK|II|JS|SP)-[A-Za-z0-9]{16}",
    "Notion": r"\bntn_\w{40}|\bsecret_[A-Za-z0-9]{43}\b",
    "npm, PyPI, RubyGems": r"\bnpm_[A-Za-z0-9]{36}|\bpypi-[\w-]{50}|\brubygems_[0-9a-f]{48}",
    "OpenAI, Anthropic": r"\bsk-[\w-]{20}",
    "1Password": r"\bops_eyJ|\bA3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){3,5}[A-Z0-9]{5}\b",
    "PayPal": r"\baccess_token\$production\$",
    "PlanetScale": r"\bpscale_(?:tkn|pw|oauth)_[\w.=-]{30}",
    "Postman": r"\bPMAK-[0-9a-f]{24}-",
    "Pulumi": r"\bpul-[0-9a-f]{40}",
    "SendGrid": r"\bSG\.[\w-]{16,64}\.[\w-]{16}",
    "Sentry": r"\bsntr(?:ys_eyJ|yu_[0-9a-f]{64})",
    "Shopify": r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "Slack": r"\bxox[abeoprs]-[A-Za-z0-9-]{10}|\bxapp-\d-[A-Z0-9]{8}"
    r"|\bhooks\.slack\.com/(?:services|workflows|triggers)/\w{5,30}/",
    "Sonar": r"\bsq[puag]_[0-9a-f]{40}",
    "Square": r"\bsq0(?:atp|csp|idp)-[\w-]{22}",
    "Stripe": r"\b[prs]k_(?:live|test)_\w{10}|\bwhsec_\w{24}",
    "Supabase": r"\bsb(?:p|_secret)_\w{30}",
    "Tailscale": r"\btskey-[a-z]{3,10}-\w{10}",
    "Telegram": r"\b\d{8,10}:[\w-]{35}\b",
    "Twilio": r"\bSK[0-9a-f]{32}\b",
    "Yandex": r"\bAQVN[\w-]{35}|\by0_[\w-]{50}",
    "a URL with a password": r"\b[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@]{0,100}:[^\s/@]{1,200}@",
    "licences": r"(?i:\b(?:licen[cs]|lizenz|activation|product key)\w{0,12})[^\n.]{0,30}?[=: ]\s?"
    r"(?=[A-Z-]{0,30}\d)[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){2,6}\b",
    # "passw0rd", "p@ssword"
    "a password all know": r"(?i:\bp(?!assword)[a@4][s5$]{2}w[o0]rd)",
    "an HTTP header": r"\b(?:[Bb]earer|[Bb]asic|BEARER|BASIC) {1,3}(?=[A-Za-z+/._~-]{0,40}\d)[\w+/.~-]{12}",
    "a hash of a password": r"\$(?:\d|2[abxy]|y|argon2\w{1,2})\$[\w./$=,+-]{20}",
    "network devices": r"\bsnmp-server community \S{4}|\benable (?:secret|password) \S",
    # Twelve words and more, none of them short, as no sentence has them.
    "wallets": r"(?i:\b(?:seed|recovery|mnemonic|wallet)\b[^\n]{0,40}?)\b(?:[a-z]{3,8}[ ,]{1,2}){11}[a-z]{3,8}\b",
    "a command": r"\bcurl\b.{0,100}\s-u ?[\w.@-]{1,60}:[^\s$]{4}|\bmysql\w{0,6}\b.{0,100}\s-p[^\s$]{4}|\bsshpass -p ?[^\s$]{3}",
}
_ANY = regex("|".join(f"(?:{form})" for form in _FORMS.values()))
# All of the above have one of these; looking for it first takes a tenth of the time.
_MAY_BE = regex(
    r"\S{16}|://|eyJ"
    r"|(?i:snmp|enable |seed|recovery|mnemonic|wallet)"
    r"|(?i:private key|licen[cs]|lizenz|activation|product key|bearer|basic|curl|mysql|sshpass|p[a@4][s5$]{2}w[o0]rd)"
)


def holds_key(text: str) -> bool:
    """Whether a part of the text has the form of somebody's key, token or private key."""
    return bool(_MAY_BE.search(text) and _ANY.search(text))
