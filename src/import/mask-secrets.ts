import { MASK } from '../core/redact';

/** Parts of a name that say that its value is secret. */
const SECRET = String.raw`(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[._-]?key|access[._-]?key|account[._-]?key|private[._-]?key|credential|signature)s?`;
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
