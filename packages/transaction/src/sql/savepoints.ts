import { isPlain } from './control-statements.js';
import { EITHER, tokensOf } from './lexer.js';

/** What a statement does with a savepoint. */
export interface SavepointStatement {
  readonly does: 'set' | 'release' | 'undo';
  /** In lower case. Two names that differ in nothing else are taken for one, as SQLite does. */
  readonly name: string;
}

const NOISE: ReadonlySet<string> = new Set(['savepoint', 'to', 'work', 'transaction']);
/** `ROLLBACK TRANSACTION TO SAVEPOINT name`. */
const MOST_WORDS = 5;

/** Reads `SAVEPOINT`, `RELEASE` and `ROLLBACK TO`; undefined for any other statement. */
export function savepointIn(sql: string): SavepointStatement | undefined {
  if (isPlain(sql)) return undefined;
  const [verb = '', ...rest] = wordsIn(sql);
  const isUndo = verb === 'rollback' && rest.includes('to');
  if (verb !== 'savepoint' && verb !== 'release' && !isUndo) return undefined;
  const name = rest.find((word) => !NOISE.has(word)) ?? rest.at(-1) ?? '';
  return { does: isUndo ? 'undo' : verb === 'release' ? 'release' : 'set', name };
}

function wordsIn(sql: string): string[] {
  const words: string[] = [];
  for (const { kind, text } of tokensOf(sql, EITHER)) {
    if (kind === 'word') words.push(text.toLowerCase());
    else if (kind === 'name') words.push(text.slice(1, -1).toLowerCase());
    if (words.length === MOST_WORDS) break;
  }
  return words;
}
