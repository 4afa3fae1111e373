/** The longest time back that a page looks: ten years. */
const MOST_HOURS = 24 * 366 * 10;

/** The hours in an address; undefined: there are none, or no instant lies as far back. */
export function hoursOf(text: string | undefined): number | undefined {
  const hours = Number(text);
  return hours > 0 && hours <= MOST_HOURS ? hours : undefined;
}
