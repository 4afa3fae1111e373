/** The known word that the author probably meant; undefined if none is near. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  const meant = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= bestDistance) continue;
    const distance = editDistance(meant, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** The remedy for an unknown word: the nearest known word, or another remedy if none is near. */
export function meantOr(word: string, known: Iterable<string>, otherwise: string): string {
  const meant = nearest(word, known);
  return meant === undefined ? otherwise : `did you mean "${meant}"?`;
}

/** The remedy for an unknown word: the nearest known word, or a list of all. */
export function insteadOf(word: string, known: readonly string[]): string {
  const names = known.map((name) => `"${name}"`).join(', ');
  return meantOr(word, known, `known ${known.length === 1 ? 'is' : 'are'} ${names}`);
}

/** The remedy for a name that is not among these: the nearest of them, or some, or another remedy if there are none. */
export function oneOf(name: string, names: readonly string[], ifNone: string): string {
  return meantOr(name, names, names.length > 0 ? `use one of ${names.slice(0, 10).join(', ')}` : ifNone);
}

/** How many letters to insert, delete, replace or swap with a neighbour to turn one word into the other. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      let distance = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) distance = Math.min(distance, (beforeLast[column - 2] ?? 0) + 1);
      current.push(distance);
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}
