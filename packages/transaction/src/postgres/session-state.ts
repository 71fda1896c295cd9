import { firstWords } from '../sql/control-statements.js';
import { POSTGRES, tokensOf } from '../sql/lexer.js';

/** `SET LOCAL` and the like last only until the transaction completes. */
const CHANGES_SESSION =
  /^(?:set\b(?! local\b| constraints\b| transaction\b)|listen|load|prepare|deallocate|discard|create (?:or replace )?(?:local |global )?temp)/;
const TEMPORARY_TABLE = /^create (?:local |global )?temp/;
const ENDS_WITH_TRANSACTION = /\bon\s+commit\s+drop\b/i;
/** A cursor with it stays open after the transaction. */
const HOLD = /\bhold\b/i;
const CREATE = /\bcreate\b/i;

/** Without any of these words nothing has to be looked at more closely. A name after `U&` can hide all of them. */
const SUSPICIOUS = /advisory_lock|set_config|setseed|temp|pg_settings|u&"/i;
const CHANGES_SESSION_INSIDE = /\bpg_(?:try_)?advisory_lock|\bsetseed\b|\bpg_temp|u&"/i;
const INTO_TEMPORARY = /(?<!\binsert\s{1,9})\binto\s+(?:local\s+|global\s+)?temp(?:orary)?\b/i;
const SETTINGS = /\bpg_settings\b/i;
const UPDATE = /\bupdate\b/i;
const SET_CONFIG = /set_config/gi;
/** With `true` as its last argument it lasts only until the transaction completes; its arguments may have parentheses two deep. */
const LOCAL_SET_CONFIG = /\bset_config\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*,\s*true\s*\)/gi;

/**
 * Whether a statement leaves something in the session that would reach the next user of the connection: settings, session
 * locks, LISTEN, temporary objects, prepared statements. When the text is ambiguous the result is true, which costs a connection. What a function or a
 * DO block does inside cannot be seen.
 */
export function leavesSessionState(sql: string): boolean {
  if (SUSPICIOUS.test(sql) && changesSessionInside(sql)) return true;
  const start = firstWords(sql, POSTGRES);
  if (start.startsWith('declare')) return HOLD.test(sql);
  // With ANALYZE it creates the table that it explains.
  if (start.startsWith('explain')) return CREATE.test(sql);
  if (!CHANGES_SESSION.test(start)) return false;
  return !(TEMPORARY_TABLE.test(start) && ENDS_WITH_TRANSACTION.test(unquoted(sql)));
}

function changesSessionInside(sql: string): boolean {
  if (CHANGES_SESSION_INSIDE.test(sql) || (SETTINGS.test(sql) && UPDATE.test(sql))) return true;
  const text = unquoted(sql);
  if (INTO_TEMPORARY.test(sql) || INTO_TEMPORARY.test(text)) return true;
  return count(SET_CONFIG, sql) !== count(LOCAL_SET_CONFIG, text);
}

function count(what: RegExp, text: string): number {
  return text.match(what)?.length ?? 0;
}

/**
 * The statement without comments, and without what is inside quotes. Empty for a text with a backslash: what that means
 * depends on the kind of the string, and on a setting.
 */
function unquoted(sql: string): string {
  if (sql.includes('\\')) return '';
  let text = '';
  for (const token of tokensOf(sql, POSTGRES)) {
    if (token.kind === 'comment') text += ' ';
    else if (token.kind === 'text') text += "''";
    else text += token.kind === 'name' ? '""' : token.text;
  }
  return text;
}
