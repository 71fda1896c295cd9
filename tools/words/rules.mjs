/**
 * A word that readers of this field do not know in our sense, and what to write in its place.
 * `pattern` is tried on text in which `camelCase` and `snake_case` are separate words; a space in it is any white space,
 * also the end of a line inside a comment.
 * @typedef {{ pattern: string, instead: string }} Rule
 */

const OWNED = "(?:scope|instance|container|singleton|child|parent)(?:s|'s|s')?";
const DONE = "(?:transaction|request|process|program|run|attempt)(?:s|'s|s')?";
const THE = '(?:a|an|the|its|their|this|that|every|each|all|no|one|any|our)';
const ENDS = '(?:ends?|ended|ending)';
const AUXILIARY = '(?:has|have|had|is|are|was|were|did|does|do|may|can|will|not|already|never|yet|itself)';

/** @type {Rule[]} */
export const RULES = [
  { pattern: '(?:life|lives|living)', instead: 'lifetime (of an instance); exists, is stored (of other things)' },
  {
    pattern: `(?:${OWNED} (?:${AUXILIARY} )*${ENDS}|${ENDS} ${THE} ${OWNED}|end of ${THE} (?:\\w+ )?${OWNED})`,
    instead: 'dispose, is disposed, disposal',
  },
  {
    pattern: `(?:${DONE} (?:${AUXILIARY} )*${ENDS}|${ENDS} ${THE} ${DONE}|end of ${THE} (?:\\w+ )?${DONE})`,
    instead: 'commits or rolls back (a transaction), completes or finishes (a request), exits or crashes (a process)',
  },
  { pattern: `(?:did not|does not|do not) end well|ended well`, instead: 'failed to dispose, failed to close' },
  { pattern: '(?:told|tell of|tells of|telling of)', instead: 'is called with, receives, is notified, reports' },
  {
    pattern: '(?:by hand|hand registered)',
    instead: 'directly with `scope.register(...)`, hand-written, manually',
  },
  { pattern: 'answer(?:s|ed|ing)?', instead: 'response, responds (HTTP); result, returns (database)' },
  {
    pattern: '(?:go|goes|went|going) home',
    instead: 'is returned to the pool',
  },
  {
    pattern: '(?:lend|lends|lent|lending|on loan|loaned|borrow(?:s|ed|er|ers|ing)?)',
    instead: 'check out, checked out (of the pool); next user (of a connection)',
  },
  { pattern: '(?:give|gives|gave|given|giving) back', instead: 'release, return to the pool' },
  { pattern: 'in doubt', instead: 'possibly broken' },
  { pattern: 'doom(?:s|ed)?', instead: 'mark rollback-only' },
  { pattern: 'mend(?:s|ed|ing)?', instead: 'fix, repair' },
  { pattern: 'gone', instead: 'disconnected (a client), removed, closed' },
  { pattern: 'anew', instead: 'again, or a new one' },
  { pattern: 'under ?way', instead: 'in progress' },
  { pattern: 'for ever', instead: 'forever' },
  { pattern: 'in vain', instead: 'without result' },
  { pattern: 'whoever', instead: 'the caller, the client, everyone who' },
  { pattern: 'at work', instead: 'active, running' },
  { pattern: 'be had', instead: 'available, can be acquired' },
  { pattern: 'matter of now', instead: 'temporary; a retry may succeed' },
  { pattern: '(?:call|calls|called|calling) off', instead: 'cancel, abort' },
  { pattern: '(?:give|gives|gave|given|giving) up', instead: 'cancel, abort, stop waiting' },
  { pattern: '(?:circles?|needs itself)', instead: 'circular dependency' },
  { pattern: '(?:doors?)', instead: 'entry point' },
  // There may be room for something; only a package is no room.
  { pattern: '(?<!(?:no|is|be|has|more|makes?) )rooms?(?! for)', instead: 'package or folder' },
  { pattern: '(?:house|in house)', instead: 'codebase, repository' },
  {
    pattern: '(?:suites? of promises|one promise each|which promise|promises of the|every promise of the|promises/)',
    instead: 'guarantee or contract (that a test checks)',
  },
  { pattern: 'variants? [MP]', instead: 'Express (variant M), Fastify (variant P)' },
  { pattern: '(?:what|that|which) cannot be(?=[.,;:)`]|$)', instead: 'invalid' },
  { pattern: 'lanes?', instead: 'statement queue' },
  { pattern: '(?:goodbyes?|farewells?)', instead: '`Connection: close`, closing message' },
  { pattern: 'rehears(?:e|es|ed|ing|al)', instead: 'dry run' },
  { pattern: 'patien(?:ce|t|tly)', instead: 'what it waits for: timeout, limit' },
];

/**
 * Text that keeps its words: names that users of the packages rely on, and what the contract of the service fixes.
 * `path` limits it to the files that begin so.
 * @typedef {{ text: RegExp, path?: string, because: string }} Exception
 */

/** @type {Exception[]} */
export const EXCEPTIONS = [
  { text: /'node:\w+\/promises'/g, because: 'modules of Node' },
  { path: 'packages/orm/src/postgres-types.ts', text: /718 719 circle/g, because: 'a type of PostgreSQL' },
  { text: /onTestRunEnd/g, because: 'a method that vitest calls' },
];
