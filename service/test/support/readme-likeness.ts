const VARYING = {
  id: /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/,
  time: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/,
} as const;
const ANY_VARYING = new RegExp(
  Object.values(VARYING)
    .map(({ source }) => source)
    .join('|'),
  'g',
);
const HTTP_DATE = /\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g;

/**
 * What a page shows, and what really came: ids and times differ, but the same one on the page is the same one in life.
 * So an id shown in an answer can stand in a later command.
 */
export class Likeness {
  readonly #real = new Map<string, string>();

  /** The text of the page with the real ids and times in it. */
  toReal(shown: string): string {
    return shown.replaceAll(ANY_VARYING, (text) => this.#real.get(text) ?? text);
  }

  /** The same, once the ids and times that are new on the page have learnt what they stand for in this answer. */
  learn(shown: string, real: string): string {
    const pairs = (shown.match(ANY_VARYING) ?? []).map(
      (text, index) => [text, real.match(ANY_VARYING)?.[index]] as const,
    );
    for (const [text, inLife] of pairs) {
      if (inLife !== undefined && kindOf(text) === kindOf(inLife) && !this.#real.has(text))
        this.#real.set(text, inLife);
    }
    return this.toReal(shown);
  }
}

/** The clock of the headers, and how a program sets its columns apart, are nobody's promise. */
export function withoutChance(text: string): string {
  return text
    .replaceAll(HTTP_DATE, 'some day')
    .replaceAll('\r\n', '\n')
    .replaceAll(/[ \t]+/g, ' ')
    .trim();
}

function kindOf(text: string): string | undefined {
  return Object.entries(VARYING).find(([, pattern]) => pattern.test(text))?.[0];
}
