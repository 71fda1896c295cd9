// Refuses words that readers of this field do not know in our sense, in every tracked document, source file and path:
//   node tools/words.mjs                       all of it
//   node tools/words.mjs packages/inspector    what begins with one of these paths
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const OWNED = "(?:scope|instance|container|singleton|child|parent)(?:s|'s|s')?";
const DONE = "(?:transaction|request|process|program|run|attempt)(?:s|'s|s')?";
const THE = '(?:a|an|the|its|their|this|that|every|each|all|no|one|any|our)';
const ENDS = '(?:ends?|ended|ending)';
const AUXILIARY = '(?:has|have|had|is|are|was|were|did|does|do|may|can|will|not|already|never|yet|itself)';
const ends = (/** @type {string} */ noun) =>
  `(?:${noun} (?:${AUXILIARY} )*${ENDS}|${ENDS} ${THE} ${noun}|end of ${THE} (?:\\w+ )?${noun})`;

/** A pattern, in which a space is any white space, and what to write in its place. @type {Record<string, string>} */
const RULES = {
  '(?:life|lives|living)': 'lifetime (of an instance); exists, is stored (of other things)',
  [ends(OWNED)]: 'dispose, is disposed, disposal',
  [ends(DONE)]: 'commits or rolls back (a transaction), completes or finishes (a request), exits (a process)',
  '(?:(?:did|does|do) not end well|ended well)': 'failed to dispose, failed to close',
  '(?:told|tell of|tells of|telling of)': 'is called with, receives, is notified, reports',
  '(?:by hand|hand registered)': 'directly with `scope.register(...)`, hand-written, manually',
  'answer(?:s|ed|ing)?': 'response, responds (HTTP); result, returns (database)',
  '(?:go|goes|went|going) home': 'is returned to the pool',
  '(?:lend|lends|lent|lending|on loan|loaned|borrow(?:s|ed|er|ers|ing)?)': 'check out (of the pool), next user',
  '(?:give|gives|gave|given|giving) back': 'release, return to the pool',
  'in doubt': 'possibly broken',
  'doom(?:s|ed)?': 'mark rollback-only',
  'mend(?:s|ed|ing)?': 'fix, repair',
  gone: 'disconnected (a client), removed, closed',
  anew: 'again, or a new one',
  'under ?way': 'in progress',
  'for ever': 'forever',
  'in vain': 'without result',
  whoever: 'the caller, the client, everyone who',
  'at work': 'active, running',
  'be had': 'available, can be acquired',
  'matter of now': 'temporary; a retry may succeed',
  '(?:call|calls|called|calling) off': 'cancel, abort',
  '(?:give|gives|gave|given|giving) up': 'cancel, abort, stop waiting',
  '(?:circles?|needs itself)': 'circular dependency',
  'doors?': 'entry point',
  // There may be room for something; only a package is no room.
  '(?<!(?:no|is|be|has|more|makes?) )rooms?(?! for)': 'package or folder',
  '(?:house|in house)': 'codebase, repository',
  '(?:suites? of promises|one promise each|which promise|promises of the|every promise of the|promises/)': 'guarantee',
  'variants? [MP]': 'Express (variant M), Fastify (variant P)',
  '(?:what|that|which) cannot be(?=[.,;:)`]|$)': 'invalid',
  'lanes?': 'statement queue',
  '(?:goodbyes?|farewells?)': '`Connection: close`, closing message',
  'rehears(?:e|es|ed|ing|al)': 'dry run',
  'patien(?:ce|t|tly)': 'what it waits for: timeout, limit',
};
/** Modules of Node, a type of PostgreSQL, a method that vitest calls. */
const EXCEPTIONS = /'node:\w+\/promises'|718 719 circle|onTestRunEnd/g;

const READ = /\.(md|[cm]?[jt]sx?|json|html|css|sh|ya?ml|sql)$/;
const UNREAD = /^tools\/words\.mjs$|(^|\/)package-lock\.json$/;
// A phrase goes on in the next line, also in that of a comment.
const patterns = Object.entries(RULES).map(
  ([pattern, instead]) =>
    /** @type {const} */ ([new RegExp(`(?<![\\w'])${pattern.replaceAll(' ', '[\\s*/#>|]+')}(?!\\w)`, 'gi'), instead]),
);
/** `camelCase`, `snake_case`, `kebab-case` and `word1` as separate words. @param {string} text */
const separated = (text) =>
  text.replaceAll(/(?<=[a-z\d])(?=[A-Z])|(?<=[a-z])(?=\d)/g, ' ').replaceAll(/(?<=\w)[_-](?=\w)/g, ' ');

const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...process.argv.slice(2)];
for (const path of execFileSync('git', listed, { encoding: 'utf8', maxBuffer: 2 ** 26 }).split('\0')) {
  // A file that was moved, and not staged, is still listed.
  if (!READ.test(path) || UNREAD.test(path) || !existsSync(path)) continue;
  const text = separated(`${path}\n${readFileSync(path, 'utf8').replaceAll(EXCEPTIONS, '')}`);
  for (const [pattern, instead] of patterns)
    for (const { 0: word, index } of text.matchAll(pattern)) {
      console.error(`${path}:${text.slice(0, index).split('\n').length - 1}  "${word}": write ${instead}`);
      process.exitCode = 1;
    }
}
