import { alike } from './problems.js';

const USAGE = `Usage: ambit explain <code> [--json]

Prints what an error means and how to fix it. Without a code it lists all codes.`;

interface Output {
  readonly print: (text: string) => void;
  readonly complain: (text: string) => void;
  /** Reads docs/errors.md. */
  readonly page: () => string;
}

interface Entry {
  readonly code: string;
  readonly meaning: string;
  readonly fix: string;
}

const UNKNOWN = 1;
const MISUSED = 2;

/** The command `ambit explain`. Returns its exit code: 0, 1 for a code that does not exist, 2 for wrong usage. */
export function explainCode(args: readonly string[], { print, complain, page }: Output): 0 | 1 | 2 {
  const isJson = args.includes('--json');
  const [asked, ...rest] = args.filter((arg) => arg !== '--json');
  if (asked === '--help' || asked === '-h') {
    print(USAGE);
    return 0;
  }
  if (rest.length > 0 || asked?.startsWith('-')) {
    complain(USAGE);
    return MISUSED;
  }
  const entries = entriesOf(page());
  if (asked === undefined) {
    print(isJson ? JSON.stringify(entries) : entries.map(({ code }) => code).join('\n'));
    return 0;
  }
  const code = codeOf(asked);
  const entry = entries.find((each) => each.code === code);
  if (!entry) {
    const near = entries.find((each) => alike(each.code, code));
    complain(`There is no ${code}.${near ? ` Do you mean ${near.code}?` : ' ambit explain lists all codes.'}`);
    return UNKNOWN;
  }
  print(isJson ? JSON.stringify(entry) : `${entry.code}\n\n${entry.meaning}\n\nFix: ${entry.fix}`);
  return 0;
}

/** Readers paste a code in small letters, with the brackets and punctuation of the message, or without AMBIT_. */
function codeOf(asked: string): string {
  const code = asked.toUpperCase().replaceAll(/^\W+|\W+$/g, '');
  return code.startsWith('AMBIT') ? code : `AMBIT_${code}`;
}

/** The entries of the page: a heading of the third level, what the code means, and the fix. */
function entriesOf(page: string): Entry[] {
  return page
    .split(/^(?=#{2,3} )/m)
    .filter((text) => text.startsWith('### '))
    .map((text) => {
      const [heading = '', ...lines] = text.split('\n');
      const [meaning = '', fix = ''] = plain(lines.join('\n')).split('**Fix:**');
      return { code: heading.slice('### '.length), meaning: meaning.trim(), fix: fix.trim() };
    });
}

/** Markdown whose links are their text, with the address of those that leave the page. */
const plain = (markdown: string): string =>
  markdown.replaceAll(/\[([^\]]*)\]\(([^)]*)\)/g, (_, text: string, to: string) => {
    if (to.startsWith('#')) return text;
    return `${text} (${/^https?:/.test(to) ? to : `docs/${to}`.replace('docs/../', '')})`;
  });
