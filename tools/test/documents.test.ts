// Links, files, commands, figures, error codes and diagnostics channels that the documents name exist.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { publicPackages } from '../entry-points.mjs';

const root = join(import.meta.dirname, '../..');
const listed = execFileSync('git', ['ls-files', '-z', '*.md'], { cwd: root, encoding: 'utf8' }).split('\0');
const pages = listed.filter((path) => path !== '' && existsSync(join(root, path)));

/** Folders and files, each with every way to name it from a folder above. */
const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' }).split('\0');
const places = [
  ...new Set(tracked.flatMap((path) => path.split('/').map((_, i, all) => all.slice(0, i + 1).join('/')))),
];

const withoutCode = (markdown: string): string =>
  markdown.replaceAll(/^```[^]*?^```$/gm, '').replaceAll(/`[^`\n]*`/g, 'code');

/** The anchors that GitHub gives to the headings of a page. */
function anchorsOf(path: string): Set<string> {
  const headings = readFileSync(join(root, path), 'utf8')
    .replaceAll(/^```[^]*?^```$/gm, '')
    .match(/^#{1,6} .*$/gm);
  return new Set((headings ?? []).map((heading) => anchorOf(heading.replace(/^#+ /, ''))));
}

function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function brokenLinksOf(path: string): string[] {
  const links = Array.from(
    withoutCode(readFileSync(join(root, path), 'utf8')).matchAll(/\]\(([^)\s]+)\)/g),
    ([, to = '']) => to,
  );
  return links
    .filter((to) => !/^[a-z]+:/.test(to))
    .filter((to) => {
      const [file = '', anchor] = to.split('#');
      const target = file === '' ? path : relative(root, join(root, dirname(path), file));
      if (!existsSync(join(root, target))) return true;
      return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
    });
}

it.each(pages)('every link of %s leads to a file and a heading that exist', (path) => {
  expect(brokenLinksOf(path)).toEqual([]);
});

/** A path, or in what describes this repository also the name of a file; `*` and `{a,b}` as a shell has them. */
function missingFilesOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```[^]*?^```$/gm, '');
  const spans = Array.from(text.matchAll(/`(\w[\w.*{},/-]+)`/g), ([, span = '']) => span.replace(/\/$/, ''));
  const isOfRepository = /^(docs\/decisions\.md|ARCHITECTURE|CONTRIBUTING)/.test(page);
  return spans.filter((span) => {
    const [first = '', ...more] = span.split('/');
    const isFile = /\w\.(test\.ts|[cm]?[jt]s|md|sh)$/.test(span);
    const isPath = more.length > 0 && (isFile || places.includes(first) || places.includes(`packages/${first}`));
    // Built files are not tracked.
    if (!(isPath || (isFile && isOfRepository)) || more.includes('dist')) return false;
    const pattern = span
      .replaceAll(/[.]/g, '\\.')
      .replaceAll('*', '[^/]*')
      .replaceAll(/\{([^}]*)\}/g, (_, choices: string) => `(${choices.replaceAll(',', '|')})`);
    const named = new RegExp(`(^|/)${pattern}$`);
    return !places.some((place) => named.test(place));
  });
}

it.each(pages.filter((page) => /^(docs\/|[A-Z]+\.md$)/.test(page) && page !== 'CHANGELOG.md'))(
  'every file that %s names in code exists',
  (page) => expect(missingFilesOf(page)).toEqual([]),
);

/** The files and folders on the map, each with the top folder that its line belongs to. */
function placesOnMap(): (readonly [named: string, top: string])[] {
  const [, map = ''] = /^```text\n([^]*?)^```$/m.exec(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')) ?? [];
  let top = '';
  return map.split('\n').flatMap((line) => {
    top = /^\S+(?=\/)/.exec(line)?.[0] ?? top;
    return Array.from(line.matchAll(/(?<![\w/@.-])[\w.-]+(?:\/[\w.-]+)*(?:\/(?!\w)|\.(?:ts|mjs|md)\b)/g), ([named]) => [
      named.replace(/\/$/, ''),
      top,
    ]);
  });
}

it('the map of ARCHITECTURE.md names nothing that does not exist', () => {
  const missing = placesOnMap().filter(
    ([name, top]) => !places.some((place) => `${place}/`.startsWith(`${top}/`) && `/${place}`.endsWith(`/${name}`)),
  );
  expect(missing).toEqual([]);
});

const readme = readFileSync(join(root, 'README.md'), 'utf8');
const results = readFileSync(join(root, 'bench/results.md'), 'utf8');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
const NUMBER = /\d[\d.,]*\d/g;

function section(heading: string): string {
  return readme.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? '';
}

describe('README.md', () => {
  it('begins with the two commands that a fresh clone needs, each alone in its block', () => {
    const commands = Array.from(readme.matchAll(/^```sh\n([^`]*)```$/gm), ([, body]) => body);
    expect(commands.slice(0, 2)).toEqual(['npm ci && npm start\n', 'npm ci && npm test\n']);
  });

  it('names only npm commands that exist', () => {
    const known = ['ci', 'create', 'init', 'install', 'pack', 'registry', 'start', 'test', ...Object.keys(scripts)];
    const named = Array.from(readme.matchAll(/npm (?:run )?(?:--silent )?([a-z][a-z-]+)/g), ([, name]) => name);
    expect(named.filter((name = '') => !known.includes(name))).toEqual([]);
  });

  it('claims on the front page of the site only figures that the page beside the claim has', () => {
    const front = readFileSync(join(root, 'site/index.md'), 'utf8');
    const [, claims = ''] = /^## Three claims$([^]*?)^## /m.exec(front) ?? [];
    const cards = claims.split(/^### /m).slice(1);
    const wrong = cards.flatMap((card) => {
      const [, path = ''] = /\]\(\.\.\/([^)#]+)/.exec(card) ?? [];
      const figuresOf = (text: string): string[] => Array.from(text.matchAll(/\d[\d.,]*\d|\d/g), ([figure]) => figure);
      const proof = new Set(figuresOf(readFileSync(join(root, path), 'utf8')));
      const unproved = figuresOf(card.slice(0, card.indexOf(']('))).filter((figure) => !proof.has(figure));
      return unproved.map((figure) => `${path}: ${figure}`);
    });
    expect(wrong).toEqual([]);
  });

  it('shows under "Benchmarks" only figures that bench/results.md has', () => {
    const rows = section('Benchmarks').match(/^\|.*\|$/gm) ?? [];
    const figures = rows.join('\n').match(NUMBER) ?? [];
    const measured = new Set(results.match(NUMBER));
    expect(figures.filter((figure) => !measured.has(figure))).toEqual([]);
  });
});

