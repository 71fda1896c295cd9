// How the search of the site finds and sorts. VitePress writes these functions into the page, so each has all that it needs.

/** Names with dots, such as `Next.js`, are found as they are and without them, too; a code, such as `AMBIT_DISPOSED`, is one word. @param {string} text */
const tokenize = (text) => [
  ...text.replaceAll(/\bambit(?:_[a-z\d]+)+/gi, ' ').split(/[\n\r\p{Z}\p{P}]+/u),
  ...(text.match(/\w+(?:\.\w+)+|\bambit(?:_[a-z\d]+)+/gi) ?? []).flatMap((name) => [name, name.replaceAll('.', '')]),
];

/** One word in singular and plural; of a code what is behind `ambit`, or else who looks for that would find all codes. @param {string} term */
const processTerm = (term) =>
  term
    .toLowerCase()
    .replace(/^ambit(?=_)/, '')
    .replace(/(?<=\w{3}[^s])s$/, '');

/** How MiniSearch splits what it finds and what is looked for. */
export const options = { tokenize, processTerm };

export const searchOptions = /** @type {const} */ ({
  boost: { title: 6, titles: 2, text: 1 },
  fuzzy: 0.1,
  combineWith: 'AND',
  /**
   * A reader who looks for a subject wants the page about it before the symbols, and the page before a section of another one.
   * @param {string} id the address
   * @param {string} term of the index
   * @param {Record<string, unknown>} [section] with the titles of the sections that it is in
   */
  boostDocument: (id, term, section) => {
    // The entry of a code is what its reader wants.
    if (term.startsWith('_') && id.endsWith(`#ambit${term}`)) return 100;
    const { titles } = /** @type {{ titles: string[] }} */ (section);
    const kinds = /** @type {[RegExp, number][]} */ ([
      [/\/(#|documentation)/, 0.1],
      [/\/rules\.html/, 0.25],
      [/\/(api|benchmarks)|\/errors\.html#(?!errors$)/, 0.4],
      [/\/service\//, 0.9],
      [/\/concepts\//, 2.1],
      [/\/(readme|tutorial|guides|errors)/, 1.5],
      [/\/(coming-from\/|packages\/\w+\.html)/, 1.2],
    ]);
    const [, kind = 1] = kinds.find(([pages]) => pages.test(id)) ?? [];
    return kind * (titles.length === 0 ? 2 : titles.length === 1 ? 1 : 0.6);
  },
});
