import { MASK } from './redact';

/** Parts of a name that say that its value is secret. */
const SECRET = String.raw`(?:pass(?:word|wd|phrase)?|pwd|secret|token|(?:api|access|account|auth|private|shared|master|functions?|signing|encryption|subscription)[._-]?key|credential|signature)s?`;
const VALUE = String.raw`(?:"[^"]*"|'[^']*'|[^\s"';&|]+)`;

/** What comes before a secret stays, in group 1. */
const BEFORE_SECRETS: readonly RegExp[] = [
  // --password=…, --db-password …, -Dspring.datasource.password=…
  new RegExp(String.raw`((?:^|\s)--?[\w.-]*${SECRET}(?:=|:|\s+)\s*)${VALUE}`, 'gi'),
  // DB_PASSWORD=…, password: …, ?token=…, AccountKey=…
  new RegExp(String.raw`([\w.-]*${SECRET}[\w.-]*["']?\s*[=:]\s*)${VALUE}`, 'gi'),
  // The password of an address, and signatures of shared access.
  /(\b[a-z][\w+.-]*:\/\/[^\s:/@]*:)[^\s/@]+(?=@)/gi,
  /([?&](?:sig|code|key|auth|sas)=)[^\s&"']+/gi,
  // Headers.
  /((?:authorization|cookie|x-[\w-]*(?:key|token|auth)[\w-]*)\s*:\s*(?:basic|bearer|token)?\s*)[^\s"']+/gi,
  // Options of one letter, of the programs that have them: mysqldump -pX, sshpass -p X, redis-cli -a X, curl -u USER:X.
  /(\b(?:mysql\w*|maria\w*|mongo\w*|sqlcmd|bcp|osql)\b[^;&|]*?\s-[pP]\s?)(?!-)(?:"[^"]*"|'[^']*'|[^\s-][^\s;&|]*)/g,
  /(\bsshpass\s+-p\s*)(?:"[^"]*"|'[^']*'|\S+)/g,
  /(\bredis-cli\b[^;&|]*?\s-a\s*)(?:"[^"]*"|'[^']*'|\S+)/g,
  /(\bldap\w+\b[^;&|]*?\s-w\s*)(?:"[^"]*"|'[^']*'|\S+)/g,
  /(\bcurl\b[^;&|]*?\s(?:-u|--user)[=\s]?\s*["']?[^\s:"']*:)[^\s"']+/g,
  /(\b(?:az|docker|podman|helm|oras|skopeo)\b[^;&|]*?\slogin\b[^;&|]*?\s-p[\s=]?)(?!-)(?:"[^"]*"|'[^']*'|[^\s;&|]+)/g,
  /(\b(?:un)?zip\b[^;&|]*?\s-P\s?)(?:"[^"]*"|'[^']*'|[^\s;&|]+)/g,
  /(\b7z\w*\b[^;&|]*?\s-p)(?:"[^"]*"|'[^']*'|[^\s;&|]+)/g,
  /(\blftp\b[^;&|]*?\s-u\s*["']?[^\s,"']*,)[^\s"']+/g,
  // Given to a program on its standard input.
  /(\b(?:echo|printf)\s+(?:-\w+\s+)*)(?:"[^"]*"|'[^']*'|[^\s|;&]+)(?=\s*\|[^|;&]*(?:\ssudo\b[^|;&]*\s-\w*S\b|--\w+-stdin\b))/g,
  /(\bsmb\w+\b[^;&|]*?\s-U\s*["']?[^\s%"']*%)[^\s"']+/g,
];

/** A command, or another text of a source, without the secrets that people write into such: a mask stands for each. */
export function maskSecrets(text: string): string {
  return BEFORE_SECRETS.reduce((masked, pattern) => masked.replaceAll(pattern, `$1${MASK}`), text);
}

const SECRET_NAME = new RegExp(SECRET, 'i');

/** Whether the value of a setting with this name is not shown, and not carried into a jobs file. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** A name in words, whose value is a secret, and not one with more letters, such as `tokenizer`. */
const SECRET_MEMBER = new RegExp(String.raw`(?<!by|com)${SECRET}(?![a-z])|^(?:authorization|cookie)$`, 'i');
/** A name in words, whose value only leads to a secret, or describes one. */
const REFERENCE = /_(?:name|id|ur[il]|ref|reference|path|file|env|variable|setting|type|vault)s?$/i;
/** A value that is filled in elsewhere, such as `${TOKEN}`. */
const PLACEHOLDER = /^(?:\$\{?\w+\}?|%\w+%|\{\{.*\}\}|<.*>|@Microsoft\.KeyVault\(.*\))$/;
/** Keys and tokens that show what they are by their form. */
const FORMS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY/,
  /\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}/, // JSON web token
  /(?<![\w+/])[A-Za-z\d+/]{86}==(?!=)/, // Azure: storage account, Service Bus and others with 64 bytes
  /[\w-]{40,}AzFu[\w-]{6,}==/, // Azure Functions
  /(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}/, // Entra
  /\b(?:AKIA|ASIA)[A-Z\d]{16}\b/, // AWS
  /\b(?:gh[oprsu]_\w{36}|github_pat_\w{22}|glpat-[\w-]{20}|xox[abeprs]-[\w-]{10}|[rs]k_live_\w{16}|npm_\w{36})/,
];
/** The search for the names of secrets takes quadratic time. */
const SEARCHED = 1_000;

/** Whether a member of a JSON object looks like a key or a password: by its name, or by the form of its value. */
export function looksSecret(name: string, value: string): boolean {
  const text = value.slice(0, SEARCHED);
  if (text === '' || PLACEHOLDER.test(text)) return false;
  const words = name.slice(0, SEARCHED).replaceAll(/([a-z\d])([A-Z])/g, '$1_$2');
  if (SECRET_MEMBER.test(words) && !REFERENCE.test(words)) return true;
  return FORMS.some((form) => form.test(text)) || maskSecrets(text) !== text;
}
