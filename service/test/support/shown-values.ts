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
 * Compares what a page shows with what the service responds. Ids and times differ, but each one on the page stands for
 * the same real one everywhere, so an id from a response can be part of a later command.
 */
export class ShownValues {
  readonly #real = new Map<string, string>();

  /** The text of the page with the real ids and times in it. */
  toReal(shown: string): string {
    return shown.replaceAll(ANY_VARYING, (text) => this.#real.get(text) ?? text);
  }

  /** The same, after the ids and times that are new on the page were assigned those of this response. */
  learn(shown: string, real: string): string {
    const pairs = (shown.match(ANY_VARYING) ?? []).map(
      (text, index) => [text, real.match(ANY_VARYING)?.[index]] as const,
    );
    for (const [text, inResponse] of pairs) {
      if (inResponse !== undefined && kindOf(text) === kindOf(inResponse) && !this.#real.has(text))
        this.#real.set(text, inResponse);
    }
    return this.toReal(shown);
  }
}

/** Without the `Date` header and the width of columns, which differ each time. */
export function comparable(text: string): string {
  return text
    .replaceAll(HTTP_DATE, 'some day')
    .replaceAll('\r\n', '\n')
    .replaceAll(/[ \t]+/g, ' ')
    .trim();
}

function kindOf(text: string): string | undefined {
  return Object.entries(VARYING).find(([, pattern]) => pattern.test(text))?.[0];
}
