// The list of words in CI: every tracked document and source file, its path included, says what the field says.
//   node tools/words.mjs                       all of it
//   node tools/words.mjs packages/inspector    what begins with one of these paths
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { EXCEPTIONS, RULES } from './words/rules.mjs';

const READ = /\.(md|[cm]?[jt]sx?|json|html|css|sh|ya?ml|sql)$/;
// The rules quote what they refuse; a lock file has the names of other people's packages.
const UNREAD = /^tools\/(words\/|test\/words)|(^|\/)package-lock\.json$/;

// A phrase goes on in the next line, also in that of a comment.
const patterns = RULES.map(({ pattern, instead }) => ({
  instead,
  pattern: new RegExp(`(?<![\\w'])${pattern.replaceAll(' ', '[\\s*/#>|]+')}(?!\\w)`, 'gi'),
}));

/**
 * @typedef {{ path: string, line: number, word: string, instead: string }} Finding
 * @param {string} path of the file, relative to the repository
 * @param {string} text what is in it
 * @returns {Finding[]}
 */
export function findWords(path, text) {
  const inText = findIn(separated(withoutExceptions(path, text))).map(({ at, ...found }) => ({
    path,
    ...found,
    line: at,
  }));
  const inPath = findIn(separated(path)).map(({ word, instead }) => ({ path, line: 0, word, instead }));
  return [...inPath, ...inText].toSorted((a, b) => a.line - b.line);
}

/** @param {string} text */
function findIn(text) {
  return patterns.flatMap(({ pattern, instead }) =>
    Array.from(text.matchAll(pattern), (match) => ({
      at: text.slice(0, match.index).split('\n').length,
      word: match[0].replaceAll(/[\s*/#>|]+/g, ' '),
      instead,
    })),
  );
}

/** @param {string} path @param {string} text */
function withoutExceptions(path, text) {
  return EXCEPTIONS.filter((exception) => path.startsWith(exception.path ?? '')).reduce(
    (left, exception) => left.replaceAll(exception.text, ''),
    text,
  );
}

/** `camelCase`, `snake_case`, `kebab-case` and `word1` as separate words. @param {string} text */
function separated(text) {
  return text.replaceAll(/(?<=[a-z\d])(?=[A-Z])|(?<=[a-z])(?=\d)/g, ' ').replaceAll(/(?<=\w)[_-](?=\w)/g, ' ');
}

/** @param {string[]} paths */
function trackedFiles(paths) {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...paths], {
    encoding: 'utf8',
  });
  // A file that was moved, and not staged, is still listed.
  return listed.split('\0').filter((path) => READ.test(path) && !UNREAD.test(path) && existsSync(path));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const findings = trackedFiles(process.argv.slice(2)).flatMap((path) => findWords(path, readFileSync(path, 'utf8')));
  for (const { path, line, word, instead } of findings) {
    console.error(`${path}${line > 0 ? `:${line}` : ''}  "${word}": write ${instead}`);
  }
  if (findings.length > 0) console.error(`${findings.length} words to replace`);
  process.exitCode = findings.length > 0 ? 1 : 0;
}
