/**
 * A piece of documentation that must compile: one or more fenced blocks of a page, kept at their own line numbers,
 * so that what the compiler says about line 12 is true of line 12 of the page.
 * @typedef {object} Example
 * @property {number} line where its first block opens
 * @property {string} code
 * @property {boolean} runs
 * @property {string | undefined} prints what it must print, if the page says so
 */

/**
 * Reads the fences of a Markdown page: ```ts compiles, ```ts run also runs, ```ts continued goes on where the block
 * before it ended, and a ```text right behind a block that runs is what it prints. A block marked `integrations` or
 * `prisma` needs packages that only integrations/ or integrations/prisma/ has: there it is one of those that run. One marked
 * `tutorial` is a file of the tutorial, whose steps tools/tutorial.mjs follows.
 * @param {string} markdown
 * @param {{ only?: 'integrations' | 'prisma' }} [options] to give those with this mark, and no others
 * @returns {Example[]}
 */
export function examplesIn(markdown, { only } = {}) {
  /** @type {Example[]} */
  const examples = [];
  let previousRuns = false;
  for (const { line, language, words, body } of fencesIn(markdown)) {
    const last = examples.at(-1);
    if (language === 'text' && previousRuns && last) last.prints = (last.prints ?? '') + body;
    const mark = words.find((word) => ['integrations', 'prisma', 'tutorial'].includes(word));
    const isAsked = language === 'ts' && mark === only;
    const runs = only !== undefined || words.includes('run') || (words.includes('continued') && !!last?.runs);
    previousRuns = isAsked && runs;
    if (!isAsked) continue;
    if (words.includes('continued')) {
      if (!last) throw new Error(`line ${line}: nothing to continue`);
      last.code = padTo(line, last.code) + body;
      last.runs ||= previousRuns;
    } else {
      examples.push({ line, code: padTo(line, '') + body, runs: previousRuns, prints: undefined });
    }
  }
  return examples;
}

/**
 * The documentation comments of a source file as a page, line by line; everything else becomes an empty line.
 * @param {string} source
 * @returns {string}
 */
export function commentsOf(source) {
  let inside = false;
  return source
    .split('\n')
    .map((line) => {
      if (/^\s*\/\*\*/.test(line)) inside = true;
      const text = inside ? line.replace(/^\s*(\/\*\*|\*\/|\* ?)/, '').replace(/\s*\*\/.*$/, '') : '';
      if (line.includes('*/')) inside = false;
      return text;
    })
    .join('\n');
}

/** All fenced blocks of a page, in order. @param {string} markdown */
export function fencesIn(markdown) {
  /** @type {{ fence: string, line: number, language: string, words: string[], body: string }[]} */
  const fences = [];
  let open = false;
  for (const [index, text] of markdown.split('\n').entries()) {
    const [, fence = '', info = ''] = /^ {0,3}(`{3,})([^`]*)$/.exec(text) ?? [];
    const current = fences.at(-1);
    if (open && current) {
      if (fence.length >= current.fence.length && info.trim() === '') open = false;
      else current.body += `${text}\n`;
    } else if (fence) {
      const [language = '', ...words] = info.trim().split(/\s+/);
      fences.push({ fence, line: index + 1, language, words, body: '' });
      open = true;
    }
  }
  return fences;
}

/** @param {number} line @param {string} code */
function padTo(line, code) {
  return code + '\n'.repeat(Math.max(0, line - code.split('\n').length + 1));
}
