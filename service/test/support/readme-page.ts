import { readFileSync } from 'node:fs';

const ROOT = new URL('../../../', import.meta.url);

export const readme = readFileSync(new URL('service/README.md', ROOT), 'utf8');
export const scripts = Object.keys(
  (JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as { scripts: object }).scripts,
);

/** A command, and the response that the page shows after it. */
export interface Exchange {
  readonly command: string;
  readonly response: string;
}

const EXCHANGE = /^```sh\n([^`]+)```\n\n```(json|text)\n([^`]+)```$/gm;

export const exchanges: readonly Exchange[] = Array.from(
  readme.matchAll(EXCHANGE),
  ([, command = '', kind, shown = '']) => ({
    command: command.trim(),
    // The formatter puts spaces into JSON, the service does not.
    response: kind === 'json' ? JSON.stringify(JSON.parse(shown)) : shown.trim(),
  }),
);

/** The cells of each row of the table under this heading. */
export function tableUnder(heading: string): readonly string[][] {
  const section = readme.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}
