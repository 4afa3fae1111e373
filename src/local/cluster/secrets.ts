/** A connection string without its key, and without the signature of a URL in it. */
export function withoutSecrets(connection: string): string {
  return connection
    .split(';')
    .filter((part) => !/^\s*(AccountKey|SharedAccessSignature)\s*=/i.test(part))
    .map((part) => part.replace(/\?.*$/s, '').replace(/:\/\/[^/]*@/, '://'))
    .join(';');
}
