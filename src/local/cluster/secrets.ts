/** A connection string without its key, and without the signature of a URL in it. */
export function withoutSecrets(connection: string): string {
  // A password may have any character, and an at sign too.
  if (/^\s*[a-z]+:\/\//i.test(connection)) return connection.replace(/:\/\/.*@/s, '://').replace(/[?#].*$/s, '');
  return connection
    .split(';')
    .filter((part) => !/^\s*(AccountKey|SharedAccessSignature)\s*=/i.test(part))
    .map((part) => part.replace(/\?.*$/s, '').replace(/:\/\/[^/]*@/, '://'))
    .join(';');
}