const errors = readFileSync(join(root, 'docs/errors.md'), 'utf8');
const sections = new Map(
  errors
    .split(/^### /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text] as const),
);
const folders = publicPackages(root).map((folder) => basename(folder));

/** The codes that the source of a package names: in its tables, in what it throws and in what it documents. */
function codesInSource(folder: string): string[] {
  const files = readdirSync(join(root, 'packages', folder, 'src'), { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.ts'))
    .flatMap(
      (file) => readFileSync(join(root, 'packages', folder, 'src', file), 'utf8').match(/\bAMBIT(_[A-Z]+)+\b/g) ?? [],
    );
}

const codes = [...new Set(folders.flatMap(codesInSource))].toSorted();

describe('docs/errors.md', () => {
  it('has a heading for every code of every package, and no other', () => {
    expect([...sections.keys()].toSorted()).toEqual(codes);
  });

  it('has at most 60 codes: one for each thing that a caller does about them', () => {
    expect(
      codes.length,
      'a new code takes the place of another: docs/decisions.md#packages-runtimes-and-releases',
    ).toBeLessThanOrEqual(60);
  });

  it('has each heading once, so that its anchor leads there', () => {
    expect(errors.match(/^### /gm)).toHaveLength(sections.size);
  });

  it.each([...sections])('says what %s means, and how to fix it', (_, text) => {
    const [meaning = '', fix = ''] = text.slice(text.indexOf('\n')).split('**Fix:**');
    expect(meaning.trim()).toMatch(/.{20}/);
    expect(fix.trim()).toMatch(/\w.{9}/);
  });

  it.each(['circular dependency', 'captive dependency', 'connection pool exhausted', 'deadlock', 'request aborted'])(
    'is found by who searches for "%s"',
    (words) => expect(errors.toLowerCase()).toContain(words),
  );
});

it.each(['README.md', 'docs/README.md'])('%s leads to the page of every package', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  expect(folders.filter((folder) => !text.includes(`packages/${folder}/README.md)`))).toEqual([]);
});

it('the page on stability has a row for each host', () => {
  const hosts = readdirSync(join(root, 'test/hosts/adapters')).map((file) => file.replace(/[-.].*/, ''));
  const text = readFileSync(join(root, 'docs/stability.md'), 'utf8').toLowerCase();
  expect(hosts.filter((host) => host !== 'every' && !text.includes(host))).toEqual([]);
});

/** Between parts of our own packages: their messages may change in any release. */
const INTERNAL = [
  'request:context',
  'transaction:context',
  'transaction:method',
  'transaction:unchecked',
  'work:context',
  'work:settled',
].map((name) => `ambit:${name}`);

type Messages = Readonly<Record<string, string>>;

/** The channels that are made in these folders, each with the message that its comment describes. */
function channelsIn(glob: string): Messages {
  const inFolders = execFileSync('git', ['ls-files', '-z', `:(glob)${glob}/**`], {
    cwd: root,
    encoding: 'utf8',
  }).split('\0');
  const files = inFolders.filter((path) => path.endsWith('.ts') && existsSync(join(root, path)));
  const found = files.flatMap((file) =>
    Array.from(
      readFileSync(join(root, file), 'utf8').matchAll(
        /(?:^\/\*\*\s+(?:\* )?`(\{.*?\})`(?:(?!\*\/)[^])*\*\/\n)?^.*\bchannel\('(ambit:[\w:]+)'\)/gm,
      ),
      ([, message = '', channel = '']) => [channel, message] as const,
    ),
  );
  const documented = found.filter(([channel]) => !INTERNAL.includes(channel));
  return Object.fromEntries(documented.toSorted(([a], [b]) => a.localeCompare(b)));
}

/** The rows of the table of channels: `| `ambit:a:b` | `{ message }` ... |`. */
function rowsOf(page: string): Messages {
  const rows = readFileSync(join(root, page), 'utf8').matchAll(/^\| `(ambit:[\w:]+)` +\| (?:`(\{.*?\})`)?/gm);
  const found = Array.from(rows, ([, channel = '', message = '']) => [channel, message] as const);
  return Object.fromEntries(found.toSorted(([a], [b]) => a.localeCompare(b)));
}

it('the guide has every channel of the source, with its message', () => {
  expect(rowsOf('docs/guides/observability.md')).toEqual(channelsIn('packages/*/src'));
});
